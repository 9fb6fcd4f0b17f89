"""Half precision: compute in float32, round once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.backends.cpu.kernels._halves import narrow, widen
from aacl.dtypes import DataType

if TYPE_CHECKING:
    from aacl.abc import Array
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ("FLOATS", "HALVES", "INTEGERS", "REALS", "compute_dtype", "widened")

HALVES = frozenset({DataType.FLOAT16, DataType.BF16})
FLOATS = HALVES | {DataType.FLOAT, DataType.DOUBLE}
INTEGERS = frozenset(DataType[f"{sign}INT{bits}"] for sign in ("", "U") for bits in (8, 16, 32, 64))
REALS = FLOATS | INTEGERS


def compute_dtype(dtype: DataType) -> np.dtype[Any]:
    """Return the NumPy dtype to compute in: float32 for half precision, else the type's own."""
    return np.dtype(np.float32) if dtype in HALVES else dtype.numpy_dtype


def widened(body: Body, dtype: DataType, inputs: int) -> Body:
    """Return a body for half-precision arrays from one that computes in float32.

    A dtype that is no half precision gets the body itself. Only inputs of that dtype are
    widened; outputs are all float32 for the inner body and rounded once at the end.

    Args:
        body: works on any float arrays; its output starts out unset.
        dtype: the request's dtype.
        inputs: how many of the arrays are inputs.
    """
    if dtype not in HALVES:
        return body
    half = dtype.numpy_dtype

    def run(*arrays: Array) -> None:
        wide = [widen(array) if array is not None and array.dtype == half else array for array in arrays]
        wide[inputs:] = [np.empty(array.shape, np.float32) for array in arrays[inputs:]]
        body(*wide)
        for out, result in zip(arrays[inputs:], wide[inputs:], strict=True):
            narrow(result, out)

    return run
