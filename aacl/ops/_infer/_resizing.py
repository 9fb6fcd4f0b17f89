"""Outputs of operators that resize pictures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._asked import asked_dtype
from aacl.ops._infer._channels import spatial_axes
from aacl.ops._infer._dims import FREE, Dim, Shape, fixed
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ("sized",)


@rule("ResizeNearestNeighborV2", "ResizeNearestNeighbor", "ResizeBilinear")
def resize(call: Call) -> Sequence[Output]:
    """Height and width are the two numbers of ``size``."""
    return [call.like(0, sized(call, call.integers(1)))]


@rule("ResizeNearestNeighborV2D", "ResizeNearestNeighborD", "ResizeBilinearD", "ResizeBilinearV2D")
def resize_attribute(call: Call) -> Sequence[Output]:
    """As without D, with ``size`` an attribute."""
    return [call.like(0, sized(call, tuple(call.attributes["size"])))]


@rule("ResizeBilinearV2", "ResizeBicubic")
def resize_smoothly(call: Call) -> Sequence[Output]:
    """As ResizeNearestNeighborV2, in the dtype of the attribute."""
    dtype = asked_dtype(call, "dtype")
    return [Output(dtype, sized(call, call.integers(1)), call.desc(0).format)]


@rule("ResizeArea")
def resize_area(call: Call) -> Sequence[Output]:
    """As ResizeNearestNeighborV2, float."""
    return [Output(DataType.FLOAT, sized(call, call.integers(1)), call.desc(0).format)]


@rule("ResizeNearestNeighborV2Grad", "ResizeNearestNeighborGrad")
def nearest_gradient(call: Call) -> Sequence[Output]:
    """Height and width are the original ones, the two numbers of ``size``."""
    return [call.like(0, sized(call, call.integers(1)))]


@rule("ResizeNearestNeighborV2GradD")
def nearest_gradient_attribute(call: Call) -> Sequence[Output]:
    """As ResizeNearestNeighborV2Grad, with ``size`` an attribute."""
    return [call.like(0, sized(call, tuple(call.attributes["size"])))]


@rule("ResizeBilinearV2Grad", "ResizeBilinearGrad", "ResizeBicubicGrad")
def smooth_gradient(call: Call) -> Sequence[Output]:
    """The shape of the original image."""
    shape = call.shape(1)
    slopes = call.shape(0)
    for index, each in enumerate((slopes, shape)):
        if each is not None and len(each) != 4:
            raise call.error(f"{call.titled(index)} must have four dims")
    if shape is not None and slopes is not None:
        space = spatial_axes(call, 4)
        if any(not a.meets(b) for axis, (a, b) in enumerate(zip(shape, slopes, strict=True)) if axis not in space):
            raise call.mismatch(0, 1, "differ in more than height and width")
    dtype = call.desc(1).dtype if call.desc(1).dtype in call.schema.outputs[0].dtypes else DataType.FLOAT
    return [Output(dtype, shape, call.desc(0).format)]


@rule("Resize")
def resize_onnx(call: Call) -> Sequence[Output]:
    """Every dim by ``sizes``, or by ``scales``, rounded down; one of both is there."""
    shape = call.shape(0)
    given = [index for index in (2, 3) if call.has(index) and call.length(index) != 0]
    if len(given) != 1:
        raise call.error("give one of scales and sizes")
    (index,) = given
    count = call.length(index)
    if shape is None:
        return [call.like(0, None if count is None else (FREE,) * count)]
    if count is not None and count != len(shape):
        raise call.mismatch(0, index, f"do not fit: there are {count} numbers for {len(shape)} dims")
    value = call.desc(index).value
    if value is None:
        return [call.like(0, (FREE,) * len(shape))]
    numbers = value.reshape(-1).tolist()
    if not all(0 <= number < math.inf for number in numbers):
        raise call.error(f"{call.names[index]} {numbers} must be finite, and not negative")
    if index == 2:
        return [call.like(0, tuple(_scaled(dim, scale) for dim, scale in zip(shape, numbers, strict=True)))]
    return [call.like(0, fixed(*numbers))]


@rule("ResizeD")
def resize_onnx_attribute(call: Call) -> Sequence[Output]:
    """``sizes`` for every dim, or for the spatial ones."""
    return [call.like(0, _listed(call, tuple(call.attributes["sizes"]), "sizes"))]


@rule("ResizeGrad")
def resize_gradient(call: Call) -> Sequence[Output]:
    """The original size, for every dim."""
    sizes, shape = call.integers(3), call.shape(0)
    if sizes is None:
        count = call.length(3) if shape is None else len(shape)
        return [call.like(0, None if count is None else (FREE,) * count)]
    if shape is not None and len(sizes) != len(shape):
        raise call.mismatch(0, 3, f"do not fit: there are {len(sizes)} numbers for {len(shape)} dims")
    if any(size < 0 for size in sizes):
        raise call.error(f"original_size {sizes} must not be negative")
    return [call.like(0, fixed(*sizes))]


@rule("ResizeGradD")
def resize_gradient_attribute(call: Call) -> Sequence[Output]:
    """``original_size`` for every dim, or for the spatial ones."""
    return [call.like(0, _listed(call, tuple(call.attributes["original_size"]), "original_size"))]


@rule("UpsampleNearest1d")
def upsample_line(call: Call) -> Sequence[Output]:
    """``[N, C, output_size]``."""
    return [call.like(0, _upsampled(call, 1))]


@rule("UpsampleNearest3d", "UpsampleTrilinear3d")
def upsample_volume(call: Call) -> Sequence[Output]:
    """``[N, C, *output_size]``, or the spatial dims times ``scales``."""
    return [call.like(0, _upsampled(call, 3))]


@rule("UpsampleNearest1dGrad", "UpsampleNearest3dGrad", "UpsampleTrilinear3dGrad")
def upsample_gradient(call: Call) -> Sequence[Output]:
    """``input_size``."""
    sizes, rank = tuple(call.attributes["input_size"]), 3 if call.schema.op_type.endswith("1dGrad") else 5
    if len(sizes) != rank or any(size < 0 for size in sizes):
        raise call.error(f"input_size {sizes} must be {rank} sizes")
    shape = call.shape(0)
    if shape is not None and (
        len(shape) != rank or any(not dim.meets(Dim(size, size)) for dim, size in zip(shape, sizes[:2], strict=False))
    ):
        raise call.error(f"{call.titled(0)} does not come from input_size {sizes}")
    _check_scales(call, rank - 2)
    return [call.like(0, fixed(*sizes))]


def sized(call: Call, size: tuple[int, ...] | None) -> Shape:
    """Return the first input's shape with another height and width; the channels are last unless its format is NCHW."""
    shape = call.shape(0)
    if size is not None and (len(size) != 2 or min(size) < 1):
        raise call.error(f"size {size} must be a height and a width of at least 1")
    if shape is not None and len(shape) != 4:
        raise call.error(f"{call.titled(0)} must have four dims")
    dims = list(shape or (FREE,) * 4)
    for place, axis in enumerate(spatial_axes(call, 4)):
        dims[axis] = FREE if size is None else Dim(size[place], size[place])
    return tuple(dims)


def _scaled(dim: Dim, scale: float) -> Dim:
    most = dim.most if dim.most == math.inf else int(dim.most * scale)
    return Dim(int(dim.least * scale), most)


def _listed(call: Call, sizes: tuple[int, ...], name: str) -> Shape:
    shape = call.shape(0)
    if any(size < 0 for size in sizes):
        raise call.error(f"{name} {sizes} must not be negative")
    if shape is None:
        return None
    if len(sizes) == len(shape):
        return fixed(*sizes)
    if len(sizes) != len(shape) - 2:
        raise call.error(f"{name} {sizes} are neither all dims of {call.titled(0)} nor its spatial ones")
    if call.attributes["data_format"].endswith("C"):
        return (shape[0], *fixed(*sizes), shape[-1])
    return (*shape[:2], *fixed(*sizes))


def _upsampled(call: Call, count: int) -> Shape:
    shape, sizes, scales = call.shape(0), tuple(call.attributes["output_size"]), call.attributes["scales"]
    if shape is not None and len(shape) != count + 2:
        raise call.error(f"{call.titled(0)} must have {count + 2} dims")
    _check_scales(call, count)
    if sizes:
        if len(sizes) != count or min(sizes) < 1:
            raise call.error(f"output_size {sizes} must be {count} sizes of at least 1")
        return (*(shape or (FREE, FREE))[:2], *fixed(*sizes))
    if not scales:
        raise call.error(f"output_size and scales are empty; give {count} sizes, or {count} factors")
    if shape is None:
        return (FREE,) * (count + 2)
    return (*shape[:2], *(_scaled(dim, scale) for dim, scale in zip(shape[2:], scales, strict=True)))


def _check_scales(call: Call, count: int) -> None:
    scales = tuple(call.attributes["scales"])
    if scales and (len(scales) != count or not all(0 < scale < math.inf for scale in scales)):
        raise call.error(f"scales {scales} are not {count} factors above 0")
