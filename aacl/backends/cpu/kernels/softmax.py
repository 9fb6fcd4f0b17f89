"""Softmax and its logarithm, over one or several axes."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._graphs import graph_body, node
from aacl.backends.cpu.kernels._precision import FLOATS, widened
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, elements, given, kernel, prepared
from aacl.backends.cpu.kernels._sums import summed
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()

_MANY = 1 << 15
"""Elements from which ONNX Runtime's call costs less than it saves."""


@kernel("SoftmaxV2")
def _softmax_v2(request: KernelRequest) -> Kernel:
    return _softmax_over(request, request.attributes["axes"], _softmax)


@kernel("Softmax")
def _softmax_old(request: KernelRequest) -> Kernel:
    return _softmax_over(request, request.attributes["axis"], _softmax)


@kernel("LogSoftmaxV2")
def _log_softmax_v2(request: KernelRequest) -> Kernel:
    return _softmax_over(request, request.attributes["axes"], _log_softmax)


@kernel("LogSoftmax")
def _log_softmax_old(request: KernelRequest) -> Kernel:
    return _softmax_over(request, request.attributes["axis"], _log_softmax)


def _softmax_over(request: KernelRequest, axes: tuple[int, ...], body: Body) -> Kernel:
    """Several axes are normalised jointly."""
    rank = len(given(request, 0).shape)
    if not axes or any(not -max(rank, 1) <= axis < max(rank, 1) for axis in axes):
        raise InvalidArgument(
            f"operator {request.op_type}: axes {tuple(axes)} do not fit input shape {given(request, 0).shape}"
        )
    places = tuple({axis % rank for axis in axes}) if rank else ()
    if len(places) == 1 and elements(request.outputs[0]) >= _MANY and request.outputs[0].dtype in FLOATS:
        return _graph(request, body, places[0])
    wide = widened(functools.partial(body, places), given(request, 0).dtype, 1)
    operations = (TRANSCENDENTAL + 5) * elements(request.outputs[0])
    return prepared(request, quiet(wide, 2), operations, in_place=True)


def _graph(request: KernelRequest, body: Body, axis: int) -> Kernel:
    """Return ONNX Runtime's kernel, which goes over the elements once where NumPy goes five times."""
    operations = (TRANSCENDENTAL + 5) * elements(request.outputs[0])
    name = "Softmax" if body is _softmax else "LogSoftmax"
    return prepared(request, graph_body(request, [node(name, "x0", "y0", axis=axis)], operations), operations)


def _softmax(axes: tuple[int, ...], x: Array, out: Array) -> None:
    if not x.size:
        return
    np.subtract(x, np.maximum.reduce(x, axes, keepdims=True), out)
    np.exp(out, out)
    np.divide(out, summed(out, axes, keepdims=True), out)


def _log_softmax(axes: tuple[int, ...], x: Array, out: Array) -> None:
    if not x.size:
        return
    np.subtract(x, np.maximum.reduce(x, axes, keepdims=True), out)
    np.subtract(out, np.log(summed(np.exp(out), axes, keepdims=True)), out)
