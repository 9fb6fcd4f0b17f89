"""Running totals, element by element in Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from aacl.abc import Array
from aacl.errors import InvalidArgument, UnsupportedDataType

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


def _running(row: list[float], start: float, join: Callable[[float, float], float], **how: bool) -> list[float]:
    """Return the running totals of a list."""
    items = row[::-1] if how["reverse"] else row
    total, found = start, []
    for item in items:
        after = join(total, item)
        found.append(total if how["exclusive"] else after)
        total = after
    return found[::-1] if how["reverse"] else found


@pytest.mark.parametrize("op_type", ["Cumsum", "Cumprod"])
@pytest.mark.parametrize("dtype", [*FLOATS, np.dtype(np.int8), np.dtype(np.int64), np.dtype(np.complex64)], ids=str)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_sums_and_products(run: Run, close: Close, op_type: str, dtype: np.dtype[Any], data: st.DataObject) -> None:
    """Exclusive, reversed or plain along any axis; halves in float32, rounded once each; integers wrap around."""
    shape = data.draw(hnp.array_shapes(max_dims=3, max_side=4, min_side=0))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    how = {"exclusive": data.draw(st.booleans()), "reverse": data.draw(st.booleans())}
    x = data.draw(hnp.arrays(np.int8, shape, elements=st.integers(-9, 9))).astype(dtype)
    if dtype.kind == "c":
        x = x * (1 + 1j)
    late = data.draw(st.booleans())
    (found,) = run(op_type, [x, np.int32(axis)], how, known=(1,), late=late)

    rows = np.moveaxis(x, axis, -1)
    join: Callable[[Any, Any], Any] = (lambda a, b: a + b) if op_type == "Cumsum" else (lambda a, b: a * b)
    exact = np.zeros(
        rows.shape, np.complex128 if dtype.kind == "c" else np.float64 if dtype.kind not in "iu" else object
    )
    for place in np.ndindex(rows.shape[:-1]):
        exact[place] = _running(rows[place].tolist(), op_type == "Cumprod", join, **how)
    expected = np.moveaxis(exact, -1, axis)
    if dtype.kind in "iu":
        bits = 8 * dtype.itemsize
        expected = ((expected + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)).astype(dtype)
    close(found, expected, units=4)
    if dtype in (np.float32, np.int8, np.float16):
        assert run(f"{op_type}D", [x], how | {"axis": axis})[0].tobytes() == found.tobytes()


def test_halves_accumulate_in_float32(run: Run) -> None:
    """Ones add up beyond 2048, where float16 alone would stay."""
    ones = np.ones(4096, np.float16)
    assert run("CumsumD", [ones], {"axis": 0})[0][-1] == 4096


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("exclusive", [True, False])
@pytest.mark.parametrize("reverse", [True, False])
def test_log_sum_exp(run: Run, close: Close, dtype: Any, exclusive: bool, reverse: bool) -> None:
    """Without overflow; an exclusive one starts at the lowest value, as TensorFlow documents."""
    x = np.array([[0.5, 900.0, -3.0, 900.0], [-1e4, 2.0, 3.0, float("-inf")]], dtype)
    how = {"exclusive": exclusive, "reverse": reverse}

    def join(total: float, item: float) -> float:
        top = max(total, item)
        return top if math.isinf(top) else top + math.log(math.exp(total - top) + math.exp(item - top))

    exact = [_running(row, -math.inf, join, **how) for row in x.tolist()]
    if exclusive:
        for row in exact:
            row[-1 if reverse else 0] = float(np.finfo(dtype).min)
    close(run("CumulativeLogsumexp", [x, np.int32(1)], how, known=(1,))[0], exact)
    close(run("CumulativeLogsumexpD", [x], how | {"axis": -1})[0], exact)


@pytest.mark.parametrize("op_type", ["Cummax", "Cummin"])
@pytest.mark.parametrize("dtype", [*FLOATS, np.dtype(np.uint8)], ids=str)
def test_running_extremes(run: Run, op_type: str, dtype: np.dtype[Any]) -> None:
    """The last of equal extremes is named; NaN, once there, stays."""
    rows: list[list[float]] = [[3, 1, 3, 5, 2, 5, 0]]
    if dtype.kind != "u":
        rows.append([1, float("nan"), 7, float("nan"), 9, -1, 4])
    x = np.array(rows).astype(dtype)
    name = "dim" if op_type == "Cummax" else "axis"
    values, places = run(op_type, [x.T.copy()], {name: 0})

    for row, found, where in zip(rows, values.T.astype(np.float64).tolist(), places.T.tolist(), strict=True):
        best = 0
        for place, item in enumerate(row):
            beats = item >= row[best] if op_type == "Cummax" else item <= row[best]
            if item != item or (row[best] == row[best] and beats):
                best = place
            assert where[place] == best
            assert str(found[place]) == str(float(row[best]))
    assert places.dtype == np.int32


def test_refusals(run: Run) -> None:
    """An axis outside the rank; complex numbers have no order."""
    with pytest.raises(InvalidArgument, match=r"operator CumsumD: axis 2 lies outside \[-2, 2\)"):
        run("CumsumD", [np.zeros((2, 3), np.float32)], {"axis": 2})
    with pytest.raises(UnsupportedDataType, match="COMPLEX64"):
        run("Cummax", [np.zeros(3, np.complex64)], {"dim": 0})
