"""Sums over axes: right, as exact as pairwise ones, whatever the length."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.backends.cpu.kernels._sums import sum_over, summed


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@given(st.lists(st.integers(0, 9), max_size=2), st.sampled_from([0, 1, 255, 256, 257, 700, 5000]), st.data())
@settings(deadline=None, max_examples=25)
def test_sums_of_whole_numbers(dtype: type, lead: list[int], last: int, data: st.DataObject) -> None:
    """They are exact: over any axes, kept or not, from dense memory or not."""
    shape = (*lead, last)
    axes = tuple(sorted(data.draw(st.sets(st.integers(0, len(shape) - 1)))))
    keep, is_dense = data.draw(st.booleans()), data.draw(st.booleans())
    numbers = np.arange(math.prod(shape)).reshape(shape) % 23 - 11
    x: Array = numbers.astype(dtype)
    x = x if is_dense else np.repeat(x, 2, -1)[..., ::2]
    expected = numbers.sum(axes, keepdims=keep) if axes else numbers
    out = np.empty(expected.shape, dtype)
    sum_over(x, axes, keep, out)

    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("shape", [(1, 1 << 20), (3, 100_003), (1000, 300)])
def test_errors_stay_small(shape: tuple[int, int]) -> None:
    """Against correctly rounded sums, a few units in the last place of the sum of sizes."""
    x = np.random.default_rng(5).random(shape, np.float32)
    out = np.empty(shape[0], np.float32)
    sum_over(x, (1,), False, out)
    exact = np.array([math.fsum(row) for row in x.astype(np.float64).tolist()])

    assert np.abs(out / exact - 1).max() < 4 * np.finfo(np.float32).eps


def test_values_that_are_no_numbers() -> None:
    """An infinity, two opposite ones and NaN give what IEEE 754 says of their sums."""
    x = np.ones((4, 5000), np.float32)
    x[0, 1234], x[1, 77], x[1, 4000], x[2, 4999] = np.inf, np.inf, -np.inf, np.nan
    out = np.empty(4, np.float32)
    with np.errstate(all="ignore"):
        sum_over(x, (1,), False, out)

    np.testing.assert_array_equal(out, [np.inf, np.nan, np.nan, 5000])


def test_outputs_that_are_not_dense() -> None:
    """Only their own elements are written."""
    target = np.full(20, -1, np.float32)
    sum_over(np.ones((10, 1000), np.float32), (1,), False, target[::2])

    assert target.tolist() == [1000, -1] * 10


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((100_000, 2), (0,)),
        ((70_001, 3), (0,)),
        ((5_000, 40), (0,)),
        ((1_027, 300), (0,)),
        ((3_000, 4, 3, 2), (0, 2, 3)),
        ((30, 17, 11, 64), (0, 1, 2)),
        ((3, 20_011, 5), (1,)),
        ((9, 700, 600), (1,)),
        ((2, 3, 4000, 1, 7), (0, 2)),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_errors_stay_small_over_leading_axes(shape: tuple[int, ...], axes: tuple[int, ...], dtype: type) -> None:
    """However many rows there are; against sums in float64."""
    x: Array = (np.random.default_rng(6).random(shape, np.float32) + np.float32(0.5)).astype(dtype)
    exact = x.astype(np.complex128).sum(axes)
    kept = np.expand_dims(exact, axes)

    assert np.abs(summed(x, axes) / exact - 1).max() < 8 * np.finfo(np.float32).eps
    assert np.abs(summed(x, axes, keepdims=True) / kept - 1).max() < 8 * np.finfo(np.float32).eps
    strided = np.repeat(x, 2, -1)[..., ::2]
    assert np.abs(summed(strided, axes) / exact - 1).max() < 8 * np.finfo(np.float32).eps


@pytest.mark.parametrize("width", [1, 2, 33, 300])
def test_many_small_numbers_come_to_a_large_one(width: int) -> None:
    """Added one by one to 2^24 in float32, a 1 would change nothing."""
    x = np.ones((40_000, width), np.float32)
    x[0] = 2**24

    assert np.abs(summed(x, 0) - (2**24 + 39_999)).max() < 2000


def test_axes_in_any_form() -> None:
    """All of them, one, or some from the end; integers become what NumPy makes of them."""
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

    assert summed(x, None).tolist() == 276
    assert summed(x, -1).tolist() == x.sum(-1).tolist()
    assert summed(x, (-1, 0), keepdims=True).tolist() == x.sum((0, 2), keepdims=True).tolist()
    assert summed(x.astype(np.int32), 1).dtype == np.int64


def test_no_numbers_over_leading_axes() -> None:
    """An infinity, two opposite ones and NaN stay in their columns."""
    x = np.ones((50_000, 4), np.float32)
    x[1234, 0], x[7, 1], x[40_000, 1], x[49_999, 2] = np.inf, np.inf, -np.inf, np.nan
    with np.errstate(all="ignore"):
        found = summed(x, 0)

    np.testing.assert_array_equal(found, [np.inf, np.nan, np.nan, 50_000])
