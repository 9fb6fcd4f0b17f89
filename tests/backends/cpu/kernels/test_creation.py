"""Outputs that are made rather than computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array, KernelRequest
from aacl.backends.cpu.kernels import find
from aacl.errors import UnsupportedDataType
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(np.float32), np.dtype(np.float16), BF16, np.dtype(np.int64), np.dtype(np.uint8), np.dtype(np.bool_)]


@pytest.mark.parametrize("dtype", [*DTYPES[:5]], ids=str)
def test_fills(run: Run, dtype: np.dtype[Any]) -> None:
    """A shape, by values or by example, filled with one value."""
    value = np.array(3).astype(dtype)

    assert run("Fill", [np.array([2, 1]), value], known=(0,))[0].tolist() == [[3], [3]]
    assert run("Fill", [np.array([2, 1]), value], known=(0,), late=True)[0].tolist() == [[3], [3]]
    assert run("FillD", [value], {"dims": [2]})[0].tolist() == [3, 3]
    x = np.ones((2, 2), dtype)
    assert run("ZerosLike", [x])[0].tolist() == [[0, 0], [0, 0]]
    assert run("OnesLike", [x * 0])[0].tolist() == [[1, 1], [1, 1]]
    assert (
        run("Fills", [x], {"value": 2.75})[0].astype(float).tolist()
        == [[2.75 if dtype.kind not in "iu" else 2] * 2] * 2
    )
    assert run("ZerosLike", [x], into=0)[0].tolist() == [[0, 0], [0, 0]]


@given(st.integers(-9, 9), st.integers(-9, 9), st.integers(-4, 4).filter(bool))
@settings(max_examples=40, deadline=None)
def test_range_of_integers(run: Run, start: int, limit: int, delta: int) -> None:
    """Python's range, known beforehand or at the run."""
    for late in (False, True):
        values = [np.int64(part) for part in (start, limit, delta)]
        assert run("Range", values, known=(0, 1, 2), late=late)[0].tolist() == list(range(start, limit, delta))


def test_range_of_floats(run: Run) -> None:
    """The limit is excluded; no value accumulates an error."""
    (found,) = run("Range", [np.float32(0), np.float32(1), np.float32(0.125)], known=(0, 1, 2))
    assert found.tolist() == [i / 8 for i in range(8)]
    (halves,) = run("Range", [np.array(v).astype(BF16) for v in (1, 2, 0.25)], known=(0, 1, 2))
    assert halves.astype(float).tolist() == [1, 1.25, 1.5, 1.75]


def test_descriptions(run: Run) -> None:
    """Shape, size and rank of a tensor."""
    x = np.zeros((2, 0, 3), np.float32)

    assert run("Shape", [x])[0].tolist() == [2, 0, 3]
    assert run("Shape", [x], {"dtype": "int64"})[0].dtype == np.int64
    assert run("Size", [x])[0].tolist() == 0
    assert run("Rank", [x])[0].tolist() == 3


def test_values_that_do_not_fit() -> None:
    """Values that ask for another shape than the output has."""
    dims, value, y = TensorDesc.of(np.int64, (1,)), TensorDesc.of(np.float32), TensorDesc.of(np.float32, (3,))
    body = find(KernelRequest("Fill", (dims, value), (y,), {})).body
    with pytest.raises(ValueError, match=r"operator Fill: .* ask for shape \(4,\); the output has \(3,\)"):
        body(np.array([4]), np.float32(1), np.zeros(3, np.float32))


def test_ranges_of_mixed_dtypes(run: Run) -> None:
    """Start, limit and delta have one dtype."""
    with pytest.raises(UnsupportedDataType, match="start is INT32 and input limit is FLOAT"):
        run("Range", [np.int32(1), np.float32(5.5), np.int32(1)], known=(0, 1, 2))
