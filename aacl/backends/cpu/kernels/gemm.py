"""The product that BLAS knows as gemm: ``alpha * a b + beta * c``.

Half precision is multiplied and summed in float32 and rounded once. Products of
INT8 are summed exactly; a result of INT32 that leaves its range wraps around. As
in BLAS, c is not read where beta is zero: it may hold anything then, NaN too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared, refuse_dtype
from aacl.dtypes import DataType

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()

_EXACT = 1 << 24  # whole numbers up to here are exact in float32

# What a and b are multiplied in, and what the result is made in, by their dtype and that of c.
_FLOAT, _WHOLE = np.dtype(np.float32), np.dtype(np.int64)
_WAYS: dict[tuple[DataType, DataType], np.dtype[Any]] = {
    (DataType.FLOAT16, DataType.FLOAT16): _FLOAT,
    (DataType.FLOAT16, DataType.FLOAT): _FLOAT,
    (DataType.FLOAT, DataType.FLOAT): _FLOAT,
    (DataType.INT8, DataType.INT32): _WHOLE,
    (DataType.INT8, DataType.FLOAT): _FLOAT,
    (DataType.INT32, DataType.INT32): _WHOLE,
}


@kernel("GEMM")
def _gemm(request: KernelRequest) -> Kernel:
    source, result = given(request, 0).dtype, given(request, 2).dtype
    through = _WAYS.get((source, result))
    if through is None:
        raise refuse_dtype(
            request, "FLOAT16 giving FLOAT16 or FLOAT, FLOAT giving FLOAT, INT8 giving INT32 or FLOAT, or INT32"
        )
    turn_a, turn_b = request.attributes["transpose_a"], request.attributes["transpose_b"]
    inner = given(request, 0).shape[0 if turn_a else 1]
    multiplied = _multiplied_in(source, inner)

    def body(a: Array, b: Array, c: Array, alpha: Array, beta: Array, y: Array) -> None:
        # The product is apart from y, so that y may lie where any of the inputs does.
        left, right = (a.T if turn_a else a), (b.T if turn_b else b)
        found = np.matmul(left.astype(multiplied, copy=False), right.astype(multiplied, copy=False))
        found = found.astype(through, copy=False)
        first, second = alpha.reshape(()).astype(through), beta.reshape(()).astype(through)
        np.multiply(found, first, found)
        if second != 0:
            np.add(found, np.multiply(c, second, dtype=through), found)
        np.copyto(y, found, casting="unsafe")

    work = 2 * inner * elements(request.outputs[0])
    return prepared(request, quiet(body, 6), work, in_place=True)


def _multiplied_in(source: DataType, inner: int) -> np.dtype[Any]:
    """Return a dtype in which sums of products are exact for whole numbers, and float32 for others."""
    if source is DataType.INT32:
        return _WHOLE
    if source is DataType.INT8 and inner << 14 > _EXACT:
        return np.dtype(np.float64)
    return _FLOAT
