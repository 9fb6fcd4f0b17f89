"""Outputs of mixtures of experts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._agreement import equal_shapes, require_equal_dtypes
from aacl.ops._infer._dims import FREE, Dim, fixed
from aacl.ops._infer._requirements import require_rank
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("MoeComputeExpertTokens")
def expert_tokens(call: Call) -> Sequence[Output]:
    """A number an expert."""
    require_rank(call, 0, 1)
    if call.attributes["num_experts"] < 1:
        raise call.error(f"num_experts is {call.attributes['num_experts']}; it must be positive")
    return [Output(DataType.INT32, fixed(call.attributes["num_experts"]))]


@rule("MoeGatingTopKSoftmax")
def gating(call: Call) -> Sequence[Output]:
    """``k`` chances, experts and numbers a row."""
    shape, k = call.shape(0), call.attributes["k"]
    if shape is None:
        return [call.like(0, None), Output(DataType.INT32, None), Output(DataType.INT32, None)]
    if len(shape) not in (2, 3) or not 0 < k <= shape[-1].most:
        raise call.error(f"{call.titled(0)} must have two or three dims, the last one holding k, {k}, experts")
    if call.has(1):
        finished = call.shape(1)
        lead = shape[:-1]
        if finished is not None and (
            len(finished) != len(lead) or any(not a.meets(b) for a, b in zip(finished, lead, strict=True))
        ):
            raise call.mismatch(0, 1, "do not fit: there is one flag a row")
    best = (*shape[:-1], Dim(k, k))
    return [call.like(0, best), Output(DataType.INT32, best), Output(DataType.INT32, best)]


@rule("MoeInitRouting")
def routing(call: Call) -> Sequence[Output]:
    """``[min(rows, active_num) * k, size]``, and a number and an expert for each row of each expert."""
    shape, active = call.shape(0), call.attributes["active_num"]
    experts = equal_shapes(call, (1, 2))
    for index in range(3):
        require_rank(call, index, 2)
    if active < 0:
        raise call.error(f"active_num is {active}; it must not be negative")
    rows, size = (FREE, FREE) if shape is None else shape
    per_row = FREE if experts is None else experts[1]
    if experts is not None and not experts[0].meets(rows):
        raise call.mismatch(0, 2, "do not fit: there are k experts a row")
    whole = Output(DataType.INT32, (rows.times(per_row),))
    kept = Dim(min(rows.least, active), min(rows.most, active)).times(per_row)
    return [call.like(0, (kept, size)), whole, whole]


@rule("MoeFinalizeRouting")
def unrouting(call: Call) -> Sequence[Output]:
    """As ``x1``."""
    floats = [index for index in range(5) if call.has(index)]
    require_equal_dtypes(call, floats)
    for index in (*floats, 6):
        require_rank(call, index, 2)
    require_rank(call, 5, 1)
    shape = equal_shapes(call, (1, 2)) if call.has(2) else call.shape(1)
    experts = equal_shapes(call, (4, 6))
    if shape is not None and experts is not None and not shape[0].meets(experts[0]):
        raise call.mismatch(1, 6, "do not fit: there are k experts a row")
    for index in (0, 3):
        part = call.shape(index)
        if part is not None and shape is not None and not part[1].meets(shape[1]):
            raise call.mismatch(index, 1, "must have rows of one size")
    return [call.like(1, shape)]
