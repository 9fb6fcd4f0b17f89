"""The bytes in which dynamic AIPP's settings are given to a model. Pure.

Little-endian; a head of 64 bytes, then 96 for each picture of the batch, as
the public header of dynamic AIPP states them. Conversion, exchanges, crop and
border are switches with values behind them; a switch that is off leaves zeros.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from aacl.errors import InvalidArgument, ModelInputMismatch, NotSupported

if TYPE_CHECKING:
    from aacl.models._aipp import AippFrame, AippSettings

__all__ = ("BATCH_MOST", "pack_settings", "settings_nbytes", "unpack_fields")

# format, conversion, red/blue, alpha, batch; width, height; matrix; output bias, input bias
_HEAD = struct.Struct("<B4b3x2i9h6x3B3B18x")
# crop, resize, border, rotation; left, top, width, height of the crop; 4 sizes of the resize; top, bottom, left, right
# of the border; mean; minimum; reciprocal of the variance
_FRAME = struct.Struct("<4b4x12i4h4e4e16x")
BATCH_MOST = 127
"""The head holds the batch in a signed byte."""

_VALUE_BORDER = 1


def settings_nbytes(batch: int) -> int:
    """Return the bytes of the settings for a batch."""
    return _HEAD.size + _FRAME.size * batch


def pack_settings(settings: AippSettings) -> bytes:
    """Return the bytes of settings.

    Raises:
        InvalidArgument: the batch is too large, or the border has another value than 0, for which there is no place.
    """
    if len(settings.frames) > BATCH_MOST:
        raise InvalidArgument(f"dynamic AIPP takes up to {BATCH_MOST} pictures; there are {len(settings.frames)}")
    if settings.padding_value:
        raise InvalidArgument(f"dynamic AIPP's border has the value 0; {settings.padding_value} was given")
    head = _HEAD.pack(
        settings.format or 0,
        settings.matrix is not None,
        settings.swaps_colours,
        settings.moves_alpha,
        len(settings.frames),
        settings.width,
        settings.height,
        *(settings.matrix or (0,) * 9),
        *settings.output_bias,
        *settings.input_bias,
    )
    return head + b"".join(map(_pack_frame, settings.frames))


def _pack_frame(frame: AippFrame) -> bytes:
    crop, padding = frame.crop, frame.padding
    return _FRAME.pack(
        crop is not None,
        0,
        0 if padding is None else _VALUE_BORDER,
        0,
        *(crop or (0,) * 4),
        *(0,) * 4,
        *(padding or (0,) * 4),
        *frame.mean,
        *frame.minimum,
        *frame.reciprocal,
    )


def unpack_fields(data: bytes | bytearray | memoryview) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the fields of `AippSettings` that bytes are, and those of each frame; more bytes are left alone.

    Raises:
        ModelInputMismatch: they are too few, or were never filled.
        NotSupported: they ask for a resize, a rotation, or a border of another kind.
    """
    if len(data) < _HEAD.size:
        raise ModelInputMismatch(f"dynamic AIPP's settings have {_HEAD.size} bytes and more; {len(data)} were given")
    kind, converts, swaps, moves, batch, width, height, *rest = _HEAD.unpack_from(data)
    if not kind or batch < 1:
        raise ModelInputMismatch(
            f"dynamic AIPP's settings have format {kind} and a batch of {batch}: they were not filled; set them before "
            "the model runs"
        )
    if settings_nbytes(batch) > len(data):
        raise ModelInputMismatch(
            f"dynamic AIPP's settings are for {batch} pictures, {settings_nbytes(batch)} bytes; {len(data)} were given"
        )
    fields = {
        "format": kind,
        "width": width,
        "height": height,
        "matrix": rest[:9] if converts else None,
        "output_bias": rest[9:12],
        "input_bias": rest[12:15],
        "swaps_colours": bool(swaps),
        "moves_alpha": bool(moves),
    }
    return fields, [_unpack_frame(data, number) for number in range(batch)]


def _unpack_frame(data: bytes | bytearray | memoryview, number: int) -> dict[str, Any]:
    crops, resizes, border, rotates, *rest = _FRAME.unpack_from(data, settings_nbytes(number))
    if resizes or rotates or border not in (0, _VALUE_BORDER):
        raise NotSupported(
            f"dynamic AIPP's settings for picture {number} ask for resize {resizes}, rotation {rotates} and border "
            f"{border}; this device has no resize and no rotation, and only the border 1, of one value"
        )
    return {
        "crop": rest[:4] if crops else None,
        "padding": rest[8:12] if border else None,
        "mean": rest[12:16],
        "minimum": rest[16:20],
        "reciprocal": rest[20:24],
    }
