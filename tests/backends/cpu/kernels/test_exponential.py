"""Powers, roots, exponentials and logarithms, against float64 and Python's integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.errors import InvalidArgument

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


_X = np.linspace(0.05, 4, 60)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_plain_functions(run: Run, close: Close, dtype: np.dtype[Any]) -> None:
    """Each float dtype, rounded once."""
    x = _X.astype(dtype)
    wide = x.astype(np.float64)

    close(run("Sqrt", [x])[0], wide**0.5)
    close(run("Rsqrt", [x])[0], wide**-0.5, units=3)
    close(run("Reciprocal", [x])[0], 1 / wide)
    close(run("Exp", [x])[0], np.exp(wide), units=4)
    close(run("Log", [x])[0], np.log(wide), units=4, floor=0.5)
    close(run("Expm1", [x])[0], np.expm1(wide), units=4)
    close(run("Log1p", [x])[0], np.log1p(wide), units=4)
    close(run("Pow", [x, x])[0], wide**wide, units=4)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_scaled_exponentials(run: Run, close: Close, dtype: np.dtype[Any]) -> None:
    """``base ** (shift + scale * x)`` and its inverse."""
    x = _X.astype(dtype)
    wide = x.astype(np.float64)
    attributes = {"base": 2.0, "scale": 0.5, "shift": 1.0}

    close(run("Exp", [x], attributes)[0], 2.0 ** (1 + 0.5 * wide), units=8)
    close(run("Log", [x], attributes)[0], np.log2(1 + 0.5 * wide), units=8, floor=1)
    close(run("Exp", [x], {"scale": 2.0})[0], np.exp(2 * wide), units=8 if dtype.itemsize < 8 else 32)


def test_logarithm_of_integers(run: Run, close: Close) -> None:
    """Gives float32."""
    (found,) = run("Log", [np.array([1, 8, 1000], np.int32)])

    assert found.dtype == np.float32
    close(found, np.log([1, 8, 1000]))


@pytest.mark.parametrize("base", [0.0, 1.0, -2.0])
def test_impossible_bases(run: Run, base: float) -> None:
    """A base is -1 for e, or positive and not 1."""
    for op_type in ("Exp", "Log"):
        with pytest.raises(InvalidArgument, match=rf"operator {op_type}: base is {base}"):
            run(op_type, [np.ones(2, np.float32)], {"base": base})


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-5, 9)), min_size=1, max_size=20))
@settings(max_examples=40, deadline=None)
def test_integer_powers(run: Run, pairs: list[tuple[int, int]]) -> None:
    """Exact; negative exponents truncate toward zero, 0 to a negative power is 0."""
    a, b = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    exact = [x**y if y >= 0 else 0 if x == 0 else int(x**y) for x, y in pairs]

    assert run("Pow", [a, b])[0].tolist() == exact
    assert run("Pow", [a, b], into=1)[0].tolist() == exact


def test_edges(run: Run) -> None:
    """Square root of a negative is NaN, the logarithm of 0 minus infinity, and nothing warns."""
    x = np.array([-1, 0], np.float32)

    np.testing.assert_array_equal(run("Sqrt", [x])[0], [np.nan, 0])
    np.testing.assert_array_equal(run("Log", [x])[0], [np.nan, -np.inf])
    np.testing.assert_array_equal(run("Rsqrt", [x])[0], [np.nan, np.inf])
    np.testing.assert_array_equal(run("Exp", [np.array([1000, -1000], np.float32)])[0], [np.inf, 0])
