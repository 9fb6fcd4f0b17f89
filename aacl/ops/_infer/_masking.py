"""Outputs of operators that work where a mask is set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.ops._infer._agreement import broadcast_inputs, require_equal_dtypes
from aacl.ops._infer._asked import at_most
from aacl.ops._infer._dims import Shape, broadcast
from aacl.ops._infer._requirements import require_one
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("MaskedFill")
def fill(call: Call) -> Sequence[Output]:
    """``x`` and mask broadcast; the value is one element."""
    require_equal_dtypes(call, (0, 2))
    require_one(call, 2)
    return [call.like(0, broadcast_inputs(call, (0, 1)))]


@rule("MaskedSelect", "MaskedSelectV2")
def select(call: Call) -> Sequence[Output]:
    """One dim, at most as long as ``x`` and mask have elements when broadcast."""
    return [Output(call.desc(0).dtype, (at_most(broadcast_inputs(call, (0, 1))),))]


@rule("MaskedScatter")
def scatter(call: Call) -> Sequence[Output]:
    """As ``x``, to which the mask broadcasts."""
    require_equal_dtypes(call, (0, 2))
    shape, mask = call.shape(0), call.shape(1)
    if shape is not None and mask is not None:
        both = broadcast(shape, mask)
        if both is None or len(both) != len(shape) or any(not a.meets(b) for a, b in zip(both, shape, strict=True)):
            raise call.mismatch(0, 1, "do not fit: the mask broadcasts to x")
    return [call.like(0, shape)]


@rule("MaskedFillRange")
def fill_range(call: Call) -> Sequence[Output]:
    """As ``x``; start and end are ``(loops, batch)``, the value is ``(loops,)``."""
    require_equal_dtypes(call, (0, 3))
    shape, start, end, value = (call.shape(index) for index in range(4))
    for index, known, rank in ((1, start, 2), (2, end, 2), (3, value, 1)):
        if known is not None and len(known) != rank:
            raise call.error(f"{call.titled(index)} must have {rank} dim{'s' if rank > 1 else ''}")
    if not _fit(start, end) or not _fit(None if start is None else start[:1], value):
        raise call.mismatch(1, 2, "must have one shape, with one value for each row")
    if shape is not None:
        axis = call.axis(call.attributes["axis"], len(shape), "axis")
        if len(shape) > 1 and axis == 0:
            raise call.error(f"axis 0 of {call.titled(0)} holds the batches; ranges go along another one")
        if len(shape) > 1 and start is not None and not start[1].meets(shape[0]):
            raise call.mismatch(0, 1, "do not fit: start has one column for each batch")
    return [call.like(0, shape)]


@rule("MaskedScale")
def scale(call: Call) -> Sequence[Output]:
    """As ``x``, to which the mask has the same shape."""
    shape, mask = call.shape(0), call.shape(1)
    if not _fit(shape, mask):
        raise call.mismatch(0, 1, "must have one shape")
    return [call.like(0, shape)]


def _fit(left: Shape, right: Shape) -> bool:
    if left is None or right is None:
        return True
    return len(left) == len(right) and all(a.meets(b) for a, b in zip(left, right, strict=True))
