"""Division and its remainders.

Choices where the public documentation is silent: an integer divided by zero gives 0, and FloorMod by
zero its first input; integers divide toward zero in Div, RealDiv, TruncateDiv and DivNoNan.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._blocks import stepwise
from aacl.backends.cpu.kernels._division import truncated_quotient
from aacl.backends.cpu.kernels._precision import FLOATS, INTEGERS
from aacl.backends.cpu.kernels._registry import given, kernel, refuse_dtype
from aacl.backends.cpu.kernels._ufunc import with_ufunc
from aacl.dtypes import DataType

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()


@kernel("Div", "RealDiv")
def _div(request: KernelRequest) -> Kernel:
    dtype = given(request, 0).dtype
    if dtype in INTEGERS:
        return _truncating(request)
    if dtype is DataType.BOOL and request.outputs[0].dtype is DataType.FLOAT:
        body = functools.partial(np.divide, dtype=np.float32, casting="unsafe")
        return stepwise(request, body, 3)
    return with_ufunc(request, np.divide, 3)


@kernel("FloorDiv")
def _floor_div(request: KernelRequest) -> Kernel:
    """``floor(x1 / x2)``: for floats not NumPy's floor_divide, whose quotient is that of the exact remainder."""
    dtype = given(request, 0).dtype
    if dtype in INTEGERS:
        return with_ufunc(request, np.floor_divide, 4)
    if dtype not in FLOATS:
        raise refuse_dtype(request, "real dtypes")

    def body(x1: Array, x2: Array, out: Array) -> None:
        np.divide(x1, x2, out)
        np.floor(out, out)

    return stepwise(request, body, 4)


@kernel("TruncateDiv")
def _truncating(request: KernelRequest) -> Kernel:
    dtype = given(request, 0).dtype
    if dtype not in INTEGERS | FLOATS:
        raise refuse_dtype(request, "real dtypes")
    body = truncated_quotient if dtype in INTEGERS else _truncated_true_quotient
    return stepwise(request, body, 8)


def _truncated_true_quotient(x1: Array, x2: Array, out: Array) -> None:
    np.divide(x1, x2, out)
    np.trunc(out, out)


@kernel("FloorMod")
def _floor_mod(request: KernelRequest) -> Kernel:
    if given(request, 0).dtype not in INTEGERS:
        return with_ufunc(request, np.remainder, 8)
    return stepwise(request, _integer_remainder, 8)


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
    return stepwise(request, _quotient_or_zero, 4)


def _quotient_or_zero(x1: Array, x2: Array, out: Array) -> None:
    zero = np.equal(x2, 0)
    np.divide(x1, x2, out)
    np.copyto(out, 0, where=zero)
