"""Kernels that are one NumPy ufunc."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._blocks import blocked, stepwise
from aacl.backends.cpu.kernels._extremes import maximum, minimum
from aacl.backends.cpu.kernels._halves import widen
from aacl.backends.cpu.kernels._precision import HALVES, INTEGERS
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, prepared, refuse_dtype
from aacl.backends.cpu.kernels._split import spread
from aacl.dtypes import DataType

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ("comparing", "promoting", "with_ufunc")

_CANNOT_WARN = frozenset({np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.absolute, np.negative})


_WRAPS_SILENTLY = frozenset({np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.square, np.sign, np.floor,
                             np.ceil, np.trunc})  # fmt: skip


_OUTPUT_THIRD: dict[np.ufunc, Body] = {np.maximum: maximum, np.minimum: minimum}


# From this many elements on, converting to float32 and back costs less than the half precision loops of NumPy and ml_dtypes.
_MANY = {DataType.BF16: 2048, DataType.FLOAT16: 8192}


# What NumPy does to the bits of float16 alone; and the next number of just one dtype.
_IN_OWN_DTYPE = {
    DataType.BF16: frozenset({np.nextafter}),
    DataType.FLOAT16: frozenset({np.absolute, np.negative, np.nextafter}),
}


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
    if dtype in HALVES and count >= _MANY[dtype] and len(set(dtypes)) == 1 and ufunc not in _IN_OWN_DTYPE[dtype]:
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


def comparing(request: KernelRequest, ufunc: np.ufunc) -> Kernel:
    """Return the kernel of a ufunc that tells something of each element as bool; half precision is widened first."""
    dtypes = {info.dtype for info in request.inputs if info is not None}
    if dtypes <= HALVES and elements(request.outputs[0]) >= _MANY[DataType.FLOAT16]:

        def wide(*arrays: Array) -> None:
            ufunc(*map(widen, arrays[:-1]), arrays[-1])

        return prepared(request, spread(request, quiet(blocked(request, wide), ufunc.nin + 1), 2))
    body = quiet(ufunc, ufunc.nin + 1) if DataType.BF16 in dtypes else ufunc  # only ml_dtypes warns of NaN
    # In the memory of a wider dtype, parts would write over what others are still to read.
    return prepared(request, spread(request, body), in_place=dtypes == {DataType.BOOL})


def promoting(request: KernelRequest, ufunc: np.ufunc, operations: int = 0) -> Kernel:
    """Return a kernel that first converts both inputs to the output's dtype where they differ."""
    dtype = request.outputs[0].dtype
    if all(info is not None and info.dtype == dtype for info in request.inputs):
        return with_ufunc(request, ufunc, operations)
    target = dtype.numpy_dtype

    def body(x1: Array, x2: Array, out: Array) -> None:
        ufunc(x1.astype(target, copy=False), x2.astype(target, copy=False), out)

    return stepwise(request, body, (operations + 2))
