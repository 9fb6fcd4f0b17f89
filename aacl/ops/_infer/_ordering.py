"""Outputs of sorting, of the places of extremes, and of running totals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._dims import Dim, Shape
from aacl.ops._infer._reduction import without
from aacl.ops._infer._requirements import require_one, require_rank
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("TopK", "TopKV2", "TopKV2D")
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
    _check_axis(call, "axis")
    return [call.like(0, call.shape(0)), Output(DataType.INT32, call.shape(0), call.desc(0).format)]


@rule("SortV2")
def sort_values(call: Call) -> Sequence[Output]:
    """The sorted values."""
    _check_axis(call, "axis")
    return [call.like(0, call.shape(0))]


@rule("ArgMaxWithValue", "ArgMinWithValue")
def extreme_with_value(call: Call) -> Sequence[Output]:
    """The int32 places, then the values; ``dimension`` vanishes, or becomes 1."""
    shape = call.shape(0)
    if shape:
        axis = call.axis(call.attributes["dimension"], len(shape), "dimension")
        shape = without(shape, {axis}, call.attributes["keep_dims"])
    return [Output(DataType.INT32, shape), call.like(0, shape, 1)]


@rule("NthElement")
def nth_element(call: Call) -> Sequence[Output]:
    """The last dim vanishes; ``n`` is one number."""
    require_one(call, 1)
    shape = call.shape(0)
    if shape is not None and not shape:
        raise call.error(f"{call.titled(0)} needs one dim at least")
    return [call.like(0, None if shape is None else shape[:-1])]


@rule("InTopK", "InTopKD", "InTopKExt2", "InTopKV2")
def in_top_k(call: Call) -> Sequence[Output]:
    """One bool for each row of predictions, which has one target."""
    predictions, targets = require_rank(call, 0, 2), require_rank(call, 1, 1)
    if len(call.inputs) > 2:  # k is an attribute of InTopKD
        require_one(call, 2)
    if predictions is not None and targets is not None and not predictions[0].meets(targets[0]):
        raise call.mismatch(0, 1, "must have one number of rows")
    return [Output(DataType.BOOL, targets if predictions is None else predictions[:1])]


@rule("Cummax", "Cummin")
def running_extreme(call: Call) -> Sequence[Output]:
    """The values and their int32 places."""
    return [call.like(0, call.shape(0)), Output(DataType.INT32, call.shape(0))]


@rule("Cumsum", "Cumprod", "CumulativeLogsumexp")
def running(call: Call) -> Sequence[Output]:
    """As the input; the axis is one number."""
    require_one(call, 1)
    return [call.like(0, call.shape(0))]


def _check_axis(call: Call, name: str) -> None:
    shape = call.shape(0)
    if shape is not None:
        call.axis(call.attributes[name], max(len(shape), 1), name)


def _top(call: Call, k: int | None) -> Sequence[Output]:
    shape: Shape = call.shape(0)
    if shape is not None:
        axis = call.axis(call.attributes["dim"], len(shape), "dim")
        if k is not None and not 0 <= k <= shape[axis].most:
            raise call.error(f"k is {k}, which dim {axis} of {call.titled(0)} does not hold")
        shape = (*shape[:axis], Dim(0, shape[axis].most) if k is None else Dim(k, k), *shape[axis + 1 :])
    return [call.like(0, shape), Output(DataType.INT32, shape, call.desc(0).format)]
