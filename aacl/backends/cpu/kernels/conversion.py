"""Conversion between dtypes.

A float becomes an integer by truncation toward zero; what the integer type cannot hold becomes
its nearest value, and NaN 0 (the documentation says so of an infinite float16 to int16, and nothing of
the others). An integer becomes a narrower one by dropping high bits; anything becomes bool by ``x != 0``;
a complex number becomes real by dropping its imaginary part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels._precision import FLOATS, INTEGERS
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared
from aacl.dtypes import DataType

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()

_COMPLEX = (DataType.COMPLEX64, DataType.COMPLEX128)


@kernel("Cast")
def _cast(request: KernelRequest) -> Kernel:
    source, result = given(request, 0).dtype, request.outputs[0].dtype
    if source in FLOATS and result in INTEGERS:
        return prepared(request, quiet(_truncation(result.numpy_dtype), 2), 3 * elements(request.outputs[0]))
    if source in _COMPLEX and result not in (*_COMPLEX, DataType.BOOL):
        convert = _truncation(result.numpy_dtype) if result in INTEGERS else _convert
        return prepared(request, quiet(lambda x, out: convert(x.real, out), 2), elements(request.outputs[0]))
    return prepared(request, quiet(_convert, 2))


def _convert(x: Array, out: Array) -> None:
    if out.dtype == np.bool_:
        np.not_equal(x, 0, out)
    else:
        np.copyto(out, x, casting="unsafe")


def _truncation(target: np.dtype[Any]) -> Body:
    """Return a body that truncates floats to an integer dtype, its limits found beforehand."""
    limits = np.iinfo(target)
    least, most = int(limits.min), int(limits.max)
    # The first float past the greatest integer; of 32 and 64 bits it is a power of two, which floats hold.
    below, past = least - 1.0, most + 1.0

    def body(x: Array, out: Array) -> None:
        if x.size == 0:
            return
        wide = x if x.dtype in _WIDE else x.astype(np.float32)
        if below < np.minimum.reduce(wide, None) and np.maximum.reduce(wide, None) < past:  # false for NaN
            np.copyto(out, wide, casting="unsafe")
            return
        inside = np.where((wide > below) & (wide < past), wide, 0).astype(target)
        np.copyto(out, np.where(wide >= past, most, np.where(wide <= below, least, inside)), casting="unsafe")

    return body


_WIDE = (np.dtype(np.float32), np.dtype(np.float64))
