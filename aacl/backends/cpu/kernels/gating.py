"""Activations that cut an axis in halves, one of which gates the other; and their gradients.

GLU is ``first * sigmoid(second)`` (torch), SwiGlu ``silu(first) * second`` (the public page of aclnnSwiGlu),
GeGluV2 ``first * gelu(second)``, or ``gelu(first) * second`` with ``activate_left``; its approximate 1 is the tanh form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._gelu import gate, slope
from aacl.backends.cpu.kernels._logistic import sigmoid
from aacl.backends.cpu.kernels._precision import FLOATS, widened
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, elements, given, kernel, prepared, refuse_dtype
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()


@kernel("GLU")
def _glu(request: KernelRequest) -> Kernel:
    def body(x: Array, out: Array) -> None:
        first, second = _halves(request, x)
        np.multiply(first, sigmoid(second), out)

    return _gated(request, body)


@kernel("SwiGlu")
def _swiglu(request: KernelRequest) -> Kernel:
    def body(x: Array, out: Array) -> None:
        first, second = _halves(request, x)
        silu = sigmoid(first)
        np.multiply(silu, first, silu)
        np.multiply(silu, second, out)

    return _gated(request, body)


@kernel("GeGluV2")
def _geglu(request: KernelRequest) -> Kernel:
    """The second output is the activated half."""
    left, is_tanh = request.attributes["activate_left"], _is_tanh(request)

    def body(x: Array, out: Array, activated: Array) -> None:
        first, second = _halves(request, x)
        chosen, other = (first, second) if left else (second, first)
        gelu = np.multiply(chosen, gate(chosen, is_tanh))
        np.copyto(activated, gelu)
        np.multiply(gelu, other, out)

    return _gated(request, body)


@kernel("GLUGrad")
def _glu_grad(request: KernelRequest) -> Kernel:
    def body(dy: Array, x: Array, out: Array) -> None:
        first, second = _halves(request, x)
        to_first, to_second = _halves(request, out)
        opened = sigmoid(second)
        np.multiply(dy * first, opened * (1 - opened), to_second)
        np.multiply(dy, opened, to_first)

    return _gated(request, body)


@kernel("SwiGluGrad")
def _swiglu_grad(request: KernelRequest) -> Kernel:
    def body(dy: Array, x: Array, out: Array) -> None:
        first, second = _halves(request, x)
        to_first, to_second = _halves(request, out)
        opened = sigmoid(first)
        np.multiply(dy * second, opened * (1 + first * (1 - opened)), to_first)
        np.multiply(dy, first * opened, to_second)

    return _gated(request, body)


@kernel("GeGluGradV2")
def _geglu_grad(request: KernelRequest) -> Kernel:
    left, is_tanh = request.attributes["activate_left"], _is_tanh(request)

    def body(dy: Array, x: Array, gelu: Array, out: Array) -> None:
        halves, targets = _halves(request, x), _halves(request, out)
        chosen, other = halves if left else halves[::-1]
        to_chosen, to_other = targets if left else targets[::-1]
        np.multiply(dy * other, slope(chosen, is_tanh), to_chosen)
        np.multiply(dy, gelu, to_other)

    return _gated(request, body)


def _gated(request: KernelRequest, body: Body) -> Kernel:
    """Return the kernel of a body that computes in float32 at least; the output may not be an input."""
    if given(request, 0).dtype not in FLOATS:
        raise refuse_dtype(request, "FLOAT16, BF16, FLOAT and DOUBLE")
    count = len(request.inputs)
    run = quiet(widened(body, request.outputs[0].dtype, count), count + len(request.outputs))
    return prepared(request, run, 2 * TRANSCENDENTAL * elements(request.outputs[0]))


def _halves(request: KernelRequest, x: Array) -> tuple[Array, Array]:
    """Return the two halves of an array along ``dim``, as views."""
    axis = request.attributes["dim"]
    middle = x.shape[axis] // 2
    front = (slice(None),) * (axis % x.ndim)
    return x[(*front, slice(middle))], x[(*front, slice(middle, None))]


def _is_tanh(request: KernelRequest) -> bool:
    number = request.attributes["approximate"]
    if number not in (0, 1):
        raise InvalidArgument(f"operator {request.op_type}: approximate is {number}; it is 0 (erf) or 1 (tanh)")
    return bool(number)
