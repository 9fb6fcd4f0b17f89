"""Matrix products and the bias along channels.

Half precision multiplies and accumulates in float32 and is rounded once. Integers are exact: a product
goes through floats only where those hold every partial sum exactly; beyond int32 it wraps around.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels._halves import narrow, widen
from aacl.backends.cpu.kernels._precision import FLOATS, HALVES, compute_dtype
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared, refuse_dtype
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument, NotSupported

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()

_SMALL = (DataType.INT8, DataType.INT4)


@kernel("MatMul", "MatMulV2", "MatMulV3")
def _matmul(request: KernelRequest) -> Kernel:
    return _product(request, request.attributes["transpose_x1"], request.attributes["transpose_x2"])


@kernel("BatchMatMul", "BatchMatMulV2")
def _batch_matmul(request: KernelRequest) -> Kernel:
    return _product(request, request.attributes["adj_x1"], request.attributes["adj_x2"])


def _product(request: KernelRequest, turn_left: bool, turn_right: bool) -> Kernel:
    _refuse_quantised_offsets(request)
    inner = _inner(request, turn_left, turn_right)
    multiply = _multiplication(request, inner)

    def body(x1: Array, x2: Array, *others: Array) -> None:
        left = x1.swapaxes(-1, -2) if turn_left else x1
        right = x2.swapaxes(-1, -2) if turn_right else x2
        bias = others[0] if len(others) > 1 else None
        multiply(left, right, bias, others[-1])

    work = 2 * inner * elements(request.outputs[0])
    return prepared(request, quiet(body, len(request.inputs) + 1), work)


def _refuse_quantised_offsets(request: KernelRequest) -> None:
    if request.attributes.get("offset_x") or (len(request.inputs) > 3 and request.inputs[3] is not None):
        raise NotSupported(f"operator {request.op_type}: offset_x and offset_w are not supported on the cpu device")


def _inner(request: KernelRequest, turn_left: bool, turn_right: bool) -> int:
    left, right = given(request, 0).shape, given(request, 1).shape
    if min(len(left), len(right)) < 2:
        raise InvalidArgument(f"operator {request.op_type}: shapes {left} and {right} need 2 dims at least")
    inner, other = left[-2 if turn_left else -1], right[-1 if turn_right else -2]
    if inner != other:
        raise InvalidArgument(f"operator {request.op_type}: shapes {left} and {right} do not multiply")
    return inner


def _multiplication(request: KernelRequest, inner: int) -> Body:
    source, result = given(request, 0).dtype, request.outputs[0].dtype
    if source != given(request, 1).dtype:
        raise refuse_dtype(request, "two equal dtypes")
    if source in FLOATS and result in FLOATS:
        if source in HALVES or source != result:
            return _in_dtype(compute_dtype(source))
        return _straight
    if source in _SMALL and result is DataType.INT32:
        return _in_dtype(np.dtype(np.float32 if inner * 2**14 <= 2**24 else np.float64), np.dtype(np.int64))
    if source is DataType.INT32 and result is DataType.INT32:
        return _integer
    raise refuse_dtype(request, "float dtypes, INT32, or INT8 giving INT32")


def _straight(left: Array, right: Array, bias: Array | None, out: Array) -> None:
    np.matmul(left, right, out)
    if bias is not None:
        np.add(out, bias, out)


def _in_dtype(dtype: np.dtype[Any], through: np.dtype[Any] | None = None) -> Body:
    """Return a product that computes in a wider dtype, adds the bias there and rounds once.

    Args:
        dtype: the dtype to multiply in.
        through: the integer dtype in which the bias is added, for integers.
    """

    def multiply(left: Array, right: Array, bias: Array | None, out: Array) -> None:
        wide = np.matmul(_in(dtype, left), _in(dtype, right))
        if through is not None:
            wide = wide.astype(through)
        if bias is not None:
            wide = np.add(wide, bias.astype(wide.dtype, copy=False))
        if out.dtype == np.float16:
            narrow(wide, out)
        else:
            np.copyto(out, wide, casting="unsafe")

    return multiply


def _in(dtype: np.dtype[Any], array: Array) -> Array:
    return widen(array) if array.dtype == np.float16 and dtype == np.float32 else array.astype(dtype, copy=False)


_through_double = _in_dtype(np.dtype(np.float64), np.dtype(np.int64))


def _integer(left: Array, right: Array, bias: Array | None, out: Array) -> None:
    """NumPy multiplies integers without BLAS; where doubles are exact, BLAS is far quicker."""
    if left.size and right.size and left.shape[-1] * _largest(left) * _largest(right) < 2**53:
        _through_double(left, right, bias, out)
    else:
        _straight(left, right, bias, out)


def _largest(array: Array) -> int:
    return max(abs(int(array.min())), abs(int(array.max())))


@kernel("BiasAdd")
def _bias_add(request: KernelRequest) -> Kernel:
    """Along axis 1 for NCHW, else along the last."""
    rank = len(given(request, 0).shape)
    if rank < 2:
        raise InvalidArgument(f"operator BiasAdd: input shape {given(request, 0).shape} needs 2 dims at least")
    if not request.attributes["data_format"].startswith("NC") or rank == 2:
        return prepared(request, quiet(np.add, 3), in_place=True)
    trailing = (-1,) + (1,) * (rank - 2)

    def body(x: Array, bias: Array, out: Array) -> None:
        np.add(x, bias.reshape(trailing), out)

    return prepared(request, quiet(body, 3))


@kernel("Dot")
def _dot(request: KernelRequest) -> Kernel:
    """The inner product of two vectors, one element."""
    dtype = compute_dtype(given(request, 0).dtype)

    def body(x: Array, y: Array, out: Array) -> None:
        out[...] = np.dot(x.astype(dtype, copy=False), y.astype(dtype, copy=False))

    return prepared(request, quiet(body, 3), 2 * math.prod(given(request, 0).shape))
