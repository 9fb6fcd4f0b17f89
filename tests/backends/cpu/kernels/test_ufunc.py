"""Ufuncs on much half precision go through float32: the same results, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from aacl.abc import Array

HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
COUNT = 20_000


def _values(dtype: np.dtype[Any], seed: int) -> Array:
    """Every size there is, zeros, infinities and NaN."""
    bits = np.random.default_rng(seed).integers(0, 1 << 16, COUNT, np.uint16)
    return bits.view(dtype)


def _doubles(halves: Array) -> Array:
    with np.errstate(all="ignore"):  # of signalling NaN
        return halves.astype(np.float64)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize(("op_type", "ufunc"), [("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply)])
def test_arithmetic_rounds_once(
    run: Callable[..., list[Array]], op_type: str, ufunc: np.ufunc, dtype: np.dtype[Any]
) -> None:
    """Against float64, which holds sums and products of halves exactly or nearly so."""
    x, y = _values(dtype, 1), _values(dtype, 2)
    (found,) = run(op_type, [x, y])
    with np.errstate(all="ignore"):
        exact = ufunc(_doubles(x), _doubles(y)).astype(np.float32).astype(dtype)

    np.testing.assert_array_equal(_doubles(found), _doubles(exact))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("rows", [1, 5])
def test_comparison(run: Callable[..., list[Array]], dtype: np.dtype[Any], rows: int) -> None:
    """Of single numbers, one row against all; NaN is neither greater nor equal."""
    x, y = _values(dtype, 3).reshape(rows, -1), _values(dtype, 4).reshape(rows, -1)[:1]
    pairs = [*zip(_doubles(x).reshape(-1).tolist(), _doubles(y).reshape(-1).tolist() * rows, strict=True)]

    assert run("Greater", [x, y])[0].reshape(-1).tolist() == [left > right for left, right in pairs]
    assert run("NotEqual", [x, y])[0].reshape(-1).tolist() == [left != right for left, right in pairs]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_signs_are_bits(run: Callable[..., list[Array]], dtype: np.dtype[Any]) -> None:
    """Abs clears one and Neg turns it, of NaN too."""
    x = _values(dtype, 5)
    absolute, negative = run("Abs", [x])[0], run("Neg", [x])[0]
    number = ~np.isnan(_doubles(x))

    assert absolute[number].tobytes() == (x[number].view(np.uint16) & 0x7FFF).tobytes()
    assert negative[number].tobytes() == (x[number].view(np.uint16) ^ 0x8000).tobytes()
    assert np.isnan(_doubles(absolute[~number])).all()


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize(("op_type", "most"), [("Relu", np.inf), ("Relu6", 6.0)])
def test_limits(run: Callable[..., list[Array]], op_type: str, most: float, dtype: np.dtype[Any]) -> None:
    """NaN stays, whatever its sign; everything else is brought between 0 and the limit."""
    x = _values(dtype, 6)
    found = _doubles(run(op_type, [x])[0])
    values = _doubles(x).tolist()

    np.testing.assert_array_equal(found, [v if v != v else min(max(v, 0.0), most) for v in values])
