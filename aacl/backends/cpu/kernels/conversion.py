"""Conversion between dtypes.

A float becomes an integer by truncation toward zero; what the integer type cannot hold becomes
its nearest value, and NaN 0 (the documentation says so of an infinite float16 to int16, and nothing of
the others). An integer becomes a narrower one by dropping high bits; anything becomes bool by ``x != 0``;
a complex number becomes real by dropping its imaginary part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._precision import FLOATS, INTEGERS
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared
from aacl.dtypes import DataType

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()

_COMPLEX = (DataType.COMPLEX64, DataType.COMPLEX128)


@kernel("Cast")
def _cast(request: KernelRequest) -> Kernel:
    source, result = given(request, 0).dtype, request.outputs[0].dtype
    if source in FLOATS and result in INTEGERS:
        return prepared(request, quiet(_truncate, 2), 3 * elements(request.outputs[0]))
    if source in _COMPLEX and result not in (*_COMPLEX, DataType.BOOL):
        return prepared(request, quiet(_real_part, 2), elements(request.outputs[0]))
    return prepared(request, quiet(_convert, 2))


def _convert(x: Array, out: Array) -> None:
    if out.dtype == np.bool_:
        np.not_equal(x, 0, out)
    else:
        np.copyto(out, x, casting="unsafe")


def _real_part(x: Array, out: Array) -> None:
    (_truncate if out.dtype.kind in "iu" else _convert)(x.real, out)


def _truncate(x: Array, out: Array) -> None:
    if x.size == 0:
        return
    limits = np.iinfo(out.dtype)
    wide = x if x.dtype in (np.float32, np.float64) else x.astype(np.float32)
    # The largest integers of 32 and 64 bits are no floats, the power of two after them is.
    past = float(limits.max) + 1 if limits.bits >= 32 else limits.max + 1.0
    if limits.min - 1 < wide.min() and wide.max() < past:  # false for NaN
        np.copyto(out, wide, casting="unsafe")
        return
    inside = np.where((wide > limits.min - 1.0) & (wide < past), wide, 0).astype(out.dtype)
    np.copyto(out, np.where(wide >= past, limits.max, np.where(wide <= limits.min - 1.0, limits.min, inside)))
