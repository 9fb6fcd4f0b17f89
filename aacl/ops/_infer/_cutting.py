"""Outputs of slices by axes, of writing into slices, and of gradients of slices and paddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.ops._infer._agreement import require_equal_dtypes
from aacl.ops._infer._asked import asked_shape, asked_sizes
from aacl.ops._infer._dims import Dim, Shape
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("StridedSliceV2", "StridedSliceV3")
def sliced(call: Call) -> Sequence[Output]:
    """ONNX's slice: each axis that is named is cut as Python's slice cuts."""
    shape = call.shape(0)
    if shape is None:
        return [call.like(0, None)]
    begin, end = call.integers(1), call.integers(2)
    axes = call.integers(3) if call.has(3) else None
    strides = call.integers(4) if call.has(4) else None
    is_known = not (call.has(3) and axes is None) and not (call.has(4) and strides is None)
    if begin is None or end is None or not is_known:
        return [call.like(0, tuple(Dim(0, dim.most) for dim in shape))]
    places = tuple(range(len(begin))) if axes is None else axes
    steps = (1,) * len(begin) if strides is None else strides
    if len({len(begin), len(end), len(places), len(steps)}) != 1 or 0 in steps:
        raise call.error(f"begin {begin}, end {end}, axes {places} and strides {steps} need one number each, not 0")
    dims = list(shape)
    seen = set[int]()
    for first, last, place, step in zip(begin, end, places, steps, strict=True):
        axis = call.axis(place, len(shape), "axis")
        if axis in seen:
            raise call.error(f"axis {axis} is sliced twice")
        seen.add(axis)
        dims[axis] = _cut(shape[axis], slice(first, last, step))
    return [call.like(0, tuple(dims))]


@rule("SliceWithAxes")
def sliced_with_axes(call: Call) -> Sequence[Output]:
    """``size`` elements along each of ``axes``."""
    return [_sized(call, call.integers(1), call.integers(2), call.attributes["axes"])]


@rule("SliceDV2")
def sliced_sizes(call: Call) -> Sequence[Output]:
    """``size`` elements along every axis."""
    shape = call.shape(0)
    return [_sized(call, call.integers(1), call.attributes["size"], range(len(shape or ())))]


@rule("SliceLastDim")
def last_dim(call: Call) -> Sequence[Output]:
    """The last dim cut from ``start`` to ``end``."""
    shape = call.shape(0)
    if shape is None:
        return [call.like(0, None)]
    start, end, stride = (call.attributes[name] for name in ("start", "end", "stride"))
    if not shape or not stride:
        raise call.error(f"{call.titled(0)} needs one dim at least, and a stride other than 0")
    return [call.like(0, (*shape[:-1], _cut(shape[-1], slice(start, end, stride))))]


@rule("StridedSliceAssign", "StridedSliceAssignD", "StridedSliceAssignV2", "SliceWrite")
def assign(call: Call) -> Sequence[Output]:
    """As the input that is written to."""
    value = next(index for index, name in enumerate(call.names) if name in ("input_value", "value"))
    require_equal_dtypes(call, (0, value))
    return [call.like(0, call.shape(0))]


@rule("StridedSliceGrad")
def grad(call: Call) -> Sequence[Output]:
    """The shape that the first input holds."""
    return [Output(call.desc(4).dtype, asked_shape(call, 0))]


@rule("StridedSliceGradD")
def grad_attribute(call: Call) -> Sequence[Output]:
    """The shape that the attribute holds."""
    return [Output(call.desc(0).dtype, asked_sizes(call, call.attributes["shape"]))]


@rule("MirrorPadGrad", "PadV3Grad")
def pad_grad(call: Call) -> Sequence[Output]:
    """The dims without their borders."""
    shape, flat = call.shape(0), call.integers(1)
    if shape is None or flat is None:
        return [call.like(0, None if shape is None else tuple(Dim(0, dim.most) for dim in shape))]
    if len(flat) != 2 * len(shape) or any(size < 0 for size in flat):
        raise call.error(f"paddings {flat} need two numbers from 0 for each dim of {call.titled(0)}")
    half = len(shape)
    is_paired = call.attributes.get("paddings_contiguous", True)
    before, after = (flat[::2], flat[1::2]) if is_paired else (flat[:half], flat[half:])
    if any(b + a > dim.most for dim, b, a in zip(shape, before, after, strict=True)):
        raise call.error(f"paddings {flat} are more than {call.titled(0)} has")
    return [call.like(0, tuple(dim.shifted(-b - a) for dim, b, a in zip(shape, before, after, strict=True)))]


def _cut(dim: Dim, part: slice) -> Dim:
    if not dim.is_fixed:
        return Dim(0, dim.most)
    size = len(range(*part.indices(dim.least)))
    return Dim(size, size)


def _sized(call: Call, offsets: Sequence[int] | None, sizes: Sequence[int] | None, axes: Sequence[int]) -> Output:
    shape: Shape = call.shape(0)
    if shape is None:
        return call.like(0, None)
    dims = list(shape)
    if (sizes is not None and len(sizes) != len(axes)) or (offsets is not None and len(offsets) != len(axes)):
        raise call.error(f"offsets {offsets} and size {sizes} need one number for each of axes {tuple(axes)}")
    for number, place in enumerate(axes):
        axis = call.axis(place, len(shape), "axis")
        size = None if sizes is None else sizes[number]
        start = None if offsets is None else offsets[number]
        first = start or 0
        if first < 0 or (size is not None and (size < -1 or first + max(size, 0) > shape[axis].most)):
            raise call.error(f"offset {start} with size {size} lies outside dim {axis} of {call.titled(0)}")
        if size is not None and size >= 0:
            dims[axis] = Dim(size, size)
        else:
            dims[axis] = shape[axis].shifted(-first) if size == -1 and start is not None else Dim(0, shape[axis].most)
    return call.like(0, tuple(dims))
