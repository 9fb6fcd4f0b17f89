"""Outputs of normalisations over the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._agreement import equal_shapes
from aacl.ops._infer._channel_normalisation import named_axis, per_channel
from aacl.ops._infer._channels import channel_axis
from aacl.ops._infer._dims import FREE, Dim, Shape, fixed
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("BatchNorm", "BatchNormExt2", "BatchNorm3D")
def batch_norm(call: Call) -> Sequence[Output]:
    """``y`` as ``x``, then float statistics of a channel each; BatchNorm's last output is one number."""
    shape = call.shape(0)
    if not call.attributes["is_training"] and not (call.has(3) and call.has(4)):
        raise call.error("without is_training it needs mean and variance")
    channel = 0 if shape is None else named_axis(call, len(shape))
    statistic = _statistic(call, shape, channel, (1, 2, 3, 4))
    last = [Output(DataType.FLOAT, ())] if len(call.schema.outputs) == 6 else []
    return [call.like(0, shape), *[statistic] * 4, *last]


@rule("BatchNormGrad", "BatchNormGradExt2")
def batch_norm_gradient(call: Call) -> Sequence[Output]:
    """``x_backprop`` as ``x``, two float gradients of a channel each, two reserved outputs of one number each."""
    shape = equal_shapes(call, (0, 1))
    channel = 0 if shape is None else named_axis(call, len(shape))
    statistic = _statistic(call, shape, channel, (2, 3, 4))
    reserved = Output(DataType.FLOAT, ())
    return [call.like(1, shape), statistic, statistic, reserved, reserved]


@rule("BNInfer")
def normalise_known(call: Call) -> Sequence[Output]:
    """As ``x``; every other input holds one element a channel, or broadcasts as it lies."""
    _laid(call, (1, 2, 3, 4))
    return [call.like(0, call.shape(0))]


@rule("BNInference")
def inference(call: Call) -> Sequence[Output]:
    """As ``x``; mean and variance hold one element a channel, ``momentum`` one."""
    _laid(call, (1, 2))
    if call.length(3) not in (1, None):
        raise call.error(f"{call.titled(3)} must hold one element")
    return [call.like(0, call.shape(0))]


@rule("BNInferenceD")
def inference_attribute(call: Call) -> Sequence[Output]:
    """As BNInference, with ``momentum`` an attribute."""
    _laid(call, (1, 2))
    return [call.like(0, call.shape(0))]


@rule("BNTrainingReduce")
def training_sums(call: Call) -> Sequence[Output]:
    """The sums of a channel each, float."""
    shape = call.shape(0)
    statistic = _statistic(call, shape, 0 if shape is None else channel_axis(call, len(shape)), ())
    return [statistic, statistic]


@rule("BNTrainingUpdate", "BNTrainingUpdateV2", "BNTrainingUpdateV3")
def training_update(call: Call) -> Sequence[Output]:
    """``y`` as ``x``, then float statistics as the sums are."""
    _laid(call, range(1, len(call.inputs)))
    statistic = Output(DataType.FLOAT, call.shape(1), call.desc(1).format)
    return [call.like(0, call.shape(0)), *[statistic] * (len(call.schema.outputs) - 1)]


@rule("BNTrainingUpdateGrad")
def training_update_gradient(call: Call) -> Sequence[Output]:
    """The gradients of scale and offset, float, as the statistics are."""
    equal_shapes(call, (0, 1))
    _laid(call, (2, 3))
    return [Output(DataType.FLOAT, call.shape(2), call.desc(2).format)] * 2


@rule("BNTrainingReduceGrad")
def training_reduce_gradient(call: Call) -> Sequence[Output]:
    """The gradient of ``x``, as it."""
    shape = equal_shapes(call, (0, 1))
    _laid(call, range(2, 7))
    return [call.like(0, shape)]


@rule("BNInferGrad")
def inference_gradient(call: Call) -> Sequence[Output]:
    """The gradient of ``x``, as the one that comes in."""
    _laid(call, (1, 2))
    return [call.like(0, call.shape(0))]


@rule("INTrainingReduceV2")
def instance_sums(call: Call) -> Sequence[Output]:
    """The sums over the spatial dims, which become 1."""
    shape = call.shape(0)
    if shape is not None:
        channel = channel_axis(call, len(shape))
        shape = tuple(dim if axis in (0, channel) else Dim(1, 1) for axis, dim in enumerate(shape))
    return [Output(DataType.FLOAT, shape, call.desc(0).format)] * 2


@rule("GNTrainingReduce")
def group_sums(call: Call) -> Sequence[Output]:
    """The sums of each group of channels, ``[batch, num_groups, 1, 1, 1]`` for ``[N, C, H, W]``."""
    shape, groups = call.shape(0), call.attributes["num_groups"]
    if shape is None:
        return [Output(DataType.FLOAT, (FREE, *fixed(groups, 1, 1, 1)))] * 2
    if len(shape) != 4 or groups < 1:
        raise call.error(f"{call.titled(0)} must have four dims and num_groups be at least 1, not {groups}")
    channel = channel_axis(call, 4)
    if shape[channel].is_fixed and shape[channel].least % groups:
        raise call.error(f"{shape[channel]} channels of {call.titled(0)} are no multiple of num_groups {groups}")
    dims = (1, groups, 1, 1, 1) if channel == 1 else (1, 1, 1, groups, 1)
    return [Output(DataType.FLOAT, (shape[0], *fixed(*dims[1:])))] * 2


def _statistic(call: Call, shape: Shape, channel: int, indexes: Sequence[int]) -> Output:
    """Return a float output of one element a channel; the inputs given hold as many."""
    if shape is None:
        return Output(DataType.FLOAT, (FREE,))
    if not shape:
        raise call.error(f"{call.titled(0)} has no channels")
    for index in indexes:
        if call.has(index):
            per_channel(call, index, shape, channel)
    return Output(DataType.FLOAT, (shape[channel],))


def _laid(call: Call, indexes: Sequence[int]) -> None:
    """Refuse inputs that neither hold one element a channel of the first one nor broadcast to it."""
    shape = call.shape(0)
    if shape is None:
        return
    if not shape:
        raise call.error(f"{call.titled(0)} has no channels")
    channel = channel_axis(call, len(shape))
    for index in indexes:
        found = call.shape(index) if call.has(index) else None
        if found is None:
            continue
        if len(found) != len(shape) or len(shape) == 1:
            per_channel(call, index, shape, channel)
        elif any(not dim.meets(own) and not dim.meets(Dim(1, 1)) for dim, own in zip(found, shape, strict=True)):
            raise call.mismatch(0, index, "do not broadcast")
