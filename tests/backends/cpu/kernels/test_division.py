"""Division and remainders, against Python's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


_DIVISIONS = ["Div", "RealDiv", "TruncateDiv", "DivNoNan"]


def _truncated(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@given(st.lists(st.tuples(st.integers(-100, 100), st.integers(-9, 9)), min_size=1, max_size=20))
@settings(max_examples=40, deadline=None)
def test_integers(run: Run, pairs: list[tuple[int, int]]) -> None:
    """Toward zero, down for FloorDiv; a zero divisor gives 0, and FloorMod its first input."""
    a, b = (np.array(column, np.int32) for column in zip(*pairs, strict=True))
    for op_type in _DIVISIONS:
        assert run(op_type, [a, b])[0].tolist() == [_truncated(x, y) for x, y in pairs]
    assert run("FloorDiv", [a, b])[0].tolist() == [x // y if y else 0 for x, y in pairs]
    assert run("FloorMod", [a, b])[0].tolist() == [x % y if y else x for x, y in pairs]
    assert run("Mod", [a, b])[0].tolist() == [x - _truncated(x, y) * y if y else 0 for x, y in pairs]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_floats(run: Run, close: Close, dtype: np.dtype[Any]) -> None:
    """True quotients, floor of the true quotient, remainders of either sign."""
    a = np.array([7.5, -7.5, 7.5, -7.5, 0.5]).astype(dtype)
    b = np.array([2.0, 2.0, -2.0, -2.0, 3.0]).astype(dtype)

    close(run("RealDiv", [a, b])[0], [3.75, -3.75, -3.75, 3.75, 0.5 / 3], units=1)
    close(run("Div", [a, b])[0], [3.75, -3.75, -3.75, 3.75, 0.5 / 3], units=1)
    close(run("FloorDiv", [a, b])[0], [3, -4, -4, 3, 0])
    close(run("TruncateDiv", [a, b])[0], [3, -3, -3, 3, 0])
    close(run("Mod", [a, b])[0], [1.5, -1.5, 1.5, -1.5, 0.5])
    close(run("FloorMod", [a, b])[0], [1.5, 0.5, -0.5, -1.5, 0.5])


def test_floor_of_the_true_quotient(run: Run) -> None:
    """1.0 / 0.1 rounds to 10 in float32, so its floor is 10, unlike NumPy's floor_divide."""
    one, tenth = np.array([1.0], np.float32), np.array([0.1], np.float32)

    assert run("FloorDiv", [one, tenth])[0].tolist() == [10.0]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_division_by_zero(run: Run, dtype: np.dtype[Any]) -> None:
    """IEEE values, 0 from DivNoNan."""
    a, b = np.array([1, -1, 0]).astype(dtype), np.zeros(3, dtype)

    np.testing.assert_array_equal(run("RealDiv", [a, b])[0].astype(float), [np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(run("DivNoNan", [a, b])[0].astype(float), [0, 0, 0])


def test_edges_of_integers(run: Run) -> None:
    """The least integer divided by -1 wraps around without a warning; bool divides to float."""
    least = np.array([-128], np.int8)
    minus = np.array([-1], np.int8)

    assert run("FloorDiv", [least, minus])[0].tolist() == [-128]
    assert run("TruncateDiv", [least, minus])[0].tolist() == [-128]
    (found,) = run("RealDiv", [np.array([True, True]), np.array([True, False])])
    assert (found.dtype, found.tolist()) == (np.dtype(np.float32), [1.0, np.inf])
    big = np.array([2**62 + 1], np.int64)
    assert run("Div", [big, np.array([1], np.int64)])[0].tolist() == [2**62 + 1]
    assert run("Div", [np.array([200], np.uint8), np.array([7], np.uint8)])[0].tolist() == [28]


@pytest.mark.parametrize("op_type", [*_DIVISIONS, "FloorDiv", "Mod", "FloorMod"])
@pytest.mark.parametrize("dtype", [np.int32, np.float32, BF16], ids=str)
@pytest.mark.parametrize("into", [0, 1])
def test_in_place(run: Run, op_type: str, dtype: Any, into: int) -> None:
    """The output may be either input."""
    a, b = np.array([9, -9, 5, 0]).astype(dtype), np.array([2, 2, 0, 4]).astype(dtype)

    assert run(op_type, [a, b])[0].tobytes() == run(op_type, [a, b], into=into)[0].tobytes()
