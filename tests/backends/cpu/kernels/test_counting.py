"""Histograms and counts, one by one in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from aacl.abc import Array
from aacl.errors import InvalidArgument

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


def _histogram(items: list[float], low: float, high: float, bins: int) -> list[int]:
    """Count as torch.histc documents: equal bins, the last one closed, what lies outside left out."""
    counts = [0] * bins
    for item in items:
        if low <= item <= high:
            counts[min(int((item - low) / (high - low) * bins), bins - 1)] += 1
    return counts


@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[2], np.dtype(np.int32), np.dtype(np.int8)], ids=str)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_histogram(run: Run, dtype: np.dtype[Any], data: st.DataObject) -> None:
    """Counts of the input's dtype, float for float16; equal ends stand for the data's own."""
    x = data.draw(hnp.arrays(np.int8, (2, 5), elements=st.integers(-6, 6))).astype(dtype)
    bins = data.draw(st.integers(1, 5))
    items = x.reshape(-1).tolist()
    (found,) = run("Histogram", [x], {"bins": bins, "min": -4, "max": 4})
    assert found.tolist() == _histogram(items, -4, 4, bins)
    assert found.dtype == (np.float32 if dtype.kind == "f" else dtype)
    (found,) = run("Histogram", [x], {"bins": bins})
    low, high = min(items), max(items)
    assert found.tolist() == _histogram(items, low - (low == high), high + (low == high), bins)
    ends = [np.array([end]).astype(dtype) for end in (-4, 4)]
    assert run("HistogramV2", [x, *ends], {"bins": bins})[0].tolist() == _histogram(items, -4, 4, bins)


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[2], np.dtype(np.int64)], ids=str)
def test_fixed_width(run: Run, late: bool, dtype: np.dtype[Any]) -> None:
    """What lies beyond the ends counts in the first and the last bin."""
    x, ends = np.array([-1, 0, 2, 5, 4, 9]).astype(dtype), np.array([0, 5]).astype(dtype)
    exact = [2, 0, 1, 0, 3]

    (found,) = run("HistogramFixedWidth", [x, ends, np.int32(5)], known=(2,), late=late)
    assert found.tolist() == exact
    assert found.dtype == np.int32
    assert run("HistogramFixedWidthD", [x, ends], {"nbins": 5})[0].tolist() == exact
    with pytest.raises(ValueError, match="needs a range that rises"):
        run("HistogramFixedWidthD", [x, ends[::-1]], {"nbins": 5})
    with pytest.raises(InvalidArgument, match="0 bins"):
        run("HistogramFixedWidthD", [x, ends], {"nbins": 0})


@pytest.mark.parametrize("late", [True, False])
def test_bincount(run: Run, late: bool) -> None:
    """Weighted or not; numbers from ``size`` on are left out, negative ones refused."""
    numbers, none = np.array([0, 2, 2, 7], np.int32), np.zeros(0, np.int32)
    weights = np.array([0.5, 1, 2, 9], np.float32)

    assert run("Bincount", [numbers, np.int32(4), none], known=(1,), late=late)[0].tolist() == [1, 0, 2, 0]
    assert run("Bincount", [numbers, np.int32(4), weights], known=(1,), late=late)[0].tolist() == [0.5, 0, 3, 0]
    with pytest.raises(ValueError, match="the number -1 is negative"):
        run("Bincount", [numbers - 1, np.int32(4), none], known=(1,))
    with pytest.raises(InvalidArgument, match="one weight for each number"):
        run("Bincount", [numbers, np.int32(4), weights[:3]], known=(1,))


def test_dense_bincount(run: Run) -> None:
    """Row by row; a binary output says only what occurs."""
    numbers = np.array([[0, 2, 2], [1, 1, 9]], np.int64)
    none, weights = np.zeros(0, np.float32), np.array([[1, 2, 4], [8, 16, 32]], np.float32)
    three = np.int64(3)

    assert run("DenseBincount", [numbers, three, none], known=(1,))[0].tolist() == [[1, 0, 2], [0, 2, 0]]
    assert run("DenseBincount", [numbers, three, weights], known=(1,))[0].tolist() == [[1, 0, 6], [0, 24, 0]]
    (found,) = run("DenseBincount", [numbers, three, none], {"binary_output": True}, known=(1,))
    assert found.tolist() == [[1, 0, 1], [0, 1, 0]]
    assert run("DenseBincount", [numbers[0], three, none], known=(1,))[0].tolist() == [1, 0, 2]
