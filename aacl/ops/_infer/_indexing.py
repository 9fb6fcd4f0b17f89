"""Outputs of operators that pick elements by index, or find them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._dims import FREE, Dim, Shape, fixed, product
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


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
    if shape is None or indices is None or not indices or not indices[-1].is_fixed:
        return [call.like(0, None)]
    depth = indices[-1].least
    if depth > len(shape):
        raise call.mismatch(0, 1, f"do not fit: {depth} indices address {len(shape)} dims")
    return [call.like(0, indices[:-1] + shape[depth:])]


@rule("GatherElements", "GatherD")
def gather_elements(call: Call) -> Sequence[Output]:
    """The index's shape."""
    return [call.like(0, call.shape(len(call.inputs) - 1))]


@rule("OneHot")
def one_hot(call: Call) -> Sequence[Output]:
    """A dim ``depth`` put in at ``axis``, -1 meaning last; the dtype is that of ``on_value``."""
    return [_one_hot(call, call.integer(1), 2)]


@rule("OneHotD")
def one_hot_attribute(call: Call) -> Sequence[Output]:
    """As OneHot, with ``depth`` an attribute."""
    return [_one_hot(call, call.attributes["depth"], 1)]


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


@rule("MaskedSelect")
def masked_select(call: Call) -> Sequence[Output]:
    """One dim, at most as long as the input has elements."""
    shape = call.shape(0)
    return [Output(call.desc(0).dtype, (FREE,) if shape is None else (Dim(0, product(shape).most),))]


@rule("TopK", "TopKV2")
def top_k(call: Call) -> Sequence[Output]:
    """The ``k`` largest along ``dim``: values and their int32 places."""
    return _top(call, call.integer(1))


@rule("TopKD")
def top_k_attribute(call: Call) -> Sequence[Output]:
    """As TopK, with ``k`` an attribute."""
    return _top(call, call.attributes["k"])


@rule("Sort")
def sort(call: Call) -> Sequence[Output]:
    """The sorted values and their int32 places."""
    return [call.like(0, call.shape(0)), Output(DataType.INT32, call.shape(0), call.desc(0).format)]


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


def _top(call: Call, k: int | None) -> Sequence[Output]:
    shape: Shape = call.shape(0)
    if shape is not None:
        axis = call.axis(call.attributes["dim"], len(shape), "dim")
        if k is not None and not 0 <= k <= shape[axis].most:
            raise call.error(f"k is {k}, which dim {axis} of {call.titled(0)} does not hold")
        shape = (*shape[:axis], Dim(0, shape[axis].most) if k is None else Dim(k, k), *shape[axis + 1 :])
    return [call.like(0, shape), Output(DataType.INT32, shape, call.desc(0).format)]
