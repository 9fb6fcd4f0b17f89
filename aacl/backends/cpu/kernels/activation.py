"""Activations.

Gelu is the exact form, as GeluV2's default is; FastGelu is ``x * sigmoid(1.702 * x)``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._blocks import stepwise
from aacl.backends.cpu.kernels._erf import erf
from aacl.backends.cpu.kernels._exponentials import negative_expm1, softplus
from aacl.backends.cpu.kernels._gelu import gate
from aacl.backends.cpu.kernels._limits import limited
from aacl.backends.cpu.kernels._logistic import sigmoid
from aacl.backends.cpu.kernels._masks import select
from aacl.backends.cpu.kernels._precision import FLOATS, HALVES, compute_dtype
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, elements, given, kernel, prepared, refuse_dtype
from aacl.backends.cpu.kernels._split import spread
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ("SELU_ALPHA", "SELU_SCALE")


def _unary(request: KernelRequest, body: Body, operations: int) -> Kernel:
    """Return the kernel of one float input, computed in float32 at least."""
    if given(request, 0).dtype not in FLOATS:
        raise refuse_dtype(request, "FLOAT16, BF16, FLOAT and DOUBLE")
    return stepwise(request, body, operations)


@kernel("Relu")
def _relu(request: KernelRequest) -> Kernel:
    info = given(request, 0)
    body = limited(np.maximum, 0, compute_dtype(info.dtype), elements(info))
    if info.dtype in HALVES:
        return stepwise(request, body)
    return prepared(request, spread(request, body), in_place=True)


@kernel("Relu6")
def _relu6(request: KernelRequest) -> Kernel:
    info = given(request, 0)
    above, below = (
        limited(ufunc, number, compute_dtype(info.dtype), elements(info))
        for ufunc, number in ((np.maximum, 0), (np.minimum, 6))
    )

    def body(x: Array, out: Array) -> None:
        above(x, out)
        below(out, out)

    return stepwise(request, body, 1)


@kernel("LeakyRelu")
def _leaky_relu(request: KernelRequest) -> Kernel:
    slope = request.attributes["negative_slope"]
    # Of x and its product the right one is the greater; the smaller of a slope above 1. Not of 0: it times infinity is NaN.
    choose = np.maximum if slope <= 1 else np.minimum

    def body(x: Array, out: Array) -> None:
        below = np.multiply(x, slope, np.empty_like(x))  # an array for a 0-d input too
        if slope == 0:
            select(np.asarray(x > 0), x, below, out)
        else:
            choose(x, below, out=out)

    return _unary(request, body, 2)


@kernel("Sigmoid")
def _sigmoid(request: KernelRequest) -> Kernel:
    if given(request, 0).dtype in (DataType.COMPLEX64, DataType.COMPLEX128):
        return stepwise(request, sigmoid, 4 * TRANSCENDENTAL)
    return _unary(request, sigmoid, TRANSCENDENTAL + 4)


@kernel("Softplus", "BNLL")
def _softplus(request: KernelRequest) -> Kernel:
    """``log(1 + e^x)``, without overflow."""
    return _unary(request, softplus, 3 * TRANSCENDENTAL)


@kernel("Softsign")
def _softsign(request: KernelRequest) -> Kernel:
    def body(x: Array, out: Array) -> None:
        np.divide(x, np.abs(x) + 1, out)

    return _unary(request, body, 5)


@kernel("LogSigmoid")
def _log_sigmoid(request: KernelRequest) -> Kernel:
    def body(x: Array, out: Array) -> None:
        np.negative(x, out)
        softplus(out, out)
        np.negative(out, out)

    return _unary(request, body, 3 * TRANSCENDENTAL)


@kernel("Mish")
def _mish(request: KernelRequest) -> Kernel:
    """``x * tanh(softplus(x))``."""

    def body(x: Array, out: Array) -> None:
        np.multiply(x, np.tanh(softplus(x)), out)

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


@kernel("HardSwish", "Hardswish")
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

    def quick(x: Array, out: Array) -> None:
        below = negative_expm1(np.multiply(np.minimum(x, 0), inner))
        np.multiply(below, alpha * scale, below)
        np.maximum(x, 0, out=out)
        np.multiply(out, scale, out)
        np.add(out, below, out)

    # Each half adds 0 to the other one where no factor makes something else of 0.
    is_plain = inner >= 0 and all(map(math.isfinite, (alpha * scale, scale, inner)))
    return _unary(request, quick if is_plain else body, TRANSCENDENTAL + 5)


@kernel("Erf")
def _erf(request: KernelRequest) -> Kernel:
    return _unary(request, erf, 3 * TRANSCENDENTAL)


@kernel("Gelu", "GeluV2")
def _gelu(request: KernelRequest) -> Kernel:
    """``x * Phi(x)``; GeluV2 may ask for the tanh form."""
    form = request.attributes.get("approximate", "none")
    if form not in ("none", "tanh"):
        raise InvalidArgument(f"operator {request.op_type}: approximate is {form!r}; it is 'none' or 'tanh'")
    is_tanh = form == "tanh"

    def body(x: Array, out: Array) -> None:
        np.multiply(x, gate(x, is_tanh), out)

    return _unary(request, body, 4 * TRANSCENDENTAL)


@kernel("Celu", "CeluV2")
def _celu(request: KernelRequest) -> Kernel:
    """``alpha3 * x`` from 0 on, else ``alpha1 * (e^(x / alpha2) - 1)``; CeluV2 has one alpha for both and slope 1.

    Raises:
        InvalidArgument: the divisor of x is 0.
    """
    names = ("alpha", "alpha") if request.op_type == "CeluV2" else ("alpha1", "alpha2")
    height, width = (float(request.attributes[name]) for name in names)
    slope = float(request.attributes.get("alpha3", 1.0))
    if width == 0:
        raise InvalidArgument(f"operator {request.op_type}: {names[1]} is 0; x is divided by it")

    def body(x: Array, out: Array) -> None:
        np.copyto(out, np.where(x >= 0, slope * x, height * np.expm1(x / width)))

    return _unary(request, body, TRANSCENDENTAL + 5)


SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


@kernel("Selu")
def _selu(request: KernelRequest) -> Kernel:
    """``scale * x`` above 0, else ``scale * alpha * (e^x - 1)``; integers compute in float32 and are truncated."""

    def body(x: Array, out: Array) -> None:
        wide = x.astype(np.float32) if x.dtype.kind == "i" else x
        below = (SELU_SCALE * SELU_ALPHA) * np.expm1(wide)
        np.copyto(out, np.where(wide > 0, SELU_SCALE * wide, below), casting="unsafe")

    return stepwise(request, body, TRANSCENDENTAL + 5)


@kernel("SoftplusV2")
def _softplus_beta(request: KernelRequest) -> Kernel:
    """``log(1 + e^(beta * x)) / beta``, and x itself where ``beta * x > threshold`` (torch).

    Raises:
        InvalidArgument: beta is 0.
    """
    beta, threshold = float(request.attributes["beta"]), float(request.attributes["threshold"])
    if beta == 0:
        raise InvalidArgument("operator SoftplusV2: beta is 0; the result is divided by it")

    def body(x: Array, out: Array) -> None:
        scaled = np.multiply(x, beta)
        np.copyto(out, np.where(scaled > threshold, x, softplus(scaled) / beta))

    return _unary(request, body, 3 * TRANSCENDENTAL)


@kernel("FastGeluV2")
def _fast_gelu_parabola(request: KernelRequest) -> Kernel:
    """``x * (sgn(x) * (-0.0722 * (min(|x|, 1.769) - 1.769)^2 + 0.5) + 0.5)``, where sgn(0) is 1."""

    def body(x: Array, out: Array) -> None:
        bent = np.subtract(np.minimum(np.abs(x), 1.769), 1.769)
        half = np.add(np.multiply(np.square(bent), -0.0722), 0.5)
        np.multiply(x, np.add(np.where(x < 0, -half, half), 0.5), out)

    return _unary(request, body, 10)
