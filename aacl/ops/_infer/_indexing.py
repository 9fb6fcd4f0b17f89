"""Outputs of operators that pick elements by index, or find them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._agreement import broadcast_inputs
from aacl.ops._infer._dims import FREE, Dim, fixed, product
from aacl.ops._infer._requirements import require_one, require_ones
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ("indexed",)


@rule("Gather")
def gather(call: Call) -> Sequence[Output]:
    """Rows along axis ``batch_dims``: axis 0 without batch dims."""
    return [_gathered(call, call.attributes["batch_dims"], call.attributes["batch_dims"])]


@rule("GatherV2")
def gather_v2(call: Call) -> Sequence[Output]:
    """Rows along an axis, an input."""
    return [_gathered(call, call.integer(2), call.attributes["batch_dims"])]


@rule("GatherV2D")
def gather_attribute(call: Call) -> Sequence[Output]:
    """Rows along an axis, an attribute."""
    return [_gathered(call, call.attributes["axis"], 0)]


@rule("GatherNd")
def gather_nd(call: Call) -> Sequence[Output]:
    """The last dim of the indices addresses the leading dims of ``x``."""
    shape, indices = call.shape(0), call.shape(1)
    if indices == ():
        raise call.error(f"{call.titled(1)} must have one dim at least, whose elements address {call.titled(0)}")
    if shape is None or indices is None or not indices[-1].is_fixed:
        return [call.like(0, None)]
    depth = indices[-1].least
    if depth > len(shape):
        raise call.mismatch(0, 1, f"do not fit: {depth} indices address {len(shape)} dims")
    return [call.like(0, indices[:-1] + shape[depth:])]


@rule("GatherElements", "GatherD")
def gather_elements(call: Call) -> Sequence[Output]:
    """The index's shape; GatherD has the axis, one number, before it."""
    index = len(call.inputs) - 1
    if index > 1:
        require_one(call, 1)
    return [call.like(0, call.shape(index))]


@rule("OneHot")
def one_hot(call: Call) -> Sequence[Output]:
    """A dim ``depth`` put in at ``axis``, -1 meaning last; the dtype is that of ``on_value``."""
    require_ones(call, "on_value", "off_value")
    return [_one_hot(call, call.integer(1), 2)]


@rule("OneHotD")
def one_hot_attribute(call: Call) -> Sequence[Output]:
    """As OneHot, with ``depth`` an attribute."""
    require_ones(call, "on_value", "off_value")
    return [_one_hot(call, call.attributes["depth"], 1)]


@rule("Index")
def index(call: Call) -> Sequence[Output]:
    """Torch's advanced indexing: the index tensors' dims where the indexed dims are, first where those lie apart."""
    return [indexed(call, call.integers(1), 3)]


@rule("IndexByTensor")
def index_by_mask(call: Call) -> Sequence[Output]:
    """As Index, with the marks an attribute; none mark the first dims."""
    return [indexed(call, call.attributes["indices_mask"] or (1,) * (len(call.inputs) - 1), 1)]


@rule("NonZero")
def non_zero(call: Call) -> Sequence[Output]:
    """Coordinates: ``[n, rank]``, or ``[rank, n]`` transposed; n lies between 0 and the number of elements."""
    shape = call.shape(0)
    dims = (FREE, FREE) if shape is None else (Dim(0, product(shape).most), *fixed(len(shape)))
    return [Output(call.attributes["dtype"], dims[::-1] if call.attributes["transpose"] else dims)]


@rule("Where")
def where(call: Call) -> Sequence[Output]:
    """Coordinates of the non-zero elements, int64 ``[n, rank]``."""
    shape = call.shape(0)
    return [
        Output(DataType.INT64, (FREE, FREE) if shape is None else (Dim(0, product(shape).most), *fixed(len(shape))))
    ]


def _gathered(call: Call, axis: int | None, batch: int) -> Output:
    shape, indices = call.shape(0), call.shape(1)
    if shape is None or indices is None:
        return call.like(0, None)
    if batch:
        batch = call.axis(batch, len(indices) + 1, "batch_dims", 1)
    if axis is None:
        return call.like(0, (FREE,) * (len(shape) + len(indices) - 1 - batch))
    axis = call.axis(axis, len(shape), "axis")
    if batch > axis or any(not a.meets(b) for a, b in zip(shape[:batch], indices[:batch], strict=False)):
        raise call.mismatch(0, 1, f"do not fit: their first {batch} dims are batch dims before axis {axis}")
    return call.like(0, (*shape[:axis], *indices[batch:], *shape[axis + 1 :]))


def _one_hot(call: Call, depth: int | None, on_value: int) -> Output:
    dtype, shape = call.desc(on_value).dtype, call.shape(0)
    if shape is None:
        return Output(dtype, None)
    if depth is not None and depth < 0:
        raise call.error(f"depth is {depth}; it must not be negative")
    axis = call.attributes["axis"]
    if not -1 <= axis <= len(shape):
        raise call.error(f"axis {axis} lies outside [-1, {len(shape)}] for {call.titled(0)}")
    place = len(shape) if axis == -1 else axis
    new = FREE if depth is None else Dim(depth, depth)
    return Output(dtype, (*shape[:place], new, *shape[place:]))


def indexed(call: Call, marks: Sequence[int] | None, first_tensor: int) -> Output:
    """Return what index tensors pick of the first input, each of a dim that is marked; they are the last inputs."""
    shape, count = call.shape(0), len(call.inputs) - first_tensor
    if shape is None or marks is None:
        return call.like(0, None)
    places_of = [axis for axis, mark in enumerate(marks) if mark]
    if len(marks) > len(shape) or len(places_of) != count:
        raise call.error(f"the marks {tuple(marks)} do not name {count} dims of {call.titled(0)}")
    places = broadcast_inputs(call, range(first_tensor, len(call.inputs)))
    if places is None:
        return call.like(0, None)
    first = places_of[0] if places_of == list(range(places_of[0], places_of[0] + len(places_of))) else 0
    rest = [dim for axis, dim in enumerate(shape) if axis not in places_of]
    return Output(call.desc(0).dtype, (*rest[:first], *places, *rest[first:]))
