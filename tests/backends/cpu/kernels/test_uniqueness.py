"""Distinct elements, with Python's dictionaries."""

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
from aacl.errors import InvalidArgument, UnsupportedDataType

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


DTYPES = [FLOATS[0], FLOATS[1], FLOATS[2], np.dtype(np.int8), np.dtype(np.uint8), np.dtype(np.int64)]


def _firsts(items: list[Any]) -> dict[Any, int]:
    """Return the place of each distinct item's first occurrence."""
    found: dict[Any, int] = {}
    for place, item in enumerate(items):
        found.setdefault(item, place)
    return found


def _few(data: st.DataObject, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    return data.draw(hnp.arrays(np.int8, shape, elements=st.integers(0, 3))).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_by_occurrence(run: Run, dtype: np.dtype[Any], data: st.DataObject) -> None:
    """Distinct elements as they first occur, the number of each element, and the counts."""
    x = _few(data, dtype, (data.draw(st.integers(0, 9)),))
    items = x.tolist()
    distinct = list(_firsts(items))
    y, idx, count = run("UniqueWithCounts", [x], {"out_idx": 9})

    assert y.tolist() == distinct
    assert idx.tolist() == [distinct.index(item) for item in items]
    assert count.tolist() == [items.count(item) for item in distinct]
    assert idx.dtype == np.int64
    again = run("Unique", [x])
    assert [each.tolist() for each in again] == [distinct, idx.tolist()]
    assert again[1].dtype == np.int32


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("ordered", [True, False])
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_sorted(run: Run, dtype: np.dtype[Any], ordered: bool, data: st.DataObject) -> None:
    """Of an input of any shape; numbers and counts only where they are asked for."""
    x = _few(data, dtype, data.draw(hnp.array_shapes(max_dims=2, max_side=4, min_side=0)))
    items = x.reshape(-1).tolist()
    distinct = sorted(set(items)) if ordered else list(_firsts(items))
    asked = {"return_inverse": data.draw(st.booleans()), "return_counts": data.draw(st.booleans()), "sorted": ordered}
    y, indices, counts = run("UniqueWithCountsAndSorting", [x], asked)

    assert y.tolist() == distinct
    numbers = np.array([distinct.index(item) for item in items], np.int64).reshape(x.shape)
    assert indices.tolist() == (numbers.tolist() if asked["return_inverse"] else [])
    assert counts.tolist() == ([items.count(item) for item in distinct] if asked["return_counts"] else [])
    everything = {"sorted": int(ordered), "return_idx": True, "return_inverse": True, "return_counts": True}
    y, firsts, inverse, counts = run("UniqueV2", [x], everything)
    assert y.tolist() == distinct
    assert firsts.tolist() == [_firsts(items)[item] for item in distinct]
    assert inverse.tolist() == numbers.reshape(-1).tolist()
    assert counts.tolist() == [items.count(item) for item in distinct]


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_slices(run: Run, data: st.DataObject) -> None:
    """Distinct slices along an axis."""
    x = _few(data, np.dtype(np.int32), (data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3)))) % 2
    axis = data.draw(st.sampled_from([0, 1, -1]))
    slices = [tuple(part) for part in (x if axis == 0 else x.T).tolist()]
    distinct = list(_firsts(slices))
    late = data.draw(st.just(False))
    y, idx = run("UniqueExt2", [x, np.array([axis])], known=(1,), late=late)
    parts = [tuple(part) for part in (y if axis == 0 else y.T).tolist()]

    assert parts == distinct
    assert idx.tolist() == [distinct.index(each) for each in slices]
    y, *_ = run("UniqueV2", [x], {"axis": axis})
    assert [tuple(part) for part in (y if axis == 0 else y.T).tolist()] == sorted(distinct)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_consecutive(run: Run, dtype: np.dtype[Any], data: st.DataObject) -> None:
    """The first of each run, each element's run, and how long the runs are."""
    import itertools

    x = _few(data, dtype, (data.draw(st.integers(0, 9)),))
    runs = [(item, len(list(group))) for item, group in itertools.groupby(x.tolist())]
    for axis in (1000, 0):
        y, idx, count = run("UniqueConsecutive", [x], {"return_idx": True, "return_counts": True, "axis": axis})
        assert y.tolist() == [item for item, _ in runs]
        assert idx.tolist() == [number for number, (_, length) in enumerate(runs) for _ in range(length)]
        assert count.tolist() == [length for _, length in runs]
    _, idx, count = run("UniqueConsecutive", [x])
    assert (idx.size, count.size) == (0, 0)


def test_consecutive_slices(run: Run) -> None:
    """Runs of equal columns."""
    x = np.array([[1, 1, 2], [3, 3, 3]], np.int32)
    y, idx, count = run("UniqueConsecutive", [x], {"return_idx": True, "return_counts": True, "axis": 1})
    assert (y.tolist(), idx.tolist(), count.tolist()) == ([[1, 2], [3, 3]], [0, 0, 1], [2, 1])


def test_every_nan_is_distinct(run: Run) -> None:
    """As no NaN equals another; both zeros are one element."""
    nan = float("nan")
    y, idx = run("Unique", [np.array([nan, 0.0, nan, -0.0], np.float32)])
    assert str(y.tolist()) == "[nan, 0.0, nan]"
    assert idx.tolist() == [0, 1, 2, 1]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_list_diff(run: Run, dtype: np.dtype[Any], data: st.DataObject) -> None:
    """What the second list has not, duplicates kept."""
    x, y = (_few(data, dtype, (data.draw(st.integers(0, 6)),)) for _ in range(2))
    out, idx = run("ListDiff", [x, y], {"out_idx": 9})
    left = [(item, place) for place, item in enumerate(x.tolist()) if item not in y.tolist()]

    assert list(zip(out.tolist(), idx.tolist(), strict=True)) == left


@pytest.mark.parametrize("transpose", [True, False])
def test_non_zero_with_value(run: Run, transpose: bool) -> None:
    """Values, coordinates and their number; NaN is not zero."""
    x = np.array([[0, 5, 0], [float("nan"), 0, 7]], np.float32)
    value, index, count = run("NonZeroWithValue", [x], {"transpose": transpose})
    rows = [[0, 1], [1, 0], [1, 2]]

    assert str(value.tolist()) == "[5.0, nan, 7.0]"
    assert index.tolist() == ([list(row) for row in zip(*rows, strict=True)] if transpose else rows)
    assert count.tolist() == [3]
    assert {index.dtype, count.dtype} == {np.dtype(np.int32)}


def test_refusals(run: Run) -> None:
    """Ranks and axes that do not fit; an index dtype that is not given."""
    with pytest.raises(InvalidArgument, match=r"input x of shape \(2, 2\) must have one dim"):
        run("Unique", [np.zeros((2, 2), np.float32)])
    with pytest.raises(UnsupportedDataType, match=r"out_idx is .*; it takes INT32 \(3\), INT64 \(9\)"):
        run("Unique", [np.zeros(2, np.float32)], {"out_idx": "FLOAT"})
    with pytest.raises(InvalidArgument, match="axis 2 lies outside"):
        run("UniqueExt2", [np.zeros((2, 2), np.float32), np.array([2])], known=(1,))


def test_no_slices_to_tell_apart(run: Run) -> None:
    """Of an empty axis there are no distinct slices."""
    found, numbers = run("UniqueExt2", [np.zeros((0, 2), np.float32), np.array([0], np.int32)], known=(1,))

    assert found.shape == (0, 2)
    assert numbers.shape == (0,)
