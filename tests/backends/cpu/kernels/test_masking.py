"""Masks, element by element in Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp

from aacl.abc import Array
from aacl.errors import InvalidArgument

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


DTYPES = [FLOATS[0], FLOATS[2], BF16, np.dtype(np.int32), np.dtype(np.bool_)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@settings(max_examples=12, deadline=None)
@given(shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3, min_side=0))
def test_fill_and_select(run: Run, dtype: np.dtype[Any], shapes: Any) -> None:
    """Input and mask broadcast to each other."""
    (first, second), result = shapes.input_shapes, shapes.result_shape
    x = np.arange(math.prod(first)).reshape(first).astype(dtype)
    mask = np.random.default_rng(1).integers(0, 2, second).astype(bool)
    value = np.array([9]).astype(dtype)
    (filled,) = run("MaskedFill", [x, mask, value])
    wide, marks = np.broadcast_to(x, result), np.broadcast_to(mask, result)
    places = list(np.ndindex(result))

    assert [filled[place] for place in places] == [value[0] if marks[place] else wide[place] for place in places]
    if dtype != np.bool_:
        (selected,) = run("MaskedSelect", [x, mask])
        assert selected.tolist() == [wide[place] for place in places if marks[place]]
        if dtype in (np.float32, np.float16):
            assert run("MaskedSelectV2", [x, mask])[0].tobytes() == selected.tobytes()


def test_in_place(run: Run) -> None:
    """An input that is also the output."""
    x = np.array([1, 2, 3], np.float32)
    assert run("MaskedFill", [x, np.array([True, False, True]), np.float32(0)], into=0)[0].tolist() == [0, 2, 0]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_scatter(run: Run, dtype: np.dtype[Any]) -> None:
    """The updates in their order; the mask broadcasts; too few updates are refused and nothing is written."""
    x, updates = np.zeros((2, 3), dtype), np.array([1, 0, 1, 1, 0]).astype(dtype)
    (found,) = run("MaskedScatter", [x, np.array([True, False, True]), updates])

    assert found.astype(int).tolist() == [[1, 0, 0], [1, 0, 1]]
    with pytest.raises(ValueError, match="the mask is set at 6 places; there are 5 updates"):
        run("MaskedScatter", [x, np.array(True), updates])
    with pytest.raises(InvalidArgument, match="the mask broadcasts to x"):
        run("MaskedScatter", [x, np.ones((3, 2, 3), bool), updates])


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), np.dtype(np.int8)], ids=str)
def test_fill_range(run: Run, dtype: np.dtype[Any]) -> None:
    """Each loop fills each batch's range along the axis; a later loop over an earlier one."""
    x = np.zeros((2, 2, 4), dtype)
    start, end = np.array([[0, 1], [1, 3]], np.int32), np.array([[2, 4], [3, 9]], np.int32)
    (found,) = run("MaskedFillRange", [x, start, end, np.array([5, 6], dtype)], {"axis": -1})

    assert found.tolist() == [[[5, 6, 6, 0]] * 2, [[0, 5, 5, 6]] * 2]
    (row,) = run("MaskedFillRange", [x[0, 0], start[:1, :1], end[:1, :1], np.array([5], dtype)], {"axis": 0})
    assert row.tolist() == [5, 5, 0, 0]
    with pytest.raises(InvalidArgument, match="holds the batches"):
        run("MaskedFillRange", [x, start, end, np.array([5, 6], dtype)], {"axis": 0})
    with pytest.raises(InvalidArgument, match="one column for each batch"):
        run("MaskedFillRange", [x, start[:, :1], end[:, :1], np.array([5, 6], dtype)], {"axis": 1})


@pytest.mark.parametrize("kind", [np.int8, np.float16, np.float32])
def test_scale(run: Run, close: Close, kind: Any) -> None:
    """``x * mask * value``."""
    x, mask = np.array([1.5, -2, 3], np.float16), np.array([1, 0, 1], kind)
    close(run("MaskedScale", [x, mask], {"value": 1.25})[0], [1.875, 0, 3.75])
    with pytest.raises(InvalidArgument, match="must have one shape"):
        run("MaskedScale", [x, mask[:2]], {"value": 1.0})
