"""Arithmetic element by element.

Where a NumPy ufunc is the operator, the body is that ufunc. Choices where the public documentation is
silent: integers wrap around; an integer divided by zero gives 0, and FloorMod by zero its first input;
integers divide toward zero in Div, RealDiv and DivNoNan; an integer to a negative power is truncated
toward zero, 0 to a negative power is 0; a bound that is crossed by the other makes ClipByValue
give the lower one.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels._extremes import maximum, minimum
from aacl.backends.cpu.kernels._precision import FLOATS, HALVES, INTEGERS, widened
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import (
    TRANSCENDENTAL,
    elements,
    given,
    kernel,
    prepared,
    refuse_dtype,
)
from aacl.dtypes import DataType

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ("with_ufunc",)

# Operator: its ufunc, and the operations an element beyond the first.
_UFUNCS: dict[str, tuple[np.ufunc, int]] = {
    "Add": (np.add, 0),
    "AddV2": (np.add, 0),
    "Sub": (np.subtract, 0),
    "Maximum": (np.maximum, 0),
    "Minimum": (np.minimum, 0),
    "FloorDiv": (np.floor_divide, 4),
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
_CANNOT_WARN = frozenset({np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.logical_and, np.logical_or,
                          np.logical_not})  # fmt: skip
_WRAPS_SILENTLY = frozenset({np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.absolute, np.negative,
                             np.square, np.sign, np.floor, np.ceil, np.trunc})  # fmt: skip


def with_ufunc(request: KernelRequest, ufunc: np.ufunc, operations: int = 0) -> Kernel:
    """Return the kernel that is one ufunc, computing in the request's own dtypes.

    Raises:
        UnsupportedDataType: the ufunc has no loop for exactly these dtypes.
    """
    tensors = [info for info in (*request.inputs, *request.outputs) if info is not None]
    dtypes = tuple(info.dtype.numpy_dtype for info in tensors)
    try:
        is_exact = ufunc.resolve_dtypes(dtypes) == dtypes
    except TypeError:
        is_exact = False
    if not is_exact:
        raise refuse_dtype(request, "one real dtype throughout")
    return prepared(request, _silenced(ufunc, request), operations * elements(request.outputs[0]))


_OUTPUT_THIRD: dict[np.ufunc, Body] = {np.maximum: maximum, np.minimum: minimum}


def _silenced(ufunc: np.ufunc, request: KernelRequest) -> Body:
    """Return the ufunc as it is where it cannot warn: for integers, mostly."""
    body = _OUTPUT_THIRD.get(ufunc, ufunc)
    is_silent = ufunc in _CANNOT_WARN or (
        ufunc in _WRAPS_SILENTLY and all(i.dtype in INTEGERS or i.dtype is DataType.BOOL for i in request.inputs if i)
    )
    return body if is_silent else quiet(body, ufunc.nin + 1)


@kernel(*_UFUNCS)
def _plain(request: KernelRequest) -> Kernel:
    return with_ufunc(request, *_UFUNCS[request.op_type])


@kernel("Mul")
def _mul(request: KernelRequest) -> Kernel:
    return _promoting(request, np.multiply)


@kernel("Pow")
def _pow(request: KernelRequest) -> Kernel:
    if request.outputs[0].dtype in INTEGERS:
        return prepared(request, quiet(_integer_power, 3), 2 * TRANSCENDENTAL * elements(request.outputs[0]))
    return _promoting(request, np.power, 2 * TRANSCENDENTAL)


def _promoting(request: KernelRequest, ufunc: np.ufunc, operations: int = 0) -> Kernel:
    """Return a kernel that first converts both inputs to the output's dtype where they differ."""
    dtype = request.outputs[0].dtype
    if all(info is not None and info.dtype == dtype for info in request.inputs):
        return with_ufunc(request, ufunc, operations)
    target = dtype.numpy_dtype

    def body(x1: Array, x2: Array, out: Array) -> None:
        ufunc(x1.astype(target, copy=False), x2.astype(target, copy=False), out)

    return prepared(request, quiet(body, 3), (operations + 2) * elements(request.outputs[0]))


def _integer_power(x1: Array, x2: Array, out: Array) -> None:
    x1, x2 = x1.astype(out.dtype, copy=False), x2.astype(out.dtype, copy=False)
    negative = x2 < 0
    if not negative.any():
        np.power(x1, x2, out)
        return
    inverse = np.where(x1 == 1, 1, np.where(x1 == -1, 1 - 2 * (x2 % 2), 0))
    np.copyto(out, np.where(negative, inverse, np.power(x1, np.where(negative, 0, x2))), casting="unsafe")


@kernel("Div", "RealDiv")
def _div(request: KernelRequest) -> Kernel:
    dtype = given(request, 0).dtype
    if dtype in INTEGERS:
        return _truncating(request)
    if dtype is DataType.BOOL and request.outputs[0].dtype is DataType.FLOAT:
        body = functools.partial(np.divide, dtype=np.float32, casting="unsafe")
        return prepared(request, quiet(body, 3), 3 * elements(request.outputs[0]))
    return with_ufunc(request, np.divide, 3)


@kernel("TruncateDiv")
def _truncating(request: KernelRequest) -> Kernel:
    dtype = given(request, 0).dtype
    if dtype not in INTEGERS | FLOATS:
        raise refuse_dtype(request, "real dtypes")
    body = _truncated_quotient if dtype in INTEGERS else _truncated_true_quotient
    return prepared(request, quiet(body, 3), 8 * elements(request.outputs[0]))


def _truncated_quotient(x1: Array, x2: Array, out: Array) -> None:
    whole = np.fmod(x1, x2)
    np.subtract(x1, whole, out=whole)
    np.floor_divide(whole, x2, out)


def _truncated_true_quotient(x1: Array, x2: Array, out: Array) -> None:
    np.divide(x1, x2, out)
    np.trunc(out, out)


@kernel("FloorMod")
def _floor_mod(request: KernelRequest) -> Kernel:
    if given(request, 0).dtype not in INTEGERS:
        return with_ufunc(request, np.remainder, 8)
    return prepared(request, quiet(_integer_remainder, 3), 8 * elements(request.outputs[0]))


def _integer_remainder(x1: Array, x2: Array, out: Array) -> None:
    zero = np.equal(x2, 0)
    kept = np.broadcast_to(x1, out.shape).copy() if zero.any() else None
    np.remainder(x1, x2, out)
    if kept is not None:
        np.copyto(out, kept, where=zero)


@kernel("DivNoNan")
def _div_no_nan(request: KernelRequest) -> Kernel:
    """0 where the divisor is 0."""
    dtype = given(request, 0).dtype
    if dtype in INTEGERS:
        return _truncating(request)
    if dtype not in FLOATS:
        raise refuse_dtype(request, "real dtypes")
    return prepared(request, quiet(_quotient_or_zero, 3), 4 * elements(request.outputs[0]))


def _quotient_or_zero(x1: Array, x2: Array, out: Array) -> None:
    zero = np.equal(x2, 0)
    np.divide(x1, x2, out)
    np.copyto(out, 0, where=zero)


@kernel("MulNoNan")
def _mul_no_nan(request: KernelRequest) -> Kernel:
    """0 where the second factor is 0, even for an infinite or NaN first one."""

    def body(x1: Array, x2: Array, out: Array) -> None:
        zero = np.equal(x2, 0)
        np.multiply(x1, x2, out)
        np.copyto(out, 0, where=zero)

    return prepared(request, quiet(body, 3), elements(request.outputs[0]))


@kernel("SquaredDifference")
def _squared_difference(request: KernelRequest) -> Kernel:
    def body(x1: Array, x2: Array, out: Array) -> None:
        np.subtract(x1, x2, out)
        np.multiply(out, out, out)

    wide = widened(body, request.outputs[0].dtype, 2)
    return prepared(request, quiet(wide, 3), elements(request.outputs[0]))


@kernel("Adds", "Muls")
def _with_scalar(request: KernelRequest) -> Kernel:
    """One float32 attribute; integers compute exactly where it is whole, else in float64, truncated."""
    info, value = given(request, 0), np.float32(request.attributes["value"])
    ufunc = np.add if request.op_type == "Adds" else np.multiply
    constant = value.astype(info.dtype.numpy_dtype)
    if info.dtype in INTEGERS:
        if not np.isfinite(value) or constant != value:
            return prepared(request, quiet(functools.partial(_in_double, ufunc, float(value)), 2), 3 * elements(info))
        return prepared(request, functools.partial(ufunc, constant))
    if info.dtype in HALVES and np.float32(constant) != value:
        body = widened(functools.partial(ufunc, value), info.dtype, 1)
        return prepared(request, quiet(body, 2), 2 * elements(info))
    return prepared(request, quiet(functools.partial(ufunc, constant), 2))


def _in_double(ufunc: np.ufunc, value: float, x: Array, out: Array) -> None:
    np.copyto(out, ufunc(x.astype(np.float64), value), casting="unsafe")


@kernel("Axpy")
def _axpy(request: KernelRequest) -> Kernel:
    """``x1 + alpha * x2``."""
    dtype, alpha = given(request, 0).dtype, float(np.float32(request.attributes["alpha"]))

    def body(x1: Array, x2: Array, out: Array) -> None:
        np.add(x1, np.multiply(x2, alpha), out, casting="unsafe")

    return prepared(request, quiet(widened(body, dtype, 2), 3), elements(request.outputs[0]))


@kernel("AddN", "AccumulateNV2")
def _add_n(request: KernelRequest) -> Kernel:
    count = len(request.inputs)

    def body(*arrays: Array) -> None:
        *inputs, out = arrays
        if count == 1:
            np.copyto(out, inputs[0])
            return
        # The sum so far stays apart from the output, which may be one of the later inputs.
        total = inputs[0] if count == 2 else np.add(inputs[0], inputs[1])
        for array in inputs[2:-1]:
            np.add(total, array, total)
        np.add(total, inputs[-1], out)

    wide = widened(body, request.outputs[0].dtype, count)
    return prepared(request, quiet(wide, count + 1), (count - 1) * elements(request.outputs[0]))


@kernel("Round")
def _round(request: KernelRequest) -> Kernel:
    """Half to even, at ``decimals`` places."""
    decimals = request.attributes["decimals"]
    if not decimals and given(request, 0).dtype in FLOATS:
        return with_ufunc(request, np.rint)

    def body(x: Array, out: Array) -> None:
        np.round(x, decimals, out=out)

    return prepared(request, quiet(widened(body, request.outputs[0].dtype, 1), 2), 4 * elements(request.outputs[0]))


@kernel("Reciprocal")
def _reciprocal(request: KernelRequest) -> Kernel:
    return with_ufunc(request, np.reciprocal, 3)


@kernel("Rsqrt")
def _rsqrt(request: KernelRequest) -> Kernel:
    def body(x: Array, out: Array) -> None:
        np.sqrt(x, out)
        np.reciprocal(out, out)

    return prepared(request, quiet(widened(body, request.outputs[0].dtype, 1), 2), 6 * elements(request.outputs[0]))


@kernel("Exp")
def _exp(request: KernelRequest) -> Kernel:
    """``base ** (shift + scale * x)``; base -1 means e."""
    base, scale, shift = _caffe(request)
    if (base, scale, shift) == (-1.0, 1.0, 0.0):
        return with_ufunc(request, np.exp, TRANSCENDENTAL)
    factor = 1.0 if base == -1.0 else float(np.log(base))

    def body(x: Array, out: Array) -> None:
        np.multiply(x, scale * factor, out)
        np.add(out, shift * factor, out)
        np.exp(out, out)

    wide = widened(body, request.outputs[0].dtype, 1)
    return prepared(request, quiet(wide, 2), (TRANSCENDENTAL + 2) * elements(request.outputs[0]))


@kernel("Log")
def _log(request: KernelRequest) -> Kernel:
    """``log_base(shift + scale * x)``; base -1 means e; integers give float32."""
    base, scale, shift = _caffe(request)
    source, result = given(request, 0).dtype, request.outputs[0].dtype
    if source == result and (base, scale, shift) == (-1.0, 1.0, 0.0):
        return with_ufunc(request, np.log, TRANSCENDENTAL)
    factor = 1.0 if base == -1.0 else 1.0 / float(np.log(base))

    def body(x: Array, out: Array) -> None:
        np.multiply(x, scale, out, casting="unsafe")
        np.add(out, shift, out)
        np.log(out, out)
        np.multiply(out, factor, out)

    return prepared(request, quiet(widened(body, result, 1), 2), (TRANSCENDENTAL + 3) * elements(request.outputs[0]))


def _caffe(request: KernelRequest) -> tuple[Any, ...]:
    return tuple(request.attributes[name] for name in ("base", "scale", "shift"))


@kernel("ClipByValue")
def _clip(request: KernelRequest) -> Kernel:
    """The upper bound first, so that the lower one wins where they cross."""

    def body(x: Array, low: Array, high: Array, out: Array) -> None:
        # A bound of the output's shape may be the output itself.
        below = np.minimum(x, high) if low.shape == out.shape else np.minimum(x, high, out=out)
        np.maximum(below, low, out=out)

    return prepared(request, quiet(body, 4), elements(request.outputs[0]))
