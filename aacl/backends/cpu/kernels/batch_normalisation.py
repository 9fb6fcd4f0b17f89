"""Normalisation of each channel over the whole batch, its sums and its gradients.

The statistics are float32 whatever the data are; the channel axis is the one that ``data_format`` or
the tensor's format names, else axis 1. Statistics of the data's rank are used as they lie, which
serves NC1HWC0.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._channels import along, channel_axis, named_axis
from aacl.backends.cpu.kernels._graphs import graph_body, node
from aacl.backends.cpu.kernels._moments import variance
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared
from aacl.backends.cpu.kernels._sums import summed
from aacl.backends.cpu.kernels._whole import whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()

_MANY = 1 << 17
"""Elements from which on a graph pays."""


@kernel("BatchNorm", "BatchNormExt2", "BatchNorm3D")
def _batch_norm(request: KernelRequest) -> Kernel:
    """As TensorFlow's FusedBatchNormV3.

    In training ``batch_variance`` is the unbiased variance, mixed with the old one by
    ``exponential_avg_factor``; the reserved outputs are the batch's own mean and biased variance, and
    the last one is 0. Otherwise mean and variance are those given, and are what all the outputs repeat.
    """
    attributes, rank = request.attributes, len(given(request, 0).shape)
    channel, epsilon = named_axis(request, rank), attributes["epsilon"]
    factor, inputs = attributes.get("exponential_avg_factor", 1.0), len(request.inputs)
    axes = tuple(axis for axis in range(rank) if axis != channel)

    def body(*arrays: Array) -> None:
        x, scale, offset, *known = arrays[:inputs]
        y, *statistics = arrays[inputs:]
        old = (known[0], known[1]) if len(known) == 2 and known[0] is not None and known[1] is not None else None
        found = _train(x, axes, old, factor) if attributes["is_training"] else (*known, *known)
        _apply(x, epsilon, y, *(along(each, channel, rank) for each in (found[2], found[3], scale, offset)))
        for target, values in zip(statistics, found, strict=False):
            np.copyto(target, values.reshape(target.shape))
        for target in statistics[4:]:
            target[...] = 0

    return whole(request, body, 6)


def _train(
    x: Array, axes: tuple[int, ...], old: tuple[Array, Array] | None, factor: float
) -> tuple[Array, Array, Array, Array]:
    """Return the mean and variance to go on with, and those of the batch."""
    centre, biased = (found.reshape(-1) for found in variance(x, axes))
    count = math.prod(x.shape[axis] for axis in axes)
    unbiased = np.multiply(biased, count / max(count - 1, 1), dtype=biased.dtype)
    if factor == 1 or old is None:
        return centre, unbiased, centre, biased
    mixed = [
        np.float32(1 - factor) * was.reshape(-1) + np.float32(factor) * new
        for was, new in zip(old, (centre, unbiased), strict=True)
    ]
    return mixed[0], mixed[1], centre, biased


def _apply(x: Array, epsilon: float, y: Array, mean: Array, spread: Array, scale: Array, offset: Array) -> None:
    """Write ``(x - mean) / sqrt(variance + epsilon) * scale + offset``."""
    np.subtract(x, mean, y)
    np.multiply(y, scale / np.sqrt(np.add(spread, epsilon, dtype=spread.dtype)), y)
    np.add(y, offset, y)


@kernel("BNInfer")
def _infer(request: KernelRequest) -> Kernel:
    """``(x - mean) / sqrt(variance + epsilon) * scale + offset``; large tensors are ONNX Runtime's work."""
    laid, epsilon = _laid(request), request.attributes["epsilon"]
    info, is_flat = given(request, 0), all(len(given(request, index).shape) == 1 for index in range(1, 5))
    if elements(info) >= _MANY and is_flat and channel_axis(info) == 1 and len(info.shape) > 1:
        nodes = [node("BatchNormalization", "x0 x1 x2 x3 x4", "y0", epsilon=epsilon)]
        return prepared(request, graph_body(request, nodes, 2 * elements(info)), 2 * elements(info))

    def body(x: Array, scale: Array, offset: Array, mean: Array, spread: Array, y: Array) -> None:
        _apply(x, epsilon, y, laid(mean), laid(spread), laid(scale), laid(offset))

    return whole(request, body, 3)


@kernel("BNInference", "BNInferenceD")
def _inference(request: KernelRequest) -> Kernel:
    """As Caffe's BatchNorm: mean and variance are divided by ``momentum`` first, or are 0 where it is 0.

    Scale and offset are not used, as the prototype says.
    """
    laid, epsilon, inputs = _laid(request), request.attributes["epsilon"], len(request.inputs)

    def body(*arrays: Array) -> None:
        x, mean, spread = arrays[:3]
        momentum = float(
            request.attributes.get("momentum", 0) if "momentum" in request.attributes else arrays[3].item()
        )
        factor = 0 if momentum == 0 else 1 / momentum
        centre, width = (np.multiply(each, factor, dtype=each.dtype) for each in (mean, spread))
        y = np.subtract(x, laid(centre), arrays[inputs])
        np.divide(y, laid(np.sqrt(np.add(width, epsilon, dtype=width.dtype))), y)

    return whole(request, body, 3)


@kernel("BNTrainingReduce", "INTrainingReduceV2")
def _sums(request: KernelRequest) -> Kernel:
    """The sum and the sum of squares of each channel, INTrainingReduceV2 of each picture by itself."""
    rank, channel = len(given(request, 0).shape), channel_axis(given(request, 0))
    kept = (channel,) if request.op_type == "BNTrainingReduce" else (0, channel)
    axes = tuple(axis for axis in range(rank) if axis not in kept)

    def body(x: Array, total: Array, square: Array) -> None:
        np.copyto(total, summed(x, axes).reshape(total.shape))
        np.copyto(square, summed(np.multiply(x, x), axes).reshape(square.shape))

    return whole(request, body, 3)


@kernel("GNTrainingReduce")
def _group_sums(request: KernelRequest) -> Kernel:
    """The sum and the sum of squares of each group of channels of each picture."""
    shape, channel = given(request, 0).shape, channel_axis(given(request, 0))
    groups = request.attributes["num_groups"]
    split = (*shape[:channel], groups, shape[channel] // groups, *shape[channel + 1 :])
    axes = tuple(axis for axis in range(1, 5) if axis != channel)

    def body(x: Array, total: Array, square: Array) -> None:
        cut = x.reshape(split)
        np.copyto(total, summed(cut, axes).reshape(total.shape))
        np.copyto(square, summed(np.multiply(cut, cut), axes).reshape(square.shape))

    return whole(request, body, 3)


@kernel("BNTrainingUpdate")
def _update(request: KernelRequest) -> Kernel:
    """Normalise by the sums of BNTrainingReduce, and mix the statistics into the running ones by ``factor``.

    The running variance takes in the unbiased variance of the batch, ``batch_variance`` is the biased one.
    """
    laid, count = _laid(request), _count(request)
    epsilon, factor = request.attributes["epsilon"], request.attributes["factor"]

    def body(
        x: Array, total: Array, square: Array, scale: Array, offset: Array, mean: Array, spread: Array,
        y: Array, new_mean: Array, new_spread: Array, batch_mean: Array, batch_spread: Array,
    ) -> None:  # fmt: skip
        centre, biased = _from_sums(total, square, count)
        _apply(x, epsilon, y, laid(centre), laid(biased), laid(scale), laid(offset))
        np.copyto(new_mean, (factor * centre + (1 - factor) * mean).reshape(new_mean.shape))
        unbiased = biased * np.float32(count / max(count - 1, 1))
        np.copyto(new_spread, (factor * unbiased + (1 - factor) * spread).reshape(new_spread.shape))
        np.copyto(batch_mean, centre)
        np.copyto(batch_spread, biased)

    return whole(request, body, 3)


@kernel("BNTrainingUpdateV2", "BNTrainingUpdateV3")
def _update_without_running(request: KernelRequest) -> Kernel:
    """Normalise by the sums of BNTrainingReduce; V3 gives the biased statistics twice."""
    laid, count, epsilon = _laid(request), _count(request), request.attributes["epsilon"]

    def body(x: Array, total: Array, square: Array, scale: Array, offset: Array, y: Array, *statistics: Array) -> None:
        found = _from_sums(total, square, count)
        _apply(x, epsilon, y, *map(laid, (*found, scale, offset)))
        for place, target in enumerate(statistics):
            np.copyto(target, found[place % 2])

    return whole(request, body, 3)


def _from_sums(total: Array, square: Array, count: int) -> tuple[Array, Array]:
    """Return mean and biased variance; rounding never takes the variance below 0."""
    centre = np.divide(total, count, dtype=total.dtype)
    spread = np.subtract(np.divide(square, count, dtype=square.dtype), np.multiply(centre, centre))
    return centre, np.maximum(spread, 0)


@kernel("BatchNormGrad", "BatchNormGradExt2")
def _gradient(request: KernelRequest) -> Kernel:
    """As TensorFlow's FusedBatchNormGradV3 on the CPU: the reserved inputs are mean and biased variance."""
    rank, epsilon = len(given(request, 0).shape), request.attributes["epsilon"]
    channel, is_training = named_axis(request, rank), request.attributes["is_training"]
    axes, inputs = tuple(axis for axis in range(rank) if axis != channel), len(request.inputs)
    lay = functools.partial(along, axis=channel, rank=rank)

    def body(*arrays: Array) -> None:
        slope, x, scale, mean, spread = arrays[:5]
        into, scale_slope, offset_slope, *reserved = arrays[inputs:]
        root = 1 / np.sqrt(np.add(spread, epsilon, dtype=spread.dtype))
        unit = np.multiply(np.subtract(x, lay(mean)), lay(root))
        np.copyto(scale_slope, summed(np.multiply(slope, unit), axes))
        np.copyto(offset_slope, summed(slope, axes))
        if is_training:
            _centred(slope, unit, lay(scale_slope), lay(offset_slope), x.size // max(scale.size, 1), into)
            np.multiply(into, lay(scale * root), into)
        else:
            np.multiply(slope, lay(scale * root), into)
        for target in reserved:
            target[...] = 0

    return whole(request, body, 8)


def _centred(slope: Array, unit: Array, scale_slope: Array, offset_slope: Array, count: int, into: Array) -> None:
    """Write ``slope - (offset_slope + unit * scale_slope) / count``."""
    np.multiply(unit, scale_slope, unit)
    np.add(unit, offset_slope, unit)
    np.divide(unit, count, unit)
    np.subtract(slope, unit, into)


@kernel("BNTrainingUpdateGrad")
def _update_gradient(request: KernelRequest) -> Kernel:
    """The gradients of scale and offset."""
    laid, epsilon = _laid(request), request.attributes["epsilon"]
    rank, channel = len(given(request, 0).shape), channel_axis(given(request, 0))
    shape = given(request, 2).shape

    def body(slope: Array, x: Array, mean: Array, spread: Array, scale_slope: Array, offset_slope: Array) -> None:
        if len(shape) == rank and rank > 1:
            axes = tuple(axis for axis in range(rank) if shape[axis] == 1)
        else:
            axes = tuple(axis for axis in range(rank) if axis != channel)
        root = 1 / np.sqrt(np.add(spread, epsilon, dtype=spread.dtype))
        unit = np.multiply(np.subtract(x, laid(mean)), laid(root))
        np.copyto(scale_slope, summed(np.multiply(slope, unit, unit), axes).reshape(scale_slope.shape))
        np.copyto(offset_slope, summed(slope, axes).reshape(offset_slope.shape))

    return whole(request, body, 5)


@kernel("BNTrainingReduceGrad")
def _reduce_gradient(request: KernelRequest) -> Kernel:
    """The gradient of ``x`` from those of scale and offset: ``scale * root * (g - (do + unit * ds) / count)``."""
    laid, count, epsilon = _laid(request), _count(request, 2), request.attributes["epsilon"]

    def body(
        slope: Array, x: Array, scale_slope: Array, offset_slope: Array, scale: Array, mean: Array, spread: Array,
        into: Array,
    ) -> None:  # fmt: skip
        root = 1 / np.sqrt(np.add(spread, epsilon, dtype=spread.dtype))
        unit = np.multiply(np.subtract(x, laid(mean)), laid(root))
        _centred(slope, unit, laid(scale_slope), laid(offset_slope), count, into)
        np.multiply(into, laid(scale * root), into)

    return whole(request, body, 6)


@kernel("BNInferGrad")
def _infer_gradient(request: KernelRequest) -> Kernel:
    """``grads * scale / sqrt(variance + epsilon)``."""
    laid, epsilon = _laid(request), request.attributes["epsilon"]

    def body(slope: Array, scale: Array, spread: Array, into: Array) -> None:
        np.multiply(slope, laid(scale / np.sqrt(np.add(spread, epsilon, dtype=spread.dtype))), into)

    return whole(request, body, 1)


def _laid(request: KernelRequest) -> Callable[[Array], Array]:
    """Return what lays statistics along the channels of the first input; those of its rank lie right already."""
    rank, channel = len(given(request, 0).shape), channel_axis(given(request, 0))
    return lambda values: values if values.ndim == rank and rank > 1 else along(values, channel, rank)


def _count(request: KernelRequest, index: int = 1) -> int:
    """Return how many elements there are to a channel."""
    return elements(given(request, 0)) // max(elements(given(request, index)), 1)
