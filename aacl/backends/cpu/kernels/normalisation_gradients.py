"""Gradients of normalisations; half precision computes in float32 and is rounded once.

Where a prototype has a variance and no epsilon, 1e-12 is added to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._channels import along, channel_axis, named_axis
from aacl.backends.cpu.kernels._moments import mean
from aacl.backends.cpu.kernels._norms import window_sum
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, given, kernel
from aacl.backends.cpu.kernels._sums import summed
from aacl.backends.cpu.kernels._whole import whole
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()

_EPSILON = 1e-12


@kernel("LayerNormGrad", "LayerNormGradV3")
def _layer_norm(request: KernelRequest) -> Kernel:
    """The gradients of ``x``, scale and shift; the third input is the variance, V3's its inverse root."""
    is_root, axes = request.op_type.endswith("V3"), _normalised_axes(request, 3)

    def body(
        slope: Array, x: Array, spread: Array, centre: Array, gamma: Array, dx: Array, dgamma: Array, dbeta: Array
    ) -> None:
        root = spread if is_root else _root(spread)
        unit = (x - centre) * root
        _by_scale(slope, slope * unit, dgamma, dbeta)
        _by_x(slope, unit, root, gamma, axes, dx)

    return whole(request, body, 14)


@kernel("LayerNormXBackprop", "LayerNormXBackpropV2", "LayerNormXBackpropV3")
def _layer_norm_x(request: KernelRequest) -> Kernel:
    """The gradient of ``x``; V2 and V3 give the normalised ``x`` too. V3's third input is the inverse root."""
    is_root, axes = request.op_type.endswith("V3"), _normalised_axes(request, 3)

    def body(slope: Array, x: Array, spread: Array, centre: Array, gamma: Array, dx: Array, *rest: Array) -> None:
        root = spread if is_root else _root(spread)
        unit = (x - centre) * root
        for each in rest:
            np.copyto(each, unit)
        _by_x(slope, unit, root, gamma, axes, dx)

    return whole(request, body, 12)


@kernel("LayerNormBetaGammaBackprop")
def _layer_norm_scale(request: KernelRequest) -> Kernel:
    """The gradients of scale and shift."""

    def body(slope: Array, x: Array, spread: Array, centre: Array, dgamma: Array, dbeta: Array) -> None:
        _by_scale(slope, slope * ((x - centre) * _root(spread)), dgamma, dbeta)

    return whole(request, body, 6)


@kernel("LayerNormBetaGammaBackpropV2")
def _layer_norm_scale_from_rest(request: KernelRequest) -> Kernel:
    """The gradients of scale and shift from what LayerNormXBackpropV2 gave: the normalised ``x``."""

    def body(slope: Array, unit: Array, dgamma: Array, dbeta: Array) -> None:
        _by_scale(slope, slope * unit, dgamma, dbeta)

    return whole(request, body, 3)


@kernel("RmsNormGrad")
def _rms_norm(request: KernelRequest) -> Kernel:
    """The gradients of ``x`` and of the scale."""
    axes = tuple(range(-len(given(request, 3).shape), 0))

    def body(slope: Array, x: Array, root: Array, gamma: Array, dx: Array, dgamma: Array) -> None:
        unit = x * root
        product = slope * unit
        np.copyto(dgamma, _over_leading(product, dgamma))
        inner = mean(product * gamma, axes) if axes else product * gamma
        np.multiply(slope * gamma - unit * inner, root, dx)

    return whole(request, body, 10)


@kernel("GroupNormGrad")
def _group_norm(request: KernelRequest) -> Kernel:
    """The gradients of ``x``, scale and shift, whichever are asked for; those that are not are 0."""
    shape, attributes = given(request, 3).shape, request.attributes
    channel, groups = named_axis(request, len(shape)), attributes["num_groups"]
    if channel >= len(shape) or shape[channel] % groups:
        raise InvalidArgument(f"operator GroupNormGrad: {groups} groups do not divide the channels of {shape}")
    split = (*shape[:channel], groups, shape[channel] // groups, *shape[channel + 1 :])
    axes = tuple(axis for axis in range(1, len(split)) if axis != channel)
    others = tuple(axis for axis in range(len(shape)) if axis != channel)
    wanted = [attributes[f"{name}_is_require"] for name in ("dx", "dgamma", "dbeta")]

    def body(
        slope: Array, centre: Array, root: Array, x: Array, gamma: Array, dx: Array, dgamma: Array, dbeta: Array
    ) -> None:
        def laid(values: Array) -> Array:
            dims = [1] * len(split)
            dims[0], dims[channel] = values.shape
            return values.reshape(dims)

        unit = (x.reshape(split) - laid(centre)) * laid(root)
        product = slope * unit.reshape(shape)
        scaled = (slope * along(gamma, channel, len(shape))).reshape(split)
        into = scaled - mean(scaled, axes) - unit * mean(scaled * unit, axes)
        np.copyto(dx, (into * laid(root)).reshape(shape) if wanted[0] else 0)
        np.copyto(dgamma, summed(product, others).reshape(dgamma.shape) if wanted[1] else 0)
        np.copyto(dbeta, summed(slope, others).reshape(dbeta.shape) if wanted[2] else 0)

    return whole(request, body, 14)


@kernel("L2NormalizeGrad")
def _l2_normalize(request: KernelRequest) -> Kernel:
    """``(dy - y * sum(y * dy)) / max(norm, eps)`` over the axes, all of them where there are none."""
    rank, least = len(given(request, 0).shape), request.attributes["eps"]
    axes = tuple({axis % rank for axis in request.attributes["dim"]}) or tuple(range(rank))

    def body(x: Array, y: Array, slope: Array, dx: Array) -> None:
        norm = np.sqrt(summed(x * x, axes, keepdims=True))
        shared = summed(y * slope, axes, keepdims=True)
        np.divide(slope - y * shared, np.maximum(norm, least, dtype=norm.dtype), dx)

    return whole(request, body, 8)


@kernel("LRNGrad")
def _local_response(request: KernelRequest) -> Kernel:
    """As TensorFlow's LRNGrad; the channels are last unless the format of the gradient is NCHW."""
    attributes, axis = request.attributes, channel_axis(given(request, 0), -1)
    radius, alpha, beta = attributes["depth_radius"], attributes["alpha"], attributes["beta"]
    if radius < 0:
        raise InvalidArgument(f"operator LRNGrad: depth_radius is {radius}; it must not be negative")

    def body(slope: Array, x: Array, y: Array, dx: Array) -> None:
        norm = window_sum(x * x, axis, radius)
        np.multiply(norm, alpha, norm)
        np.add(norm, attributes["bias"], norm)
        around = window_sum(slope * y / norm, axis, radius)
        np.multiply(around, -2 * alpha * beta, around)
        np.add(slope * np.power(norm, -beta, dtype=norm.dtype), x * around, dx)

    return whole(request, body, 4 * radius + 10 + TRANSCENDENTAL)


def _root(spread: Array) -> Array:
    root = np.add(spread, _EPSILON, dtype=spread.dtype)
    np.divide(1, np.sqrt(root, root), root)
    return root


def _normalised_axes(request: KernelRequest, statistic: int) -> tuple[int, ...]:
    """Return the axes on which a statistic has 1."""
    return tuple(axis for axis, size in enumerate(given(request, statistic).shape) if size == 1)


def _by_x(slope: Array, unit: Array, root: Array, gamma: Array, axes: tuple[int, ...], dx: Array) -> None:
    scaled = slope * gamma
    np.multiply(scaled - mean(scaled, axes) - unit * mean(scaled * unit, axes), root, dx)


def _by_scale(slope: Array, product: Array, dgamma: Array, dbeta: Array) -> None:
    np.copyto(dgamma, _over_leading(product, dgamma))
    np.copyto(dbeta, _over_leading(slope, dbeta))


def _over_leading(x: Array, out: Array) -> Array:
    """Return the sum over the axes that an output of trailing axes lacks."""
    return summed(x.reshape(-1, *out.shape) if x.size else np.zeros((0, *out.shape), x.dtype), 0)
