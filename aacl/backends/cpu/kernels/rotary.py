"""Rotary position embedding: ``x cos + rotated(x) sin``.

How the last axis is rotated: in halves ``(-x2, x1)``, in neighbours ``(-x1, x0, -x3, x2, ...)``, in quarters
``(-x2, x1, -x4, x3)``; the documentation of aclnnRotaryPositionEmbedding numbers them 0, 1 and 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared
from aacl.backends.cpu.kernels._terms import wide
from aacl.errors import NotSupported

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()


@kernel("RotaryMul", "RotaryPositionEmbedding")
def _rotary(request: KernelRequest) -> Kernel:
    """One tensor."""
    mode = _mode(request)

    def body(x: Array, cos: Array, sin: Array, out: Array) -> None:
        _store(_turned(wide(x), wide(cos), wide(sin), mode), out)

    return prepared(request, quiet(body, 4), 4 * elements(request.outputs[0]))


@kernel("ApplyRotaryPosEmb")
def _rotary_pair(request: KernelRequest) -> Kernel:
    """Queries and keys, in halves; outputs are named like the inputs that they may replace."""

    def body(query: Array, key: Array, cos: Array, sin: Array, turned_query: Array, turned_key: Array) -> None:
        factors = wide(cos), wide(sin)
        for x, out in ((query, turned_query), (key, turned_key)):
            _store(_turned(wide(x), *factors, 0), out)

    return prepared(request, quiet(body, 6), 4 * sum(map(elements, request.outputs)))


@kernel("RotaryMulGrad", "RotaryPositionEmbeddingGrad")
def _rotary_gradient(request: KernelRequest) -> Kernel:
    """The gradients of x, cos and sin; those of the factors are summed where they were broadcast.

    They are 0 where they are not asked for: with ``need_backward`` false, or without ``x``.
    """
    mode, is_new = _mode(request), request.op_type == "RotaryPositionEmbeddingGrad"

    def body(*arrays: Any) -> None:
        dx, dcos, dsin = arrays[-3:]
        dy, cos, sin, x = (*arrays[:-3], None)[:4] if is_new else (arrays[3], arrays[1], arrays[2], arrays[0])
        slope = wide(dy)
        _store(slope * wide(cos) + _turned_back(slope * wide(sin), mode), dx)
        if x is None or not request.attributes.get("need_backward", True):
            dcos.fill(0)
            dsin.fill(0)
            return
        values = wide(x)
        _store(_summed(slope * values, dcos.shape), dcos)
        _store(_summed(slope * _rotated(values, mode), dsin.shape), dsin)

    work = 10 * elements(given(request, 0))
    return prepared(request, quiet(body, len(request.inputs) + 3), work)


def _mode(request: KernelRequest) -> int:
    mode: int = request.attributes.get("mode", 0)
    if mode not in (0, 1, 2):
        raise NotSupported(f"operator {request.op_type}: mode is {mode}; this device knows 0, 1 and 2")
    return mode


def _turned(x: Array, cos: Array, sin: Array, mode: int) -> Array:
    found: Array = x * cos + _rotated(x, mode) * sin
    return found


def _rotated(x: Array, mode: int) -> Array:
    """Return the last axis rotated."""
    pairs, found = _pairs(x, mode), np.empty(x.shape, x.dtype)
    target = _pairs(found, mode)
    np.negative(pairs[..., 1, :], target[..., 0, :])
    target[..., 1, :] = pairs[..., 0, :]
    return found


def _turned_back(x: Array, mode: int) -> Array:
    """Return the transpose of the rotation applied."""
    return -_rotated(x, mode)


def _pairs(x: Array, mode: int) -> Array:
    """Return a view in which partners lie along the last axis but one."""
    lead, size = x.shape[:-1], x.shape[-1]
    if mode == 1:
        return x.reshape(*lead, size // 2, 2).swapaxes(-1, -2)
    blocks = 1 if mode == 0 else 2
    return x.reshape(*lead, blocks, 2, size // 2 // blocks)


def _summed(x: Array, shape: tuple[int, ...]) -> Array:
    """Sum over the axes that were broadcast."""
    wanted = (1,) * (x.ndim - len(shape)) + shape
    axes = tuple(axis for axis, size in enumerate(wanted) if size == 1 and x.shape[axis] != 1)
    found: Array = x.sum(axes, keepdims=True).reshape(shape)
    return found


def _store(found: Array, out: Array) -> None:
    np.copyto(out, found, casting="same_kind")
