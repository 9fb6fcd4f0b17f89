"""Outputs of operators that quantise and dequantise at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._agreement import equal_shapes
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.ops._infer._dims import Shape

__all__ = ()


@rule("FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxArgsGradient")
def between_attributes(call: Call) -> Sequence[Output]:
    """As ``x``."""
    return [call.like(0, equal_shapes(call, tuple(range(len(call.inputs)))))]


@rule("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def between_inputs(call: Call) -> Sequence[Output]:
    """As ``x``; the limits have one element, or one a channel, the last axis."""
    _limits(call, 1)
    return [call.like(0, call.shape(0))]


@rule("FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannelGradient")
def between_inputs_gradient(call: Call) -> Sequence[Output]:
    """As ``x``, and as the limits."""
    shape = equal_shapes(call, (0, 1))
    limits = _limits(call, 2)
    return [call.like(0, shape), call.like(2, limits, 1), call.like(3, limits, 2)]


@rule("FakeQuantAffineCachemask")
def affine(call: Call) -> Sequence[Output]:
    """As ``x``, and a mask of it."""
    shape, scales = call.shape(0), equal_shapes(call, (1, 2))
    if shape is not None:
        axis = call.axis(call.attributes["axis"], len(shape), "axis")
        if scales is not None and (len(scales) != 1 or not scales[0].meets(shape[axis])):
            raise call.mismatch(0, 1, f"do not fit: there is one scale for each element of axis {axis}")
    return [call.like(0, shape), Output(DataType.BOOL, shape, call.desc(0).format)]


def _limits(call: Call, first: int) -> Shape:
    limits, shape = equal_shapes(call, (first, first + 1)), call.shape(0)
    if limits is None:
        return None
    if "PerChannel" not in call.schema.op_type:
        if call.desc(first).element_count not in (-1, 1) or len(limits) > 1:
            raise call.error(f"{call.titled(first)} must have one element")
    elif len(limits) != 1 or (shape is not None and (not shape or not shape[-1].meets(limits[0]))):
        raise call.mismatch(0, first, "do not fit: there is one limit for each element of the last axis")
    return limits
