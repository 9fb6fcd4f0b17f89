"""Outputs of reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._dims import FREE, Dim, Shape
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule(
    *("ReduceAll", "ReduceAllD", "ReduceAny", "ReduceAnyD", "ReduceLogSumExp", "ReduceMax", "ReduceMaxD"),
    *("ReduceMean", "ReduceMeanD", "ReduceMin", "ReduceMinD", "ReduceProd", "ReduceProdD", "ReduceSum", "ReduceSumD"),
)
def reduce(call: Call) -> Sequence[Output]:
    """The reduced axes vanish, or become 1 with ``keep_dims``; no axes, no reduction."""
    shape, keep = call.shape(0), call.attributes["keep_dims"]
    is_attribute = "axes" in call.attributes
    axes = call.attributes["axes"] if is_attribute else call.integers(1)
    if axes is not None and not axes and not call.attributes.get("noop_with_empty_axes", True):
        axes = () if shape is None else tuple(range(len(shape)))
    if shape is None:
        return [call.like(0, None)]
    if axes is None:
        return [call.like(0, _unknown_axes(call, shape, keep))]
    return [call.like(0, without(shape, {call.axis(axis, len(shape), "axis") for axis in axes}, keep))]


@rule("ReduceStd")
def standard_deviation(call: Call) -> Sequence[Output]:
    """Two outputs, over ``dim`` or everything."""
    shape = call.shape(0)
    if shape is not None:
        axes = call.attributes["dim"] or tuple(range(len(shape)))
        shape = without(shape, {call.axis(axis, len(shape), "dim") for axis in axes}, call.attributes["keepdim"])
    return [call.like(0, shape), call.like(0, shape, 1)]


@rule("ArgMax", "ArgMaxV2", "ArgMin")
def arg_extreme(call: Call) -> Sequence[Output]:
    """One axis vanishes; ``dimension`` is an input."""
    return [Output(_index_dtype(call), _without_one(call, call.integer(1)))]


@rule("ArgMaxD", "ArgMinD")
def arg_extreme_attribute(call: Call) -> Sequence[Output]:
    """One axis vanishes; ``dimension`` is an attribute."""
    return [Output(_index_dtype(call), _without_one(call, call.attributes["dimension"]))]


def without(shape: tuple[Dim, ...], axes: set[int], keep: bool) -> Shape:
    """Return a shape whose axes are taken out, or become 1."""
    if keep:
        return tuple(Dim(1, 1) if axis in axes else dim for axis, dim in enumerate(shape))
    return tuple(dim for axis, dim in enumerate(shape) if axis not in axes)


def _unknown_axes(call: Call, shape: tuple[Dim, ...], keep: bool) -> Shape:
    if keep:
        return tuple(dim.joined(Dim(1, 1)) for dim in shape)
    count = call.length(1)
    if count is None or count > len(shape) or (count == 0 and not call.attributes.get("noop_with_empty_axes", True)):
        return None
    return shape if count == 0 else (FREE,) * (len(shape) - count)


def _without_one(call: Call, axis: int | None) -> Shape:
    shape = call.shape(0)
    if shape is None:
        return None
    if axis is None:
        return (FREE,) * (len(shape) - 1)
    return without(shape, {call.axis(axis, len(shape), "dimension")}, False)


def _index_dtype(call: Call) -> DataType:
    """The dtype attribute, where the operator gives that dtype: ArgMaxD gives int32 alone."""
    dtype: DataType = call.attributes.get("dtype", call.attributes.get("output_type", DataType.INT64))
    return dtype if dtype in call.schema.outputs[0].dtypes else DataType.INT32
