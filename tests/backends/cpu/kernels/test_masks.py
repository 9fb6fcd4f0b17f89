"""Selection by a mask."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from aacl.abc import Array
from aacl.backends.cpu.kernels import _masks
from aacl.backends.cpu.kernels._masks import select

DTYPES = [
    np.bool_,
    np.int8,
    np.float16,
    ml_dtypes.bfloat16,
    np.int32,
    np.float32,
    np.float64,
    np.complex64,
    np.complex128,
]


@pytest.fixture(autouse=True)
def _small_is_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Combine bits from ten elements on, and in several blocks."""
    monkeypatch.setattr(_masks, "_MANY", 10)
    monkeypatch.setattr(_masks, "_BLOCK", 16)


def _choices(dtype: Any, count: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(count)
    numbers = rng.integers(0, 2, (3, count)) if dtype is np.bool_ else rng.integers(-99, 99, (3, count))
    mask, then, otherwise = numbers
    return mask % 2 == 0, then.astype(dtype), otherwise.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("count", [0, 3, 10, 16, 100])
def test_each_element(dtype: Any, count: int) -> None:
    """It is that of one choice, bit for bit, also where the output is one of them."""
    mask, then, otherwise = _choices(dtype, count)
    if count and np.dtype(dtype).kind == "f":
        then[0], otherwise[count - 1] = np.nan, -0.0
    expected = [first if each else second for each, first, second in zip(mask, then, otherwise, strict=True)]
    wanted = np.array(expected, dtype).tobytes()
    out = np.empty(count, dtype)
    select(mask, then, otherwise, out)

    assert out.tobytes() == wanted
    for place in (0, 1):
        pair = [then.copy(), otherwise.copy()]
        select(mask, pair[0], pair[1], pair[place])
        assert pair[place].tobytes() == wanted


def test_any_byte_but_0_is_true() -> None:
    """A program may have copied anything where bools are."""
    mask = np.arange(40, dtype=np.uint8).view(np.bool_)
    out = np.empty(40, np.float32)
    select(mask, np.full(40, 7, np.float32), np.zeros(40, np.float32), out)

    assert out.tolist() == [0] + [7] * 39


def test_other_shapes_broadcast() -> None:
    """A column of the mask and one number for all rows."""
    mask = np.arange(12).reshape(12, 1) % 2 == 0
    out = np.empty((12, 5), np.int32)
    select(mask, np.arange(5, dtype=np.int32), np.array(-1, np.int32), out)

    assert out.tolist() == [[0, 1, 2, 3, 4], [-1] * 5] * 6
