"""Operators that change a variable."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from aacl.abc import Array
from aacl.errors import InvalidArgument, UnsupportedDataType

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


def _numbered(*shape: int, dtype: Any = np.float32) -> Array:
    return np.arange(1, math.prod(shape) + 1).reshape(shape).astype(dtype)


@pytest.mark.parametrize("into", [None, 0])
@pytest.mark.parametrize("dtype", [*FLOATS, np.dtype(np.int8), np.dtype(np.complex64)], ids=str)
def test_assign(run: Run, close: Close, into: int | None, dtype: np.dtype[Any]) -> None:
    """The value, the sum, the difference; in the variable's memory, or apart from it."""
    ref, value = np.array([100, 3], dtype), np.array([27, -4], dtype)
    close(run("Assign", [ref, value], into=into)[0], value)
    close(run("AssignAdd", [ref, value], into=into)[0], [127, -1])
    close(run("AssignSub", [ref, value], into=into)[0], [73, 7])


def test_another_shape_or_dtype(run: Run) -> None:
    """It is refused with both."""
    with pytest.raises(InvalidArgument, match=r"ref of shape \(2,\) and value of shape \(3,\) must have one shape"):
        run("Assign", [np.zeros(2, np.float32), np.zeros(3, np.float32)])
    with pytest.raises(UnsupportedDataType, match="they must be equal"):
        run("AssignAdd", [np.zeros(2, np.float32), np.zeros(2, np.float16)])
