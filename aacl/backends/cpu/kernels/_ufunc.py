"""Kernels that are one NumPy ufunc."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._blocks import stepwise
from aacl.backends.cpu.kernels._extremes import maximum, minimum
from aacl.backends.cpu.kernels._precision import INTEGERS
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, prepared, refuse_dtype
from aacl.backends.cpu.kernels._split import spread
from aacl.dtypes import DataType

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ("promoting", "with_ufunc")

_CANNOT_WARN = frozenset({np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.absolute, np.negative})


_WRAPS_SILENTLY = frozenset({np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.square, np.sign, np.floor,
                             np.ceil, np.trunc})  # fmt: skip


_OUTPUT_THIRD: dict[np.ufunc, Body] = {np.maximum: maximum, np.minimum: minimum}


# From this many elements on, converting bfloat16 to float32 and back costs less than ml_dtypes' own loops.
_MANY = 2048


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
    count, dtype = elements(request.outputs[0]), request.outputs[0].dtype
    if dtype is DataType.BF16 and count >= _MANY and len(set(dtypes)) == 1:
        return stepwise(request, _OUTPUT_THIRD.get(ufunc, ufunc), operations + 2)
    # NumPy's ufuncs look after operands that overlap.
    body = spread(request, _silenced(ufunc, request), operations)
    return prepared(request, body, operations * count, in_place=True)


def _silenced(ufunc: np.ufunc, request: KernelRequest) -> Body:
    """Return the ufunc as it is where it cannot warn: for integers, mostly."""
    body = _OUTPUT_THIRD.get(ufunc, ufunc)
    is_silent = ufunc in _CANNOT_WARN or (
        ufunc in _WRAPS_SILENTLY and all(i.dtype in INTEGERS or i.dtype is DataType.BOOL for i in request.inputs if i)
    )
    return body if is_silent else quiet(body, ufunc.nin + 1)


def promoting(request: KernelRequest, ufunc: np.ufunc, operations: int = 0) -> Kernel:
    """Return a kernel that first converts both inputs to the output's dtype where they differ."""
    dtype = request.outputs[0].dtype
    if all(info is not None and info.dtype == dtype for info in request.inputs):
        return with_ufunc(request, ufunc, operations)
    target = dtype.numpy_dtype

    def body(x1: Array, x2: Array, out: Array) -> None:
        ufunc(x1.astype(target, copy=False), x2.astype(target, copy=False), out)

    return stepwise(request, body, (operations + 2))
