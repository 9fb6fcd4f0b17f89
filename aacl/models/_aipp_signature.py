"""What a model with AIPP takes: pictures, and the settings of dynamic AIPP. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from aacl.dtypes import DataType, Format
from aacl.errors import AclError
from aacl.models._aipp import Aipp, AippMode
from aacl.models._aipp_bytes import settings_nbytes
from aacl.models._aipp_pixels import check_settings
from aacl.models._spec import TensorSpec

if TYPE_CHECKING:
    from aacl.models._signature import Gears, ModelSignature

__all__ = ("SETTINGS_NAME", "check_inserted", "graph_shapes", "input_spec", "insert_aipp")

SETTINGS_NAME = "ascend_dynamic_aipp_data"
"""The input for the settings of dynamic AIPP; a second one has the input's position behind it."""

Shape = tuple[int, ...]


def insert_aipp(signature: ModelSignature, aipps: Sequence[Aipp]) -> ModelSignature:
    """Return the signature of a model with AIPP in front of some of its inputs.

    Pictures take the place of these inputs; those of dynamic AIPP have inputs for settings behind all others.
    """
    inputs, gears = list(signature.inputs), signature.gears
    shapes = None if gears is None else [list(each) for each in gears.inputs]
    for aipp in aipps:
        largest = 0 if shapes is None else max(each[aipp.input][0] for each in shapes)
        inputs[aipp.input] = input_spec(aipp, aipp.spec, largest)
        for gear in shapes or ():
            gear[aipp.input] = picture_shape(aipp, gear[aipp.input], largest)
    dynamic = [aipp for aipp in aipps if aipp.mode is AippMode.DYNAMIC]
    for number, aipp in enumerate(dynamic):
        spec = _settings_spec(aipp, gears, is_first=not number)
        inputs.append(spec)
        for gear in shapes or ():
            gear.append(spec.shape)
    if gears is not None and shapes is not None:
        gears = attrs.evolve(gears, inputs=tuple(map(tuple, shapes)))
    return attrs.evolve(signature, inputs=tuple(inputs), gears=gears, aipp=tuple(aipps))


def check_inserted(signature: ModelSignature) -> None:
    """Check that a signature's inputs are what its AIPP makes of the graph's, as a file may say otherwise.

    Raises:
        ValueError: they are not.
    """
    try:
        again = insert_aipp(_graph_signature(signature), signature.aipp)
        for aipp in signature.aipp:
            _check_result(aipp)
    except (IndexError, AclError) as error:
        raise ValueError(f"the AIPP is of no input of the model ({error})") from error
    if again != signature:
        raise ValueError("the AIPP does not make the model's inputs")


def _graph_signature(signature: ModelSignature) -> ModelSignature:
    """Return the signature of the graph behind AIPP."""
    settings = {aipp.parameters for aipp in signature.aipp}
    specs = {aipp.input: aipp.spec for aipp in signature.aipp}
    inputs = [specs.get(place, spec) for place, spec in enumerate(signature.inputs) if place not in settings]
    gears = signature.gears
    if gears is not None:
        gears = attrs.evolve(gears, inputs=tuple(graph_shapes(signature.aipp, shapes) for shapes in gears.inputs))
    return attrs.evolve(signature, inputs=tuple(inputs), gears=gears, aipp=())


def _check_result(aipp: Aipp) -> None:
    settings, spec = aipp.settings, aipp.spec
    if len(spec.shape) != 4 or spec.format not in (Format.NCHW, Format.NHWC):
        raise ValueError(f"AIPP makes no {spec.format.name} of shape {list(spec.shape)}")
    if settings is not None and -1 not in aipp.sizes(spec.shape):
        channels = spec.shape[1] if spec.format is Format.NCHW else spec.shape[3]
        check_settings(settings, (settings.height, settings.width), 1, (channels, *aipp.sizes(spec.shape)))


def input_spec(aipp: Aipp, spec: TensorSpec, largest: int = 0) -> TensorSpec:
    """Return what the model takes in place of one of its graph's inputs: the bytes of pictures.

    The dims are those of NHWC: the batch, then rows, columns and bytes of a picture's array. Of dynamic AIPP all
    but the batch are free; with gears, whose shapes are exact, they are 1, 1 and all bytes of the largest picture.
    """
    shape = picture_shape(aipp, spec.shape, largest)
    ranges: tuple[tuple[int, int], ...] = ()
    if -1 in shape:
        batch = spec.ranges[0] if spec.ranges else (shape[0], shape[0])
        ranges = (batch, *((1, -1) if dim < 0 else (dim, dim) for dim in shape[1:]))
    return TensorSpec(spec.name, DataType.UINT8, shape, Format.NHWC, ranges)


def picture_shape(aipp: Aipp, shape: Shape, largest: int = 0) -> Shape:
    """Return the shape of the pictures for a shape of the graph's input; ``largest`` is the largest gear's batch."""
    settings = aipp.settings
    if settings is None:
        return (shape[0], 1, 1, aipp.max_nbytes // largest) if largest else (shape[0], -1, -1, -1)
    height, width = aipp.sizes(shape)
    return (shape[0], *settings.layout.array_shape(settings.height or height, settings.width or width))


def graph_shapes(aipps: Sequence[Aipp], shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    """Return the shapes that the graph's inputs have for shapes of the model's."""
    settings = {aipp.parameters for aipp in aipps}
    found = {aipp.input: aipp.graph_shape(shapes[aipp.input]) for aipp in aipps}
    return tuple(found.get(place, shape) for place, shape in enumerate(shapes) if place not in settings)


def _settings_spec(aipp: Aipp, gears: Gears | None, *, is_first: bool) -> TensorSpec:
    batch = aipp.spec.shape[0]
    if batch < 0:
        batch = aipp.spec.ranges[0][1] if gears is None else max(each[aipp.input][0] for each in gears.inputs)
    name = SETTINGS_NAME if is_first else f"{SETTINGS_NAME}_{aipp.input}"
    return TensorSpec(name, DataType.UINT8, (settings_nbytes(batch),))
