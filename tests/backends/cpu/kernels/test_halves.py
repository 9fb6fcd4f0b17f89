"""Half precision to float32 and back: the same bits whichever way it goes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from aacl.backends.cpu.kernels._halves import narrow, widen

HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_every_half_widens_exactly(dtype: np.dtype[Any]) -> None:
    """All 65,536 of them, infinities, subnormals and every NaN included."""
    halves = np.arange(2**16, dtype=np.uint16).view(dtype)
    found, exact = widen(halves), np.array([each.astype(np.float32) for each in halves], np.float32)

    np.testing.assert_array_equal(found, exact)
    assert np.signbit(found).tolist() == np.signbit(exact).tolist()


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_rounding_is_to_nearest_even(dtype: np.dtype[Any]) -> None:
    """Ties, what is just beside them, overflow, subnormals and NaN, against conversion one by one."""
    halves = np.arange(0, 2**16, 3, dtype=np.uint16).view(dtype).astype(np.float32)
    halves = halves[np.isfinite(halves)]
    bits = halves.view(np.uint32)
    half_step = 1 << (12 if dtype == np.float16 else 15)
    wide = np.concatenate(
        [(bits + offset).astype(np.uint32) for offset in (0, half_step - 1, half_step, half_step + 1)]
    )
    values = np.concatenate(
        [wide.view(np.float32), np.array([np.inf, -np.inf, np.nan, 65519.9, 65520, 1e-8, -1e-30], np.float32)]
    )
    found = np.empty(values.shape, dtype)
    narrow(values, found)
    with np.errstate(all="ignore"):
        exact = np.array([each.astype(dtype) for each in values], dtype)

    assert found[found == found].tobytes() == exact[exact == exact].tobytes()
    assert np.isnan(found.astype(np.float32)).tolist() == np.isnan(exact.astype(np.float32)).tolist()


@pytest.mark.parametrize("size", [0, 7, 5000])
def test_arrays_that_are_not_contiguous(size: int) -> None:
    """They are converted as well, whatever their size."""
    halves = np.arange(2 * size).astype(np.float16)[::2]
    out = np.empty(2 * size, np.float16)[::2]
    narrow(widen(halves), out)

    np.testing.assert_array_equal(out, halves)
