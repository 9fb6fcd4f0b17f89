"""Normalisation over trailing axes; half precision computes in float32 and is rounded once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._precision import widened
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()


@kernel("LayerNorm", "LayerNormV3")
def _layer_norm(request: KernelRequest) -> Kernel:
    """``y``, mean and variance (LayerNormV3: its inverse root) over the axes from ``begin_norm_axis``."""
    info, epsilon = given(request, 0), request.attributes["epsilon"]
    rank = len(info.shape)
    axes = tuple(range(request.attributes["begin_norm_axis"] % max(rank, 1), rank))
    gives_root = request.op_type == "LayerNormV3"

    def body(x: Array, gamma: Array, beta: Array, y: Array, mean: Array, variance: Array) -> None:
        centre = x.mean(axes, keepdims=True)
        apart = x - centre
        spread = np.multiply(apart, apart).mean(axes, keepdims=True)
        root = 1 / np.sqrt(spread + epsilon)
        np.multiply(apart, root, apart)
        np.multiply(apart, gamma, apart)
        np.add(apart, beta, y)
        np.copyto(mean, centre)
        np.copyto(variance, root if gives_root else spread)

    return prepared(request, quiet(widened(body, info.dtype, 3), 6), 8 * elements(info))


@kernel("RmsNorm")
def _rms_norm(request: KernelRequest) -> Kernel:
    """``y = gamma * x * rstd`` with ``rstd = 1 / sqrt(mean(x^2) + epsilon)`` over gamma's axes."""
    info, epsilon = given(request, 0), request.attributes["epsilon"]
    axes = tuple(range(-len(given(request, 1).shape), 0))

    def body(x: Array, gamma: Array, y: Array, rstd: Array) -> None:
        root = 1 / np.sqrt(np.multiply(x, x).mean(axes, keepdims=True) + epsilon)
        np.copyto(rstd, root)
        np.multiply(np.multiply(x, root), gamma, y)

    return prepared(request, quiet(widened(body, info.dtype, 2), 4), 5 * elements(info))
