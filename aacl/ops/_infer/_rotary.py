"""Outputs of rotary position embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.ops._infer._agreement import equal_shapes, present, require_equal_dtypes, require_spread
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("RotaryMul", "RotaryPositionEmbedding")
def rotary(call: Call) -> Sequence[Output]:
    """As ``x``, to which the factors broadcast; the last axis is even."""
    _check(call, (0,), (1, 2))
    return [call.like(0, call.shape(0))]


@rule("ApplyRotaryPosEmb")
def rotary_pair(call: Call) -> Sequence[Output]:
    """As query and key."""
    if call.attributes["layout"] != 1:
        raise call.error(f"layout is {call.attributes['layout']}; it is 1, for [batch, sequence, heads, size]")
    _check(call, (0, 1), (2, 3))
    return [call.like(0, call.shape(0)), call.like(1, call.shape(1), 1)]


@rule("RotaryMulGrad")
def rotary_gradient(call: Call) -> Sequence[Output]:
    """As ``x`` and the factors."""
    equal_shapes(call, (0, 3))
    _check(call, (0,), (1, 2))
    return [call.like(index, call.shape(index), index) for index in range(3)]


@rule("RotaryPositionEmbeddingGrad")
def rotary_embedding_gradient(call: Call) -> Sequence[Output]:
    """As ``dy`` and the factors."""
    if call.has(3):
        equal_shapes(call, (0, 3))
    _check(call, (0,), (1, 2))
    return [call.like(index, call.shape(index), index) for index in range(3)]


def _check(call: Call, whole: Sequence[int], factors: Sequence[int]) -> None:
    require_equal_dtypes(call, present(call))
    for index in whole:
        shape, parts = call.shape(index), 4 if call.attributes.get("mode") == 2 else 2
        if shape is not None and (not shape or (shape[-1].is_fixed and shape[-1].least % parts)):
            raise call.error(f"{call.titled(index)} must have a last axis that is a multiple of {parts}")
        for factor in factors:
            require_spread(call, factor, index)
