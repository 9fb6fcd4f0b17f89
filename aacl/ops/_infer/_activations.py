"""Outputs of activations that are not simply like their input."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._agreement import broadcast_inputs, present, require_equal_dtypes
from aacl.ops._infer._channels import channel_axis
from aacl.ops._infer._dims import Dim
from aacl.ops._infer._elementwise import like_first
from aacl.ops._infer._requirements import require_one
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.ops._infer._dims import Shape

__all__ = ("halved", "packed")


rule(
    *("BNLL", "CeluV2", "FastGeluV2", "Hardswish", "Relu6D", "Shrink", "SoftplusV2", "ThresholdedRelu"),
)(like_first)


@rule("ThresholdV2")
def threshold(call: Call) -> Sequence[Output]:
    """As ``x``; the threshold and the value are one element each, of its dtype."""
    require_equal_dtypes(call, present(call))
    for index in range(1, len(call.inputs)):
        if call.has(index):
            require_one(call, index)
    return [call.like(0, call.shape(0))]


@rule("PRelu")
def prelu(call: Call) -> Sequence[Output]:
    """As ``x``; the weight is one element, one a channel, or broadcasts to ``x``."""
    require_equal_dtypes(call, (0, 1))
    shape, weight = call.shape(0), call.shape(1)
    if shape is not None and weight is not None and len(weight) == 1 and not weight[0].meets(Dim(1, 1)):
        axis = channel_axis(call, len(shape))
        if not shape or not shape[axis].meets(weight[0]):
            raise call.mismatch(0, 1, f"do not fit: the weight has one value a channel, along axis {axis}")
    elif shape is not None and weight is not None and len(weight) != 1:
        stretched = broadcast_inputs(call)
        if stretched is None or len(stretched) != len(shape):
            raise call.mismatch(0, 1, "do not fit: the weight broadcasts to x, or has one value a channel")
        met = [dim.meets(size) for dim, size in zip(stretched, shape, strict=True)]
        if None in met:
            raise call.mismatch(0, 1, "do not fit: the weight broadcasts to x, or has one value a channel")
    return [call.like(0, shape)]


@rule("ReluV2")
def relu_with_mask(call: Call) -> Sequence[Output]:
    """As ``x``; the mask has one bit an element, packed along the last axis."""
    shape = call.shape(0)
    if shape == ():
        raise call.error("x is a scalar; its mask is packed along the last axis, so give it one dim at least")
    return [call.like(0, shape), Output(DataType.UINT8, packed(shape))]


@rule("GLU", "SwiGlu")
def gated(call: Call) -> Sequence[Output]:
    """One axis is halved."""
    return [call.like(0, halved(call, 0))]


@rule("GeGluV2")
def gated_pair(call: Call) -> Sequence[Output]:
    """One axis is halved, in both outputs."""
    shape = halved(call, 0)
    return [call.like(0, shape), call.like(0, shape, 1)]


def halved(call: Call, index: int) -> Shape:
    """Return an input's shape with the axis ``dim`` halved.

    Raises:
        InvalidArgument: there is no such axis, or its size is odd.
    """
    shape = call.shape(index)
    if shape is None:
        return None
    axis = call.axis(call.attributes["dim"], len(shape), "dim", index)
    size = shape[axis]
    if size.is_fixed and size.least % 2:
        raise call.error(f"axis {axis} of {call.titled(index)} is cut in halves, and its size is odd")
    most = size.most if size.most == math.inf else int(size.most) // 2
    return (*shape[:axis], Dim(-(-size.least // 2), most), *shape[axis + 1 :])


def packed(shape: Shape) -> Shape:
    """Return the shape of a mask with one bit an element, eight to a byte along the last axis."""
    if not shape:
        return None
    *others, last = shape
    most = last.most if last.most == math.inf else -(-int(last.most) // 8)
    return (*others, Dim(-(-last.least // 8), most))
