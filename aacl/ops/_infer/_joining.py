"""Outputs of operators that join several inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.ops._infer._agreement import equal_shapes, require_equal_dtypes
from aacl.ops._infer._dims import FREE, Shape, fixed
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("Concat")
def concat(call: Call) -> Sequence[Output]:
    """Inputs joined; the axis is the first input."""
    return [_joined(call, range(1, len(call.inputs)), call.integer(0))]


@rule("ConcatV2")
def concat_v2(call: Call) -> Sequence[Output]:
    """Inputs joined; the axis is the last input."""
    last = len(call.inputs) - 1
    return [_joined(call, range(last), call.integer(last))]


@rule("ConcatD", "ConcatV2D")
def concat_attribute(call: Call) -> Sequence[Output]:
    """Inputs joined; the axis is an attribute."""
    return [_joined(call, range(len(call.inputs)), call.attributes["concat_dim"])]


@rule("Pack")
def pack(call: Call) -> Sequence[Output]:
    """Inputs of one shape stacked along a new axis."""
    require_equal_dtypes(call, range(len(call.inputs)))
    shape = equal_shapes(call, range(len(call.inputs)))
    if shape is None:
        return [call.like(0, None)]
    axis = call.attributes["axis"]
    if not -len(shape) - 1 <= axis <= len(shape):
        raise call.error(f"axis {axis} lies outside [{-len(shape) - 1}, {len(shape)}] for {call.titled(0)}")
    axis %= len(shape) + 1
    return [call.like(0, (*shape[:axis], *fixed(len(call.inputs)), *shape[axis:]))]


def _joined(call: Call, indexes: Sequence[int], axis: int | None) -> Output:
    require_equal_dtypes(call, indexes)
    first = indexes[0]
    shape, source = call.shape(first), call.desc(first)
    dtype, format_ = call.result(source.dtype), source.format
    if axis is not None and shape is not None:
        axis = call.axis(axis, len(shape), "the axis", first)
    for index in indexes[1:]:
        shape = _joined_pair(call, first, index, shape, axis)
    return Output(dtype, shape, format_)


def _joined_pair(call: Call, first: int, index: int, shape: Shape, axis: int | None) -> Shape:
    other = call.shape(index)
    if shape is None or other is None:
        return None
    if len(shape) != len(other):
        raise call.mismatch(first, index, "cannot be joined: their ranks differ")
    if axis is None:
        return (FREE,) * len(shape)
    dims = []
    for place, (left, right) in enumerate(zip(shape, other, strict=True)):
        met = left.plus(right) if place == axis else left.meets(right)
        if met is None:
            raise call.mismatch(first, index, f"cannot be joined along axis {axis}: their other dims differ")
        dims.append(met)
    return tuple(dims)
