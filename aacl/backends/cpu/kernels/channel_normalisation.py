"""Normalisation over channels, groups of them, or listed axes; half precision computes in float32."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._channels import along, channel_axis, named_axis
from aacl.backends.cpu.kernels._moments import mean, normalise, variance
from aacl.backends.cpu.kernels._norms import p_norm, window_sum
from aacl.backends.cpu.kernels._precision import FLOATS
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, given, kernel, refuse_dtype
from aacl.backends.cpu.kernels._sums import summed
from aacl.backends.cpu.kernels._whole import whole
from aacl.errors import InvalidArgument, NotSupported

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()


@kernel("InstanceNorm")
def _instance_norm(request: KernelRequest) -> Kernel:
    """Each channel of each picture by itself; the third output is the biased variance."""
    rank, epsilon = len(given(request, 0).shape), request.attributes["epsilon"]
    channel = named_axis(request, rank)
    axes = tuple(axis for axis in range(1, rank) if axis != channel)

    def body(x: Array, gamma: Array, beta: Array, y: Array, centre: Array, spread: Array) -> None:
        found = normalise(x, axes, epsilon, y)
        np.multiply(y, along(gamma, channel, rank), y)
        np.add(y, along(beta, channel, rank), y)
        np.copyto(centre, found.mean)
        np.copyto(spread, found.variance)

    return whole(request, body, 8)


@kernel("GroupNorm", "GroupNormV2")
def _group_norm(request: KernelRequest) -> Kernel:
    """As torch's group_norm; mean and biased variance (GroupNormV2: its inverse root) are ``[batch, groups]``."""
    gives_root = request.op_type == "GroupNormV2"
    grouped = _Groups(request, named_axis(request, len(given(request, 0).shape)))

    def body(x: Array, gamma: Array, beta: Array, y: Array, centre: Array, spread: Array) -> None:
        grouped.run(x, gamma, beta, y, centre, *((None, spread) if gives_root else (spread, None)))

    return whole(request, body, 8)


@kernel("GroupNormRelu")
def _group_norm_relu(request: KernelRequest) -> Kernel:
    """GroupNorm with the channels along axis 1, then the negative elements 0."""
    grouped = _Groups(request, 1)

    def body(x: Array, gamma: Array, beta: Array, y: Array) -> None:
        grouped.run(x, gamma, beta, y)
        np.maximum(y, 0, out=y)

    return whole(request, body, 9)


@kernel("GroupNormSilu")
def _group_norm_silu(request: KernelRequest) -> Kernel:
    """GroupNormV2 with the channels along axis 1, then ``y * sigmoid(y)`` with ``activate_silu``."""
    grouped, is_silu, inputs = _Groups(request, 1), request.attributes["activate_silu"], len(request.inputs)

    def body(*arrays: Array) -> None:
        x, gamma, beta = (*arrays[:inputs], None, None)[:3]
        y, centre, root = arrays[inputs:]
        assert x is not None
        grouped.run(x, gamma, beta, y, centre, None, root)
        if is_silu:
            np.divide(y, 1 + np.exp(-y), y)

    return whole(request, body, 9 + TRANSCENDENTAL)


class _Groups:
    """The channels of a tensor in groups, each normalised with all its places."""

    def __init__(self, request: KernelRequest, channel: int) -> None:
        shape, groups = given(request, 0).shape, request.attributes["num_groups"]
        if channel >= len(shape) or groups < 1 or shape[channel] % groups:
            raise InvalidArgument(f"operator {request.op_type}: {groups} groups do not divide the channels of {shape}")
        self.channel, self.rank, self.epsilon = channel, len(shape), request.attributes["eps"]
        self.split = (*shape[:channel], groups, shape[channel] // groups, *shape[channel + 1 :])
        self.axes = tuple(axis for axis in range(1, len(shape) + 1) if axis != channel)
        self.statistic = (shape[0], groups)

    def run(
        self, x: Array, gamma: Array | None, beta: Array | None, y: Array,
        centre: Array | None = None, spread: Array | None = None, root: Array | None = None,
    ) -> None:  # fmt: skip
        """Write ``y``, and those of mean, variance and its inverse root that are asked for."""
        cut = x.reshape(self.split)
        out = y.reshape(self.split) if y.flags.c_contiguous else np.empty_like(cut)
        found = normalise(cut, self.axes, self.epsilon, out)
        if not y.flags.c_contiguous:
            np.copyto(y, out.reshape(y.shape))
        if gamma is not None:
            np.multiply(y, along(gamma, self.channel, self.rank), y)
        if beta is not None:
            np.add(y, along(beta, self.channel, self.rank), y)
        for target, values in ((centre, found.mean), (spread, found.variance), (root, found.root)):
            if target is not None:
                np.copyto(target, values.reshape(self.statistic))


@kernel("L2Normalize")
def _l2_normalize(request: KernelRequest) -> Kernel:
    """``x / max(norm, eps)`` over the axes, all of them where none is given."""
    rank, least = len(given(request, 0).shape), request.attributes["eps"]
    axes = tuple({axis % rank for axis in request.attributes["axis"]}) or tuple(range(rank))

    def body(x: Array, y: Array) -> None:
        norm = np.sqrt(summed(np.multiply(x, x), axes, keepdims=True))
        np.divide(x, np.maximum(norm, least, dtype=norm.dtype), y)

    return whole(request, body, 4)


@kernel("MVN")
def _mean_variance(request: KernelRequest) -> Kernel:
    """As Caffe's MVN on NCHW: over height and width, ``across_channels`` over the channels too.

    The divisor is ``sqrt(variance) + eps``.
    """
    axes = (1, 2, 3) if request.attributes["across_channels"] else (2, 3)
    return whole(request, _standardised(request, axes, request.attributes["normalize_variance"]), 6)


@kernel("MVNV2")
def _mean_variance_axes(request: KernelRequest) -> Kernel:
    """As ONNX's MeanVarianceNormalization: the divisor is ``sqrt(variance) + eps``."""
    rank = len(given(request, 0).shape)
    axes = tuple({axis % rank for axis in request.attributes["axes"]})
    return whole(request, _standardised(request, axes, True), 6)


def _standardised(request: KernelRequest, axes: tuple[int, ...], divides: bool) -> Body:
    epsilon = request.attributes["eps"]

    def body(x: Array, y: Array) -> None:
        if not divides:
            np.subtract(x, mean(x, axes), y)
            return
        centre, spread = variance(x, axes)
        np.subtract(x, centre, y)
        np.divide(y, np.add(np.sqrt(spread), epsilon, dtype=spread.dtype), y)

    return body


@kernel("LRN")
def _local_response(request: KernelRequest) -> Kernel:
    """As TensorFlow's: ``x / (bias + alpha * sum)^beta``, the sum being that of the squares of ``2 r + 1`` channels.

    The channels are last unless the tensor's format is NCHW. Only ACROSS_CHANNELS is done.
    """
    attributes, axis = request.attributes, channel_axis(given(request, 0), -1)
    if attributes["norm_region"] != "ACROSS_CHANNELS":
        raise NotSupported(
            f"operator LRN: norm_region {attributes['norm_region']!r} is not done on the cpu device; use ACROSS_CHANNELS"
        )
    radius = attributes["depth_radius"]
    if radius < 0:
        raise InvalidArgument(f"operator LRN: depth_radius is {radius}; it must not be negative")

    def body(x: Array, y: Array) -> None:
        total = window_sum(np.multiply(x, x), axis, radius)
        np.multiply(total, attributes["alpha"], total)
        np.add(total, attributes["bias"], total)
        np.divide(x, np.power(total, attributes["beta"], total), y)

    return whole(request, body, 2 * radius + 4 + 2 * TRANSCENDENTAL)


@kernel("Renorm")
def _renorm(request: KernelRequest) -> Kernel:
    """As torch.renorm: each part along ``dim`` whose p-norm exceeds ``maxnorm`` is scaled down to it."""
    info, attributes = given(request, 0), request.attributes
    if info.dtype not in FLOATS and info.dtype.numpy_dtype.kind != "c":
        raise refuse_dtype(request, "float and complex dtypes")
    p, limit = attributes["p"], attributes["maxnorm"]
    if p <= 0 or limit < 0:
        raise InvalidArgument(f"operator Renorm: p is {p} and maxnorm {limit}; p must be above 0, maxnorm not below")
    rank = len(info.shape)
    axes = tuple(axis for axis in range(rank) if axis != attributes["dim"] % rank)

    def body(x: Array, y: Array) -> None:
        norm = p_norm(x, p, axes)
        factor = np.where(norm > limit, limit / (norm + 1e-7), 1).astype(norm.dtype, copy=False)
        np.multiply(x, factor, y)

    return whole(request, body, 3 + 2 * TRANSCENDENTAL)


@kernel("Scale")
def _scale(request: KernelRequest) -> Kernel:
    """``x * scale + bias`` as Caffe's Scale: both lie along the axes of ``x`` from ``axis``."""
    rank = len(given(request, 0).shape)
    begin = request.attributes["axis"] % max(rank, 1)
    has_bias = len(request.inputs) > 2 and request.inputs[2] is not None

    def placed(values: Array) -> Array:
        if values.size == 1:
            return values.reshape(())
        return values.reshape((1,) * begin + values.shape + (1,) * (rank - begin - values.ndim))

    def body(x: Array, scale: Array, *rest: Array) -> None:
        y = rest[-1]
        np.multiply(x, placed(scale), y)
        if has_bias:
            np.add(y, placed(rest[0]), y)

    return whole(request, body, 1)
