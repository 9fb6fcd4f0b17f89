"""What programs are told of static AIPP. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acl.mdl._described import dims_of
from acl.mdl._pictures import picture_dims, shaped

if TYPE_CHECKING:
    import aacl

__all__ = ("first_info",)


def first_info(aipp: aacl.models.Aipp, signature: aacl.models.ModelSignature) -> dict[str, Any]:
    """Return the settings of static AIPP, with ``aclAippInfo``'s names."""
    settings = aipp.settings
    assert settings is not None, "static AIPP has settings"
    frame = settings.frames[0]
    crop, padding = frame.crop or (0,) * 4, frame.padding or (0,) * 4
    matrix = settings.matrix or (0,) * 9
    info: dict[str, Any] = {
        "inputFormat": int(settings.format or 0),
        "srcImageSizeW": settings.width,
        "srcImageSizeH": settings.height,
        "cropSwitch": int(frame.crop is not None),
        "loadStartPosW": crop[0],
        "loadStartPosH": crop[1],
        "cropSizeW": crop[2],
        "cropSizeH": crop[3],
        "resizeSwitch": 0,
        "resizeOutputW": 0,
        "resizeOutputH": 0,
        "paddingSwitch": int(frame.padding is not None),
        "leftPaddingSize": padding[2],
        "rightPaddingSize": padding[3],
        "topPaddingSize": padding[0],
        "bottomPaddingSize": padding[1],
        "cscSwitch": int(settings.matrix is not None),
        "rbuvSwapSwitch": int(settings.swaps_colours),
        "axSwapSwitch": int(settings.moves_alpha),
        "singleLineMode": 0,
    }
    info |= {f"matrixR{place // 3}C{place % 3}": number for place, number in enumerate(matrix)}
    info |= {f"outputBias{place}": number for place, number in enumerate(settings.output_bias)}
    info |= {f"inputBias{place}": number for place, number in enumerate(settings.input_bias)}
    info |= {f"meanChn{place}": number for place, number in enumerate(frame.mean)}
    info |= {f"minChn{place}": number for place, number in enumerate(frame.minimum)}
    info |= {f"varReciChn{place}": number for place, number in enumerate(frame.reciprocal)}
    return info | _dims_info(aipp, signature)


def _dims_info(aipp: aacl.models.Aipp, signature: aacl.models.ModelSignature) -> dict[str, Any]:
    """Return what the model behind AIPP takes, and for each gear the dims on both sides."""
    picture, behind = signature.inputs[aipp.input], aipp.spec
    pairs = [(picture, behind)]
    if signature.gears is not None:
        shapes = [each[aipp.input] for each in signature.gears.inputs]
        pairs = [(shaped(picture, shape), shaped(behind, aipp.graph_shape(shape))) for shape in shapes]
    return {
        "srcFormat": int(behind.format),
        "srcDatatype": int(behind.dtype),
        "srcDimNum": len(behind.shape),
        "shapeCount": len(pairs),
        "outDims": [
            {
                "srcDims": dims_of(picture.name, picture_dims(aipp, given)),
                "srcSize": given.nbytes,
                "aippOutdims": dims_of(picture.name, made.shape),
                "aippOutSize": made.nbytes,
            }
            for given, made in pairs
        ],
    }
