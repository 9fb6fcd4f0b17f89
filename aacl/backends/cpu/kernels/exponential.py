"""Powers, roots, exponentials and logarithms.

An integer to a negative power is truncated toward zero; 0 to a negative power is 0 (our choice).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._blocks import stepwise
from aacl.backends.cpu.kernels._precision import INTEGERS
from aacl.backends.cpu.kernels._registry import TRANSCENDENTAL, given, kernel
from aacl.backends.cpu.kernels._ufunc import promoting, with_ufunc
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ("integer_power",)


@kernel("Pow")
def _pow(request: KernelRequest) -> Kernel:
    if request.outputs[0].dtype in INTEGERS:
        return stepwise(request, integer_power, 2 * TRANSCENDENTAL)
    return promoting(request, np.power, 2 * TRANSCENDENTAL)


def integer_power(x1: Array, x2: Array, out: Array) -> None:
    """Write integers to the power of integers, which may be negative."""
    x1, x2 = x1.astype(out.dtype, copy=False), x2.astype(out.dtype, copy=False)
    negative = x2 < 0
    if not negative.any():
        np.power(x1, x2, out)
        return
    inverse = np.where(x1 == 1, 1, np.where(x1 == -1, 1 - 2 * (x2 % 2), 0))
    np.copyto(out, np.where(negative, inverse, np.power(x1, np.where(negative, 0, x2))), casting="unsafe")


@kernel("Reciprocal")
def _reciprocal(request: KernelRequest) -> Kernel:
    return with_ufunc(request, np.reciprocal, 3)


@kernel("Rsqrt")
def _rsqrt(request: KernelRequest) -> Kernel:
    def body(x: Array, out: Array) -> None:
        np.sqrt(x, out)
        np.reciprocal(out, out)

    return stepwise(request, body, 6)


@kernel("Exp")
def _exp(request: KernelRequest) -> Kernel:
    """``base ** (shift + scale * x)``; base -1 means e."""
    factor, scale, shift = _caffe(request)
    if (factor, scale, shift) == (1.0, 1.0, 0.0):
        return with_ufunc(request, np.exp, TRANSCENDENTAL)

    def body(x: Array, out: Array) -> None:
        np.multiply(x, scale * factor, out)
        np.add(out, shift * factor, out)
        np.exp(out, out)

    return stepwise(request, body, TRANSCENDENTAL + 2)


@kernel("Log")
def _log(request: KernelRequest) -> Kernel:
    """``log_base(shift + scale * x)``; base -1 means e; integers give float32."""
    factor, scale, shift = _caffe(request)
    source, result = given(request, 0).dtype, request.outputs[0].dtype
    if source == result and (factor, scale, shift) == (1.0, 1.0, 0.0):
        return with_ufunc(request, np.log, TRANSCENDENTAL)

    def body(x: Array, out: Array) -> None:
        np.multiply(x, scale, out, casting="unsafe")
        np.add(out, shift, out)
        np.log(out, out)
        np.multiply(out, 1 / factor, out)

    return stepwise(request, body, (TRANSCENDENTAL + 3))


def _caffe(request: KernelRequest) -> tuple[float, float, float]:
    """Return the logarithm of the base, the scale and the shift.

    Raises:
        InvalidArgument: the base is neither -1 nor a positive number other than 1.
    """
    base, scale, shift = (float(request.attributes[name]) for name in ("base", "scale", "shift"))
    if base != -1.0 and (base <= 0.0 or base == 1.0):
        raise InvalidArgument(f"operator {request.op_type}: base is {base}; it is -1 for e, or positive and not 1")
    return 1.0 if base == -1.0 else math.log(base), scale, shift
