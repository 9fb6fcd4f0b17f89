"""Normalisation over trailing axes; half precision computes in float32 and is rounded once.

With residual inputs the sum is not rounded before it is normalised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._moments import by_rows, mean_square, normalise
from aacl.backends.cpu.kernels._precision import widened
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()


@kernel("LayerNorm", "LayerNormV3")
def _layer_norm(request: KernelRequest) -> Kernel:
    """``y``, mean and variance (LayerNormV3: its inverse root) over the axes from ``begin_norm_axis``."""
    epsilon, rank = request.attributes["epsilon"], len(given(request, 0).shape)
    begin = request.attributes["begin_norm_axis"] % max(rank, 1)
    axes = tuple(range(begin - rank, 0))
    gives_root = request.op_type == "LayerNormV3"

    def body(x: Array, gamma: Array, beta: Array, y: Array, centre: Array, spread: Array) -> None:
        found = normalise(x, axes, epsilon, y)
        np.multiply(y, gamma, y)
        np.add(y, beta, y)
        np.copyto(centre, found.mean)
        np.copyto(spread, found.root if gives_root else found.variance)

    has_rows = request.attributes["begin_params_axis"] % max(rank, 1) >= begin
    return _over_rows(request, body, begin if has_rows else 0, 8)


@kernel("LayerNormV4")
def _layer_norm_v4(request: KernelRequest) -> Kernel:
    """As torch's layer_norm over the trailing dims that the second input names; scale and shift may be absent."""
    epsilon = request.attributes["epsilon"]
    count = int(np.prod(given(request, 1).shape, dtype=np.int64))
    axes = tuple(range(-count, 0))

    def body(x: Array, _: Array, *arrays: Array) -> None:
        *factors, y, centre, root = arrays  # those at the end may be left out
        found = normalise(x, axes, epsilon, y)
        _scaled(y, *(*factors, None, None)[:2])
        np.copyto(centre, found.mean)
        np.copyto(root, found.root)

    return _over_rows(request, body, len(given(request, 0).shape) - count, 8)


def _scaled(y: Array, gamma: Array | None, beta: Array | None) -> None:
    if gamma is not None:
        np.multiply(y, gamma, y)
    if beta is not None:
        np.add(y, beta, y)


@kernel("AddLayerNorm", "InplaceAddLayerNorm")
def _add_layer_norm(request: KernelRequest) -> Kernel:
    """``x = x1 + x2 + bias``; ``y`` is its layer norm over gamma's axes (aclnnAddLayerNorm).

    The sum is always written, whatever ``additional_output`` says.
    """
    epsilon, rank = request.attributes["epsilon"], len(given(request, 0).shape)
    axes = tuple(range(-len(given(request, 2).shape), 0))

    def body(
        x1: Array, x2: Array, gamma: Array, beta: Array, bias: Array | None,
        y: Array, centre: Array, root: Array, x: Array,
    ) -> None:  # fmt: skip
        total = np.add(x1, x2)
        if bias is not None:
            np.add(total, bias, total)
        found = normalise(total, axes, epsilon, y)
        _scaled(y, gamma, beta)
        np.copyto(centre, found.mean)
        np.copyto(root, found.root)
        np.copyto(x, total)

    def run(x1: Array, x2: Array, gamma: Array, beta: Array, *rest: Array) -> None:
        inner(x1, x2, gamma, beta, *((None, *rest) if len(rest) == 4 else rest))

    inner = _rows(request, body, rank + axes[0] if axes else rank, inputs=5)
    return prepared(request, quiet(run, len(request.inputs) + 4), 9 * _size(request))


@kernel("DeepNorm")
def _deep_norm(request: KernelRequest) -> Kernel:
    """Layer norm of ``alpha * x + gx`` over gamma's axes (aclnnDeepNorm)."""
    epsilon, alpha = request.attributes["epsilon"], request.attributes["alpha"]
    axes = tuple(range(-len(given(request, 3).shape), 0))

    def body(x: Array, gx: Array, beta: Array, gamma: Array, centre: Array, root: Array, y: Array) -> None:
        total = np.multiply(x, alpha, dtype=x.dtype)
        found = normalise(np.add(total, gx, total), axes, epsilon, y)
        _scaled(y, gamma, beta)
        np.copyto(centre, found.mean)
        np.copyto(root, found.root)

    return _over_rows(request, body, len(given(request, 0).shape) - len(axes), 10)


@kernel("RmsNorm")
def _rms_norm(request: KernelRequest) -> Kernel:
    """``y = gamma * x * rstd`` with ``rstd = 1 / sqrt(mean(x^2) + epsilon)`` over gamma's axes."""
    epsilon, axes = request.attributes["epsilon"], tuple(range(-len(given(request, 1).shape), 0))

    def body(x: Array, gamma: Array, y: Array, rstd: Array) -> None:
        _root_mean_square(x, axes, epsilon, gamma, y, rstd)

    return _over_rows(request, body, len(given(request, 0).shape) - len(axes), 5)


@kernel("AddRmsNorm", "InplaceAddRmsNorm")
def _add_rms_norm(request: KernelRequest) -> Kernel:
    """RmsNorm of ``x = x1 + x2``, which is an output too; in place, ``y`` is ``x1`` and ``x`` is ``x2``."""
    epsilon, axes = request.attributes["epsilon"], tuple(range(-len(given(request, 2).shape), 0))

    def body(x1: Array, x2: Array, gamma: Array, y: Array, rstd: Array, x: Array) -> None:
        total = np.add(x1, x2)
        _root_mean_square(total, axes, epsilon, gamma, y, rstd)
        np.copyto(x, total)

    run = _rows(request, body, len(given(request, 0).shape) - len(axes))
    return prepared(request, quiet(run, 6), 6 * _size(request))


def _root_mean_square(x: Array, axes: tuple[int, ...], epsilon: float, gamma: Array, y: Array, rstd: Array) -> None:
    square = mean_square(x, axes) if axes else np.multiply(x, x)
    root = np.add(square, epsilon, square)
    np.divide(1, np.sqrt(root, root), root)
    np.multiply(x, root, y)
    np.multiply(y, gamma, y)
    np.copyto(rstd, root)


def _over_rows(request: KernelRequest, body: Body, lead: int, operations: int) -> Kernel:
    arity = len(request.inputs) + len(request.outputs)
    return prepared(request, quiet(_rows(request, body, lead), arity), operations * _size(request))


def _rows(request: KernelRequest, body: Body, lead: int, inputs: int | None = None) -> Body:
    """Return the body for half precision too, some rows at a time."""
    info = given(request, 0)
    wide = widened(body, info.dtype, len(request.inputs) if inputs is None else inputs)
    return by_rows(wide, info.shape, lead)


def _size(request: KernelRequest) -> int:
    return elements(given(request, 0))
