"""Outputs of gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.ops._infer._activations import halved, packed
from aacl.ops._infer._agreement import equal_shapes, present, require_equal_dtypes
from aacl.ops._infer._channels import channel_axis
from aacl.ops._infer._dims import Dim
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule(
    *("AbsGrad", "AcosGrad", "AcoshGrad", "AsinGrad", "AsinhGrad", "AtanGrad", "EluGrad", "EluGradV2", "FastGeluGrad"),
    *("GeluGrad", "GeluGradV2", "HardShrinkGrad", "HardSigmoidGrad", "HardSwishGrad", "HardtanhGrad", "InvGrad"),
    *("LeakyReluGrad", "LogSigmoidGrad", "LogSoftmaxGrad", "MishGrad", "ReciprocalGrad", "Relu6Grad", "ReluGrad"),
    *("RsqrtGrad", "SeluGrad", "SigmoidGrad", "SiluGrad", "SoftmaxGrad", "SoftplusGrad", "SoftplusV2Grad"),
    *("SoftShrinkGrad", "SoftsignGrad", "SqrtGrad", "SwishGrad", "TanhGrad", "ThresholdGradV2D"),
)
def alike(call: Call) -> Sequence[Output]:
    """All inputs and the output have one dtype and one shape."""
    require_equal_dtypes(call, present(call))
    return [call.like(0, equal_shapes(call, present(call)))]


@rule("ReluGradV2")
def masked(call: Call) -> Sequence[Output]:
    """As the gradients; the mask is packed along the last axis, as ReluV2 gives it."""
    shape, mask = call.shape(0), call.shape(1)
    wanted = packed(shape)
    if shape == () or (wanted is not None and mask is not None and len(wanted) != len(mask)):
        raise call.mismatch(0, 1, "do not fit: the mask has one bit an element, eight to a byte along the last axis")
    if wanted is not None and mask is not None and any(not a.meets(b) for a, b in zip(wanted, mask, strict=True)):
        raise call.mismatch(0, 1, "do not fit: the mask has one bit an element, eight to a byte along the last axis")
    return [call.like(0, shape)]


@rule("PReluGrad")
def prelu_gradients(call: Call) -> Sequence[Output]:
    """One like the features, one like the weights."""
    require_equal_dtypes(call, range(3))
    shape, weights = equal_shapes(call, (0, 1)), call.shape(2)
    if weights is not None and len(weights) > 1:
        raise call.error(f"{call.titled(2)} must have one value, or one a channel")
    if shape is not None and weights and not weights[0].meets(Dim(1, 1)):
        axis = channel_axis(call, len(shape))
        if not shape or not shape[axis].meets(weights[0]):
            raise call.mismatch(1, 2, f"do not fit: the weights have one value a channel, along axis {axis}")
    return [call.like(1, shape), call.like(2, weights, 1)]


@rule("MaximumGrad", "MinimumGrad")
def extreme_gradients(call: Call) -> Sequence[Output]:
    """One like each of ``x1`` and ``x2``, which have the shape of the gradients."""
    require_equal_dtypes(call, range(3))
    shape = equal_shapes(call, range(3))
    return [call.like(1, shape), call.like(2, shape, 1)]


@rule("BiasAddGrad")
def bias_gradient(call: Call) -> Sequence[Output]:
    """One dim, the channels."""
    shape = call.shape(0)
    if shape is None:
        return [call.like(0, (Dim(0, float("inf")),))]
    if len(shape) < 2:
        raise call.error(f"{call.titled(0)} must have two dims or more")
    axis = 1 if call.attributes["data_format"].startswith("NC") else len(shape) - 1
    return [call.like(0, (shape[axis],))]


@rule("GLUGrad", "SwiGluGrad")
def gated_gradient(call: Call) -> Sequence[Output]:
    """As ``x``, whose halves have the shape of the gradient."""
    require_equal_dtypes(call, (0, 1))
    _require_halves(call)
    return [call.like(1, call.shape(1))]


@rule("GeGluGradV2")
def gated_pair_gradient(call: Call) -> Sequence[Output]:
    """As ``x``, whose halves have the shape of the gradient and of the activated half."""
    require_equal_dtypes(call, range(3))
    equal_shapes(call, (0, 2))
    _require_halves(call)
    return [call.like(1, call.shape(1))]


def _require_halves(call: Call) -> None:
    half, shape = halved(call, 1), call.shape(0)
    if half is None or shape is None:
        return
    if len(half) != len(shape) or any(not a.meets(b) for a, b in zip(half, shape, strict=True)):
        raise call.mismatch(0, 1, "do not fit: the first one has the shape of half the second one")
