"""Activations.

Gelu is the exact form, as GeluV2's default is; FastGelu is ``x * sigmoid(1.702 * x)``.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._blocks import stepwise
from aacl.backends.cpu.kernels._erf import erf
from aacl.backends.cpu.kernels._precision import FLOATS
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, elements, given, kernel, prepared, refuse_dtype
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()

_HALF = math.sqrt(0.5)


def _unary(request: KernelRequest, body: Body, operations: int) -> Kernel:
    """Return the kernel of one float input, computed in float32 at least."""
    if given(request, 0).dtype not in FLOATS:
        raise refuse_dtype(request, "FLOAT16, BF16, FLOAT and DOUBLE")
    return stepwise(request, body, operations)


@kernel("Relu")
def _relu(request: KernelRequest) -> Kernel:
    zero = np.zeros((), given(request, 0).dtype.numpy_dtype)

    def body(x: Array, out: Array) -> None:
        np.maximum(x, zero, out=out)

    return prepared(request, body, in_place=True)


@kernel("Relu6")
def _relu6(request: KernelRequest) -> Kernel:
    dtype = given(request, 0).dtype.numpy_dtype
    zero, six = np.zeros((), dtype), np.asarray(6).astype(dtype)

    def body(x: Array, out: Array) -> None:
        np.maximum(x, zero, out=out)
        np.minimum(out, six, out=out)

    return prepared(request, body, elements(request.outputs[0]), in_place=True)


@kernel("LeakyRelu")
def _leaky_relu(request: KernelRequest) -> Kernel:
    slope = request.attributes["negative_slope"]

    def body(x: Array, out: Array) -> None:
        np.copyto(out, np.where(x > 0, x, x * slope))

    return _unary(request, body, 2)


@kernel("Sigmoid")
def _sigmoid(request: KernelRequest) -> Kernel:
    if given(request, 0).dtype in (DataType.COMPLEX64, DataType.COMPLEX128):
        return stepwise(request, _logistic, 4 * TRANSCENDENTAL)
    return _unary(request, _logistic, TRANSCENDENTAL + 4)


def _logistic(x: Array, out: Array) -> None:
    np.negative(x, out)
    np.exp(out, out)
    np.add(out, 1, out)
    np.reciprocal(out, out)


@kernel("Softplus")
def _softplus(request: KernelRequest) -> Kernel:
    """``log(1 + e^x)``, without overflow."""
    return _unary(request, functools.partial(np.logaddexp, 0), 3 * TRANSCENDENTAL)


@kernel("Softsign")
def _softsign(request: KernelRequest) -> Kernel:
    def body(x: Array, out: Array) -> None:
        np.divide(x, np.abs(x) + 1, out)

    return _unary(request, body, 5)


@kernel("LogSigmoid")
def _log_sigmoid(request: KernelRequest) -> Kernel:
    def body(x: Array, out: Array) -> None:
        np.negative(x, out)
        np.logaddexp(0, out, out)
        np.negative(out, out)

    return _unary(request, body, 3 * TRANSCENDENTAL)


@kernel("Mish")
def _mish(request: KernelRequest) -> Kernel:
    """``x * tanh(softplus(x))``."""

    def body(x: Array, out: Array) -> None:
        np.multiply(x, np.tanh(np.logaddexp(0, x)), out)

    return _unary(request, body, 4 * TRANSCENDENTAL)


@kernel("Swish")
def _swish(request: KernelRequest) -> Kernel:
    """``x * sigmoid(scale * x)``."""
    return _unary(request, _gated(request.attributes["scale"]), TRANSCENDENTAL + 5)


@kernel("FastGelu")
def _fast_gelu(request: KernelRequest) -> Kernel:
    return _unary(request, _gated(1.702), TRANSCENDENTAL + 5)


def _gated(scale: float) -> Body:
    """Return a body for ``x / (1 + e^(-scale * x))``."""

    def body(x: Array, out: Array) -> None:
        gate = np.multiply(x, -scale, np.empty_like(x))  # an array for a 0-d input too
        np.exp(gate, gate)
        np.add(gate, 1, gate)
        np.divide(x, gate, out)

    return body


@kernel("HardSwish")
def _hard_swish(request: KernelRequest) -> Kernel:
    """``x * relu6(x + 3) / 6``."""

    def body(x: Array, out: Array) -> None:
        np.multiply(x, np.minimum(np.maximum(x + 3, 0), 6) / 6, out)

    return _unary(request, body, 5)


@kernel("HardSigmoid")
def _hard_sigmoid(request: KernelRequest) -> Kernel:
    """``clip(alpha * x + beta, 0, 1)``."""
    alpha, beta = request.attributes["alpha"], request.attributes["beta"]

    def body(x: Array, out: Array) -> None:
        np.copyto(out, np.minimum(np.maximum(x * alpha + beta, 0), 1), casting="unsafe")

    return _unary(request, body, 4)


@kernel("Elu")
def _elu(request: KernelRequest) -> Kernel:
    """``scale * x`` above 0, else ``alpha * scale * (e^(input_scale * x) - 1)``."""
    alpha, scale, inner = (request.attributes[name] for name in ("alpha", "scale", "input_scale"))

    def body(x: Array, out: Array) -> None:
        np.copyto(out, np.where(x > 0, scale * x, alpha * scale * np.expm1(inner * x)))

    return _unary(request, body, TRANSCENDENTAL + 5)


@kernel("Erf")
def _erf(request: KernelRequest) -> Kernel:
    return _unary(request, erf, 3 * TRANSCENDENTAL)


@kernel("Gelu", "GeluV2")
def _gelu(request: KernelRequest) -> Kernel:
    """``x * Phi(x)``; GeluV2 may ask for the tanh form."""
    form = request.attributes.get("approximate", "none")
    if form not in ("none", "tanh"):
        raise InvalidArgument(f"operator {request.op_type}: approximate is {form!r}; it is 'none' or 'tanh'")
    return _unary(request, _gelu_tanh if form == "tanh" else _gelu_erf, 4 * TRANSCENDENTAL)


def _gelu_erf(x: Array, out: Array) -> None:
    phi = np.multiply(x, _HALF, np.empty_like(x))
    erf(phi, phi)
    np.add(phi, 1, phi)
    np.multiply(phi, 0.5, phi)
    np.multiply(x, phi, out)


def _gelu_tanh(x: Array, out: Array) -> None:
    inner = np.multiply(x, x, np.empty_like(x))
    np.multiply(inner, 0.044715, inner)
    np.add(inner, 1, inner)
    np.multiply(inner, x, inner)
    np.multiply(inner, math.sqrt(2 / math.pi), inner)
    np.tanh(inner, inner)
    np.add(inner, 1, inner)
    np.multiply(inner, 0.5, inner)
    np.multiply(x, inner, out)
