"""Arithmetic element by element.

Where a NumPy ufunc is the operator, the body is that ufunc. Integers wrap around. Where the bounds of
ClipByValue cross, the lower one wins.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._blocks import stepwise
from aacl.backends.cpu.kernels._precision import FLOATS, HALVES, INTEGERS
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import (
    TRANSCENDENTAL,
    elements,
    given,
    kernel,
    prepared,
)
from aacl.backends.cpu.kernels._ufunc import promoting, with_ufunc

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()

# Operator: its ufunc, and the operations an element beyond the first.
_UFUNCS: dict[str, tuple[np.ufunc, int]] = {
    "Add": (np.add, 0),
    "AddV2": (np.add, 0),
    "Sub": (np.subtract, 0),
    "Maximum": (np.maximum, 0),
    "Minimum": (np.minimum, 0),
    "Mod": (np.fmod, 8),
    "TruncateMod": (np.fmod, 8),
    "Atan2": (np.arctan2, 2 * TRANSCENDENTAL),
    "BitwiseAnd": (np.bitwise_and, 0),
    "BitwiseOr": (np.bitwise_or, 0),
    "BitwiseXor": (np.bitwise_xor, 0),
    "Invert": (np.invert, 0),
    "Abs": (np.absolute, 0),
    "Neg": (np.negative, 0),
    "Sign": (np.sign, 0),
    "Floor": (np.floor, 0),
    "Ceil": (np.ceil, 0),
    "Trunc": (np.trunc, 0),
    "Rint": (np.rint, 0),
    "Sqrt": (np.sqrt, 4),
    "Square": (np.square, 0),
    "Expm1": (np.expm1, TRANSCENDENTAL),
    "Log1p": (np.log1p, TRANSCENDENTAL),
    "Sin": (np.sin, TRANSCENDENTAL),
    "Cos": (np.cos, TRANSCENDENTAL),
    "Tan": (np.tan, TRANSCENDENTAL),
    "Asin": (np.arcsin, TRANSCENDENTAL),
    "Acos": (np.arccos, TRANSCENDENTAL),
    "Atan": (np.arctan, TRANSCENDENTAL),
    "Sinh": (np.sinh, TRANSCENDENTAL),
    "Cosh": (np.cosh, TRANSCENDENTAL),
    "Asinh": (np.arcsinh, TRANSCENDENTAL),
    "Acosh": (np.arccosh, TRANSCENDENTAL),
    "Atanh": (np.arctanh, TRANSCENDENTAL),
    "Tanh": (np.tanh, TRANSCENDENTAL),
}


@kernel(*_UFUNCS)
def _plain(request: KernelRequest) -> Kernel:
    return with_ufunc(request, *_UFUNCS[request.op_type])


@kernel("Mul")
def _mul(request: KernelRequest) -> Kernel:
    return promoting(request, np.multiply)


@kernel("MulNoNan")
def _mul_no_nan(request: KernelRequest) -> Kernel:
    """0 where the second factor is 0, even for an infinite or NaN first one."""

    def body(x1: Array, x2: Array, out: Array) -> None:
        zero = np.equal(x2, 0)
        np.multiply(x1, x2, out)
        np.copyto(out, 0, where=zero)

    return stepwise(request, body, 1)


@kernel("SquaredDifference")
def _squared_difference(request: KernelRequest) -> Kernel:
    """Return the kernel of ``(x1 - x2)^2``; of complex numbers the difference times its conjugate (TensorFlow)."""
    is_complex = given(request, 0).dtype.numpy_dtype.kind == "c"

    def body(x1: Array, x2: Array, out: Array) -> None:
        np.subtract(x1, x2, out)
        np.multiply(out, np.conjugate(out) if is_complex else out, out)

    return stepwise(request, body, 1)


@kernel("Adds", "Muls")
def _with_scalar(request: KernelRequest) -> Kernel:
    """One float32 attribute; integers compute exactly where it is whole, else in float64, truncated."""
    info, value = given(request, 0), np.float32(request.attributes["value"])
    ufunc = np.add if request.op_type == "Adds" else np.multiply
    constant = value.astype(info.dtype.numpy_dtype)
    if info.dtype in INTEGERS:
        if not np.isfinite(value) or constant != value:
            return stepwise(request, functools.partial(_in_double, ufunc, float(value)), 3)
        return prepared(request, functools.partial(ufunc, constant), in_place=True)
    if info.dtype in HALVES and np.float32(constant) != value:
        return stepwise(request, functools.partial(ufunc, value), 2)
    return prepared(request, quiet(functools.partial(ufunc, constant), 2), in_place=True)


def _in_double(ufunc: np.ufunc, value: float, x: Array, out: Array) -> None:
    np.copyto(out, ufunc(x.astype(np.float64), value), casting="unsafe")


@kernel("Axpy")
def _axpy(request: KernelRequest) -> Kernel:
    """``x1 + alpha * x2``."""
    alpha = float(np.float32(request.attributes["alpha"]))

    def body(x1: Array, x2: Array, out: Array) -> None:
        np.add(x1, np.multiply(x2, alpha), out, casting="unsafe")

    return stepwise(request, body, 1)


@kernel("AddN", "AccumulateNV2")
def _add_n(request: KernelRequest) -> Kernel:
    count = len(request.inputs)

    def body(*arrays: Array) -> None:
        *inputs, out = arrays
        if count == 1:
            np.copyto(out, inputs[0])
            return
        # The sum so far stays apart from the output, which may be one of the later inputs.
        total = inputs[0] if count == 2 else np.add(inputs[0], inputs[1], np.empty_like(out))
        for array in inputs[2:-1]:
            np.add(total, array, total)
        np.add(total, inputs[-1], out)

    return stepwise(request, body, count - 1)


@kernel("Round")
def _round(request: KernelRequest) -> Kernel:
    """Half to even, at ``decimals`` places."""
    decimals, dtype = request.attributes["decimals"], given(request, 0).dtype
    if not decimals and dtype in FLOATS:
        return with_ufunc(request, np.rint)
    if dtype in INTEGERS:
        return prepared(request, functools.partial(_round_integers, decimals), 6 * elements(request.outputs[0]))

    return stepwise(request, functools.partial(_round_floats, decimals), 4)


def _round_floats(decimals: int, x: Array, out: Array) -> None:
    most = np.finfo(x.dtype)
    if decimals > most.precision - most.minexp * 0.302:  # the smallest number rounds to itself: 0.302 > log10(2)
        np.copyto(out, x)
    elif decimals < -most.maxexp * 0.3009:  # the largest number is less than half a unit: 0.3009 < log10(2)
        np.copyto(out, np.where(np.isfinite(x), np.copysign(0, x), x), casting="same_kind")
    else:  # a number that is too large to be counted in units is a multiple of them
        found = np.round(x if abs(decimals) < most.maxexp * 0.1 else x.astype(np.float64), min(decimals, 308))
        np.copyto(out, np.where(np.isfinite(found), found, x), casting="same_kind")


def _round_integers(decimals: int, x: Array, out: Array) -> None:
    unit = 10 ** min(max(-decimals, 0), 20)  # 20 digits are more than any integer type holds
    if unit > np.iinfo(x.dtype).max:  # nothing is as large as half a unit, or it rounds to more than fits
        out[...] = 0
    elif unit == 1:
        np.copyto(out, x)
    else:
        whole, rest = np.divmod(x, unit)
        half = unit // 2
        np.multiply(whole + ((rest > half) | ((rest == half) & (whole % 2 == 1))), unit, out)


@kernel("ClipByValue", "ClipByValueV2")
def _clip(request: KernelRequest) -> Kernel:
    """The upper bound first, so that the lower one wins where they cross."""

    def body(x: Array, low: Array, high: Array, out: Array) -> None:
        low, high = (bound.reshape(()) if bound.size == 1 else bound for bound in (low, high))
        if not low.ndim and not high.ndim and low <= high:
            np.clip(x, low, high, out)  # the same where they do not cross, and several times as quick
            return
        # A bound of the output's shape may be the output itself.
        below = np.minimum(x, high) if low.shape == out.shape else np.minimum(x, high, out=out)
        np.maximum(below, low, out=out)

    return stepwise(request, body, 1)
