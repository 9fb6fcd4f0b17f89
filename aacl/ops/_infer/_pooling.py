"""Outputs of pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._agreement import require_equal_dtypes
from aacl.ops._infer._dims import FREE, Dim, Shape, fixed
from aacl.ops._infer._filters import dims_in
from aacl.ops._infer._requirements import require_rank
from aacl.ops._infer._rules import Call, Output, rule
from aacl.ops._infer._windows import Window, layout_of, paddings, rank_of, slide, spatial, windows

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ("planar", "pool_windows", "pooled")

_MODES = ("SAME", "VALID", "CALCULATED")

# What the attribute for the dtype of indices may hold: numbers of AscendCL's and of ONNX's.
_INDEX_DTYPES = {3: DataType.INT32, 6: DataType.INT32, 7: DataType.INT64, 9: DataType.INT64}


@rule("MaxPool", "MaxPoolExt2", "MaxPoolV3", "AvgPool", "AvgPoolV2", "Pooling", "MaxPool3D", "AvgPool3D", "AvgPool3DD")
def pooling(call: Call) -> Sequence[Output]:
    """Each spatial dim becomes the number of windows along it."""
    if call.attributes.get("mode", 0) not in (0, 1):
        raise call.error(f"mode is {call.attributes['mode']}; it is 0 for the maximum or 1 for the average")
    if call.desc(0).dtype is DataType.INT8 and call.schema.op_type == "Pooling":
        return [Output(DataType.INT32, pooled(call))]
    return [call.like(0, pooled(call))]


@rule("MaxPoolV2")
def pooling_by_inputs(call: Call) -> Sequence[Output]:
    """``ksize`` and ``strides`` are inputs."""
    sizes, strides = call.integers(1), call.integers(2)
    if sizes is not None and strides is not None:
        return [call.like(0, pooled(call, sizes, strides))]
    layout, shape = layout_of(call, 0, 4, "NHWC"), call.shape(0)
    dims = None if shape is None else [
        dim if letter in "NC" else FREE for letter, dim in zip(layout, shape, strict=True)
    ]  # fmt: skip
    return [call.like(0, None if dims is None else tuple(dims))]


@rule("MaxPoolWithArgmax")
def pooling_with_places(call: Call) -> Sequence[Output]:
    """The maxima, and where in the image each of them is."""
    number = call.attributes["Targmax"]
    if number not in _INDEX_DTYPES:
        raise call.error(f"Targmax is {number}; it is 7 for int64 or 3 for int32")
    shape = pooled(call)
    return [call.like(0, shape), Output(_INDEX_DTYPES[number], shape, call.desc(0).format)]


@rule("MaxPoolWithArgmaxV1", "MaxPoolWithArgmaxV2")
def pooling_with_planar_places(call: Call) -> Sequence[Output]:
    """The input is ``(N, C, H, W)``; ``ksize``, ``strides``, ``pads`` and ``dilation`` are ``[1, h, w, 1]`` all the same."""
    shape = planar(call, 0)
    dtype = DataType.INT32 if call.schema.op_type.endswith("V1") else DataType.UINT16
    return [call.like(0, shape), Output(dtype, shape, call.desc(0).format)]


@rule("AvgPool1D", "AvgPool1DD")
def pooling_of_lines(call: Call) -> Sequence[Output]:
    """The last dim becomes the number of windows along it."""
    shape = call.shape(0)
    if shape is not None and not shape:
        raise call.error(f"{call.titled(0)} must have at least 1 dim")
    (pads,) = paddings(call, "pads", 1)
    size, stride = call.attributes["ksize"], call.attributes["strides"]
    if min(size, stride) < 1:
        raise call.error(f"ksize {size} and strides {stride} must be at least 1")
    window = Window(size, stride, 1, *pads, is_ceiling=call.attributes["ceil_mode"])
    return [call.like(0, None if shape is None else (*shape[:-1], slide(call, shape[-1], window, "L")))]


@rule("AdaptiveAvgPool2d")
def adaptive(call: Call) -> Sequence[Output]:
    """The last two dims become ``output_size``."""
    return [call.like(0, _adapted(call))]


@rule("AdaptiveMaxPool2d")
def adaptive_with_places(call: Call) -> Sequence[Output]:
    """The maxima, and where in its plane each of them is, as INT32."""
    shape = _adapted(call)
    return [call.like(0, shape), Output(DataType.INT32, shape, call.desc(0).format)]


@rule("AdaptiveAvgPool")
def adaptive_by_input(call: Call) -> Sequence[Output]:
    """The last dims become what ``output_size`` holds: as many as it has."""
    shape, size, count = call.shape(0), call.integers(1), call.length(1)
    if shape is None or count is None:
        return [call.like(0, None)]
    if not 1 <= count < max(len(shape), 2) or (size is not None and min(size) < 0):
        raise call.error(f"{call.titled(1)} must hold one size, not negative, for each spatial dim of {call.titled(0)}")
    sizes = (FREE,) * count if size is None else fixed(*size)
    return [call.like(0, (*shape[:-count], *sizes))]


@rule("AdaptiveAvgPool2dGrad")
def adaptive_gradient(call: Call) -> Sequence[Output]:
    """The output has the shape ``orig_input_shape``."""
    shape, size = call.shape(0), call.attributes["orig_input_shape"]
    if len(size) not in (3, 4) or min(size) < 0 or (shape is not None and len(shape) != len(size)):
        raise call.error(f"orig_input_shape {tuple(size)} is no shape of an input of {call.titled(0)}")
    return [call.like(0, fixed(*size))]


@rule("GlobalAveragePool", "GlobalLpPool")
def pooling_of_everything(call: Call) -> Sequence[Output]:
    """The spatial dims, those from the third on, become 1."""
    shape = call.shape(0)
    if shape is not None and len(shape) < 3:
        raise call.error(f"{call.titled(0)} must have at least 3 dims: N, C and spatial ones")
    return [call.like(0, None if shape is None else (*shape[:2], *fixed(1) * (len(shape) - 2)))]


@rule("Upsample")
def upsample(call: Call) -> Sequence[Output]:
    """H and W, the third and fourth dims, are multiplied."""
    shape = call.shape(0)
    factors = call.attributes["stride_h"], call.attributes["stride_w"]
    if min(factors) < 1:
        raise call.error(f"stride_h {factors[0]} and stride_w {factors[1]} must be at least 1")
    if shape is not None and len(shape) not in (4, 5):
        raise call.error(f"{call.titled(0)} must have 4 dims, N, C, H, W, or 5, N, C1, H, W, C0")
    if shape is None:
        return [call.like(0, None)]
    sizes = [dim.times(Dim(factor, factor)) for dim, factor in zip(shape[2:4], factors, strict=True)]
    return [call.like(0, (*shape[:2], *sizes, *shape[4:]))]


@rule("ROIPooling")
def pooling_of_regions(call: Call) -> Sequence[Output]:
    """``(regions, C, pooled_h, pooled_w)``; x is ``(N, C, H, W)``, the regions are ``(regions, 5)``."""
    require_equal_dtypes(call, (0, 1))
    x, regions = call.shape(0), call.shape(1)
    size = call.attributes["pooled_h"], call.attributes["pooled_w"]
    if min(size) < 1:
        raise call.error(f"pooled_h {size[0]} and pooled_w {size[1]} must be at least 1")
    if x is not None and len(x) != 4:
        raise call.error(f"{call.titled(0)} must have 4 dims: N, C, H, W")
    if regions is not None and (len(regions) != 2 or not regions[1].meets(Dim(5, 5))):
        raise call.error(f"{call.titled(1)} must have shape (regions, 5): image, x1, y1, x2, y2")
    count, channels = FREE if regions is None else regions[0], FREE if x is None else x[1]
    return [call.like(0, (count, channels, *fixed(*size)))]


def _adapted(call: Call) -> Shape:
    shape, size = call.shape(0), tuple(call.attributes["output_size"])
    size = size * 2 if len(size) == 1 else size
    if len(size) != 2 or min(size) < 0:
        raise call.error(f"output_size {size} must be one or two numbers, none negative")
    if shape is not None and len(shape) not in (3, 4):
        raise call.error(f"{call.titled(0)} must have 3 or 4 dims, the last two H and W")
    return None if shape is None else (*shape[:-2], *fixed(*size))


def pooled(
    call: Call, sizes: Sequence[int] | None = None, strides: Sequence[int] | None = None, index: int = 0
) -> Shape:
    """Return the shape that an input is pooled to.

    Args:
        call: its attributes tell the windows.
        sizes: of the windows, where no attribute says so.
        strides: likewise.
        index: the input.
    """
    layout, shape = layout_of(call, index, rank_of(call), "NHWC"), call.shape(index)  # TensorFlow's, by default
    if call.attributes.get("global_pooling", False):
        one = (Dim(1, 1),)
        return None if shape is None else dims_in(layout, *_lead(layout, shape), one * (len(shape) - 2))
    each = iter(pool_windows(call, layout, sizes, strides))
    if shape is None:
        return None
    return tuple(
        dim if letter in "NC" else slide(call, dim, next(each), letter)
        for letter, dim in zip(layout, shape, strict=True)
    )


def _lead(layout: str, shape: tuple[Dim, ...]) -> tuple[Dim, Dim]:
    return shape[layout.index("N")], shape[layout.index("C")]


def pool_windows(
    call: Call, layout: str, sizes: Sequence[int] | None = None, strides: Sequence[int] | None = None
) -> tuple[Window, ...]:
    """Return the windows along the spatial axes of a layout.

    Args:
        call: its attributes tell the windows.
        layout: the axes as letters.
        sizes: of the windows, where no attribute says so.
        strides: likewise.

    Raises:
        InvalidArgument: an attribute has another length, or a value that cannot be.
    """
    given = dict(call.attributes)
    names = "window" if "window" in given else "ksize", "stride" if "stride" in given else "strides"
    given |= {name: value for name, value in zip(names, (sizes, strides), strict=True) if value is not None}
    full = Call(call.schema, call.inputs, given)
    mode = given.get("padding_mode", given.get("padding", "CALCULATED"))
    if mode not in _MODES:
        raise call.error(f"padding {mode!r} is none of {', '.join(_MODES)}")
    pads = "pad" if "pad" in given else "pads"
    around = paddings(full, pads, len(layout) - 2) if pads in given else None
    rates = spatial(full, "dilation", layout) if "dilation" in given else None
    for name in names:
        _refuse_other_axes(call, name, given[name], layout)
    is_ceiling = bool(given.get("ceil_mode", False)) != (call.schema.op_type == "Pooling")
    return windows(spatial(full, names[0], layout), spatial(full, names[1], layout), rates, around, mode, is_ceiling)


def _refuse_other_axes(call: Call, name: str, values: Sequence[int], layout: str) -> None:
    if len(values) == len(layout) and any(
        value != 1 for value, letter in zip(values, layout, strict=True) if letter in "NC"
    ):
        raise call.error(f"{name} {tuple(values)} must be 1 along N and C, in the order {layout}")


def planar(call: Call, index: int) -> Shape:
    """Return the shape that ``(N, C, H, W)`` is pooled to by attributes of the form ``[1, h, w, 1]``."""
    shape = require_rank(call, index, 4, "N, C, H, W")
    values = {name: tuple(call.attributes[name]) for name in ("ksize", "strides", "pads", "dilation")}
    for name, value in values.items():
        if len(value) != 4 or min(value[1:3]) < (name != "pads"):
            raise call.error(f"{name} {value} must be 4 numbers, 1, h, w, 1")
    pads = [(pad, pad) for pad in values["pads"][1:3]]
    sizes, strides, rates = (values[name][1:3] for name in ("ksize", "strides", "dilation"))
    each = windows(sizes, strides, rates, pads, is_ceiling=call.attributes["ceil_mode"])
    if shape is None:
        return None
    return (*shape[:2], *(slide(call, dim, window, letter)
                          for dim, window, letter in zip(shape[2:], each, "HW", strict=True)))  # fmt: skip
