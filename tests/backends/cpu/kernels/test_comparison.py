"""Comparison, logic and selection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from aacl.abc import Array
from aacl.errors import InvalidArgument

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "Equal": lambda a, b: a == b,
    "NotEqual": lambda a, b: a != b,
    "Greater": lambda a, b: a > b,
    "GreaterEqual": lambda a, b: a >= b,
    "Less": lambda a, b: a < b,
    "LessEqual": lambda a, b: a <= b,
}


@pytest.mark.parametrize("dtype", [*FLOATS, np.dtype(np.int8), np.dtype(np.int64), np.dtype(np.uint8)], ids=str)
@pytest.mark.parametrize("op_type", _COMPARISONS)
def test_comparisons(run: Run, op_type: str, dtype: np.dtype[Any]) -> None:
    """Python's own comparison of each pair; NaN compares false, except unequal; nothing warns."""
    left = [1, 2, 3, 4] + [float("nan")] * (dtype.kind not in "iu")
    right = [[2], [3]]
    x, y = np.array(left).astype(dtype), np.array(right).astype(dtype)
    (found,) = run(op_type, [x, y])

    assert found.dtype == np.bool_
    assert found.tolist() == [[_COMPARISONS[op_type](a, b[0]) for a in left] for b in right]


def test_logic(run: Run) -> None:
    """The truth tables, in place too."""
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])

    assert run("LogicalAnd", [a, b])[0].tolist() == [True, False, False, False]
    assert run("LogicalOr", [a, b], into=1)[0].tolist() == [True, True, True, False]
    assert run("LogicalNot", [a], into=0)[0].tolist() == [False, False, True, True]


def test_tests_of_floats(run: Run) -> None:
    """NaN, infinities and finite numbers."""
    x = np.array([1, np.nan, np.inf, -np.inf]).astype(BF16)

    assert run("IsNan", [x])[0].tolist() == [False, True, False, False]
    assert run("IsInf", [x.astype(np.float32)])[0].tolist() == [False, False, True, True]
    assert run("IsFinite", [x])[0].tolist() == [True, False, False, False]


@pytest.mark.parametrize("dtype", [np.float32, BF16, np.int64, np.complex64], ids=str)
@pytest.mark.parametrize("into", [None, 1, 2])
def test_select(run: Run, dtype: Any, into: int | None) -> None:
    """Element by element, by whole rows, or all; also into either branch."""
    a, b = np.arange(6).reshape(2, 3).astype(dtype), -np.arange(6).reshape(2, 3).astype(dtype)
    same = np.array([[True, False, True], [False, True, False]])
    rows = np.array([True, False])

    picked = [[a[i, j] if same[i, j] else b[i, j] for j in range(3)] for i in range(2)]
    assert run("Select", [same, a, b], into=into)[0].tolist() == np.array(picked).tolist()
    assert run("Select", [rows, a, b], into=into)[0].tolist() == [a[0].tolist(), b[1].tolist()]
    assert run("Select", [np.array(False), a, b], into=into)[0].tolist() == b.tolist()
    assert run("SelectV2", [rows[:, None], a, b], into=into)[0].tolist() == [a[0].tolist(), b[1].tolist()]


def test_select_broadcasts(run: Run) -> None:
    """SelectV2 takes any shapes that broadcast."""
    (found,) = run("SelectV2", [np.array([[True], [False]]), np.float32(7), np.array([1, 2], np.float32)])

    assert found.tolist() == [[7, 7], [1, 2]]


def test_approximate_equal(run: Run) -> None:
    """Strictly less than the tolerance."""
    a, b = np.array([1.0, 1.0, 1.0], np.float32), np.array([1.0, 1.25, 1.125], np.float32)

    assert run("ApproximateEqual", [a, b], {"tolerance": 0.25})[0].tolist() == [True, False, True]


def test_signed_infinities(run: Run) -> None:
    """Each sign by itself; NaN is neither."""
    for dtype in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16):
        x = np.array([np.inf, -np.inf, np.nan, 1], dtype)
        assert run("IsPosInf", [x])[0].tolist() == [True, False, False, False]
        assert run("IsNegInf", [x])[0].tolist() == [False, True, False, False]


def test_is_close(run: Run) -> None:
    """``|x1 - x2| <= atol + rtol * |x2|``; equal infinities are close, NaN only where asked."""
    x1 = np.array([1.0, 1.0, np.inf, np.inf, np.nan, 0.0], np.float32)
    x2 = np.array([1.0 + 5e-6, 1.0 + 5e-5, np.inf, -np.inf, np.nan, 1e-9], np.float32)

    assert run("IsClose", [x1, x2])[0].tolist() == [True, False, True, False, False, True]
    assert run("IsClose", [x1, x2], {"equal_nan": True})[0].tolist() == [True, False, True, False, True, True]
    whole = np.array([-128, 100], np.int8)
    assert run("IsClose", [whole, np.array([127, 101], np.int8)], {"rtol": 0.0, "atol": 1.0})[0].tolist() == [
        False,
        True,
    ]
    half = np.array([1, 2], ml_dtypes.bfloat16)
    assert run("IsClose", [half, half[:1]], {"rtol": 0.5})[0].tolist() == [True, False]
    with pytest.raises(InvalidArgument, match="rtol is -1"):
        run("IsClose", [x1, x2], {"rtol": -1.0})


def test_tensor_equal(run: Run) -> None:
    """One element: shapes and all elements are the same."""
    x = np.array([[1, 2]], np.float16)

    assert run("TensorEqual", [x, x])[0].tolist() == [True]
    assert run("TensorEqual", [x, x + 1])[0].tolist() == [False]
    assert run("TensorEqual", [x, x[0]])[0].tolist() == [False]
    assert run("TensorEqual", [x[:0], x[:0]])[0].tolist() == [True]
    assert run("TensorEqual", [x * np.nan, x * np.nan])[0].tolist() == [False]
