"""Maximum and minimum with one number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from aacl.backends.cpu.kernels import _limits
from aacl.backends.cpu.kernels._limits import limited


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64])
@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 5), (64,), (2, 64), (13, 31)])
def test_each_element(monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], dtype: Any) -> None:
    """Below a row, a whole number of rows and a rest of one: each is compared, NaN stays."""
    monkeypatch.setattr(_limits, "_ROW", 64)
    x = (np.arange(np.prod(shape, dtype=int)) % 11 - 5).reshape(shape).astype(dtype)
    if x.dtype.kind == "f" and x.size:
        x.reshape(-1)[x.size // 2] = np.nan
    for ufunc, choose in ((np.maximum, max), (np.minimum, min)):
        out = np.empty(shape, dtype)
        limited(ufunc, 2, np.dtype(dtype), x.size)(x, out)

        expected = [value if value != value else choose(value, 2) for value in x.reshape(-1).tolist()]
        np.testing.assert_array_equal(out.reshape(-1), expected)


def test_arrays_that_are_not_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are compared as well, and the output may be the input."""
    monkeypatch.setattr(_limits, "_ROW", 8)
    whole = np.arange(-30, 30, dtype=np.float32)
    x = whole[::2]
    limited(np.maximum, 0, x.dtype, x.size)(x, x)

    assert whole.tolist() == [max(number, 0) if number % 2 == 0 else number for number in range(-30, 30)]
