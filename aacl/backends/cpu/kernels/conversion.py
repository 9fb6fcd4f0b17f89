"""Conversion between dtypes.

A float becomes an integer by truncation toward zero; what the integer type cannot hold becomes
its nearest value, and NaN 0 (the documentation says so of an infinite float16 to int16, and nothing of
the others). An integer becomes a narrower one by dropping high bits; anything becomes bool by ``x != 0``;
a complex number becomes real by dropping its imaginary part.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels._blocks import blocked
from aacl.backends.cpu.kernels._halves import narrow, widen
from aacl.backends.cpu.kernels._precision import FLOATS, INTEGERS, compute_dtype
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared
from aacl.backends.cpu.kernels._split import spread
from aacl.dtypes import DataType

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()

_COMPLEX = (DataType.COMPLEX64, DataType.COMPLEX128)


@kernel("CastLike")
def _cast_like(request: KernelRequest) -> Kernel:
    """Return the kernel that takes the second input's dtype, and nothing else of it."""
    found = _cast(request)
    convert = found.body
    return found._replace(body=lambda x, _, out: convert(x, out))


@kernel("Cast")
def _cast(request: KernelRequest) -> Kernel:
    source, result = given(request, 0).dtype, request.outputs[0].dtype
    if source in FLOATS and result in INTEGERS:
        body = _truncation(compute_dtype(source), result.numpy_dtype)
        truncate = spread(request, quiet(blocked(request, body), 2), 3)
        return prepared(request, truncate, 3 * elements(request.outputs[0]))
    if source in _COMPLEX and result not in (*_COMPLEX, DataType.BOOL):
        real = np.dtype(np.float32 if source is DataType.COMPLEX64 else np.float64)
        convert = _truncation(real, result.numpy_dtype) if result in INTEGERS else _convert
        return prepared(request, quiet(lambda x, out: convert(x.real, out), 2), elements(request.outputs[0]))
    return prepared(request, spread(request, quiet(_convert, 2)))


def _convert(x: Array, out: Array) -> None:
    if out.dtype == np.bool_:
        np.not_equal(x, 0, out)
    elif x.dtype == np.float16 and out.dtype == np.float32:
        widen(x, out)
    elif out.dtype == np.float16:
        narrow(x, out)
    else:
        np.copyto(out, x, casting="unsafe")


def _truncation(source: np.dtype[Any], target: np.dtype[Any]) -> Body:
    """Return a body that truncates floats, half precision widened to ``source``, to an integer dtype."""
    limits = np.iinfo(target)
    least, most = int(limits.min), int(limits.max)
    # The first float past the greatest integer; of 32 and 64 bits it is a power of two, which floats hold.
    below, past = least - 1.0, most + 1.0
    is_exact = int(source.type(least)) == least and int(source.type(most)) == most
    holds_all = _holds_all if _tells(source, target) else _holds_all_between(below, past)

    def body(x: Array, out: Array) -> None:
        if x.size == 0:
            return
        wide = x if x.dtype == source else widen(x)
        if holds_all(wide, out):
            return
        if is_exact:
            bounded = np.clip(wide, least, most)
            np.copyto(out, np.nan_to_num(bounded, copy=False, nan=0), casting="unsafe")
            return
        inside = np.where((wide > below) & (wide < past), wide, 0).astype(target)
        np.copyto(out, np.where(wide >= past, most, np.where(wide <= below, least, inside)), casting="unsafe")

    return body


def _holds_all(wide: Array, out: Array) -> bool:
    """Convert, and return whether the processor met nothing that the integer dtype cannot hold."""
    try:
        with np.errstate(invalid="raise"):
            np.copyto(out, wide, casting="unsafe")
    except FloatingPointError:
        return False
    return True


def _holds_all_between(below: float, past: float) -> Callable[[Array, Array], bool]:
    """Return the same for integers to which the processor does not convert directly: it looks beforehand."""

    def convert(wide: Array, out: Array) -> bool:
        is_held = bool(below < np.minimum.reduce(wide, None) and np.maximum.reduce(wide, None) < past)  # not with NaN
        if is_held:
            np.copyto(out, wide, casting="unsafe")
        return is_held

    return convert


@functools.cache
def _tells(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Return whether the processor tells of each float that an integer dtype cannot hold, as IEEE 754 wants it to.

    It does where there is an instruction for just this conversion; elsewhere one to a wider integer stands in, and is silent.
    """
    limits = np.iinfo(target)
    most, least = float(limits.max) + 1, float(limits.min)
    sizes = [scale * 2.0**power for power in (0, 1, 8, 31, 32, 33, 60) for scale in (most, 2 * least - 1)]
    wrong = [np.nan, np.inf, -np.inf, *sizes]
    # The first of many goes through the processor's vectors, one alone does not.
    found = np.empty(67, target)
    return not any(
        _holds_all(np.array([value] + [0] * rest, source), found[: rest + 1]) for value in wrong for rest in (0, 66)
    )
