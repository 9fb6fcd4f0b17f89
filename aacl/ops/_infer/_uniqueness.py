"""Outputs of operators that find the distinct elements: bounded by the number of elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._asked import asked_dtype, at_most
from aacl.ops._infer._dims import FREE, Dim, Shape, fixed, product
from aacl.ops._infer._requirements import require_rank
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("Unique", "UniqueWithCounts")
def unique(call: Call) -> Sequence[Output]:
    """The distinct elements, the number of each element, and the counts if the operator gives them."""
    shape = require_rank(call, 0, 1)
    dtype, most = asked_dtype(call, "out_idx", 1), (at_most(shape),)
    found = [Output(call.desc(0).dtype, most), Output(dtype, (FREE,) if shape is None else shape)]
    return found if len(call.schema.outputs) == 2 else [*found, Output(dtype, most)]


@rule("UniqueExt2")
def unique_along(call: Call) -> Sequence[Output]:
    """The distinct slices along the axis that the second input holds."""
    shape, axes = call.shape(0), call.integers(1)
    dtype = asked_dtype(call, "out_idx", 1)
    if shape is None or (axes is None and len(shape) != 1):
        most = None if shape is None else tuple(Dim(0, dim.most) for dim in shape)
        return [call.like(0, most), Output(dtype, (FREE,))]
    if axes is not None and (len(axes) > 1 or (not axes and len(shape) != 1)):
        raise call.error(f"axis {axes} must be one number for {call.titled(0)}")
    axis = call.axis(axes[0], len(shape), "axis") if axes else 0
    return [call.like(0, _shortened(shape, axis)), Output(dtype, (shape[axis],))]


@rule("UniqueWithCountsAndSorting")
def unique_sorted(call: Call) -> Sequence[Output]:
    """The distinct elements; int64 numbers and counts where they are asked for."""
    shape, most = call.shape(0), (at_most(call.shape(0)),)
    numbers = shape if call.attributes["return_inverse"] else fixed(0)
    counts = most if call.attributes["return_counts"] else fixed(0)
    return [Output(call.desc(0).dtype, most), Output(DataType.INT64, numbers), Output(DataType.INT64, counts)]


@rule("UniqueV2")
def unique_v2(call: Call) -> Sequence[Output]:
    """The distinct elements or slices; int64 places, numbers and counts where they are asked for."""
    shape, axis = call.shape(0), call.attributes["axis"]
    found, most, whole = _along(call, shape, axis, axis == -1000)
    asked = [call.attributes[name] for name in ("return_idx", "return_inverse", "return_counts")]
    sizes = [size if is_asked else fixed(0)[0] for size, is_asked in zip((most, whole, most), asked, strict=True)]
    return [call.like(0, found), *(Output(DataType.INT64, (size,)) for size in sizes)]


@rule("UniqueConsecutive")
def unique_consecutive(call: Call) -> Sequence[Output]:
    """The first of each run; int64 numbers and counts where they are asked for."""
    shape, axis = call.shape(0), call.attributes["axis"]
    is_flat = axis == 1000
    found, most, whole = _along(call, shape, axis, is_flat)
    numbers: Shape = shape if is_flat else (whole,)
    if not call.attributes["return_idx"]:
        numbers = fixed(0)
    counts = (most,) if call.attributes["return_counts"] else fixed(0)
    return [call.like(0, found), Output(DataType.INT64, numbers), Output(DataType.INT64, counts)]


@rule("ListDiff")
def list_diff(call: Call) -> Sequence[Output]:
    """What is left of the first list, and its places."""
    for index in (0, 1):
        require_rank(call, index, 1)
    most = (at_most(call.shape(0)),)
    return [Output(call.desc(0).dtype, most), Output(asked_dtype(call, "out_idx", 1), most)]


@rule("NonZeroWithValue")
def non_zero_with_value(call: Call) -> Sequence[Output]:
    """The values, their coordinates, and one count; the latter two int32."""
    shape = call.shape(0)
    most = at_most(shape)
    dims = (most, FREE if shape is None else fixed(len(shape))[0])
    index = Output(asked_dtype(call, "dtype", 1), dims[::-1] if call.attributes["transpose"] else dims)
    return [Output(call.desc(0).dtype, (most,)), index, Output(DataType.INT32, fixed(1))]


def _along(call: Call, shape: Shape, axis: int, is_flat: bool) -> tuple[Shape, Dim, Dim]:
    """Return the shape of the distinct slices, how many there may be, and how many slices there are."""
    if is_flat:
        most = at_most(shape)
        return (most,), most, FREE if shape is None else product(shape)
    if shape is None:
        return None, FREE, FREE
    axis = call.axis(axis, len(shape), "axis")
    return _shortened(shape, axis), Dim(0, shape[axis].most), shape[axis]


def _shortened(shape: tuple[Dim, ...], axis: int) -> tuple[Dim, ...]:
    return (*shape[:axis], Dim(0, shape[axis].most), *shape[axis + 1 :])
