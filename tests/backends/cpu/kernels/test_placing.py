"""Rows and indexed places, one by one in Python."""

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


X = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.mark.parametrize("name", ["Update", "Add", "Sub"])
@pytest.mark.parametrize("into", [None, 0])
def test_rows(run: Run, name: str, into: int | None) -> None:
    """One row for each index; indices as an input or an attribute."""
    v = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], np.float32)
    exact = X.tolist()
    for place, row in zip((2, 0, 2), v.tolist(), strict=True):
        old = exact[place]
        exact[place] = {
            "Update": row, "Add": [a + b for a, b in zip(old, row, strict=True)],
            "Sub": [a - b for a, b in zip(old, row, strict=True)],
        }[name]  # fmt: skip

    indices = np.array([2, 0, 2], np.int32)
    assert run(f"Inplace{name}", [X, indices, v], into=into)[0].tolist() == exact
    assert run(f"Inplace{name}D", [X, v], {"indices": [2, 0, 2]}, into=into)[0].tolist() == exact
    with pytest.raises(IndexError, match=r"index 4 lies outside \[0, 4\) along axis 0"):
        run(f"Inplace{name}", [X, indices + 2, v])
    with pytest.raises(InvalidArgument, match=r"indices \(2, 0, 4\) lie outside \(4, 3\)"):
        run(f"Inplace{name}D", [X, v], {"indices": [2, 0, 4]})


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.dtype(np.float32), BF16, np.dtype(np.int64)], ids=str)
def test_index_add(run: Run, axis: int, dtype: np.dtype[Any]) -> None:
    """``alpha`` times each update, along any axis; equal indices add up."""
    x = X.astype(dtype)
    indices = np.array([1, 0, 1], np.int32)
    updates = np.ones((3, 3) if axis == 0 else (4, 3), dtype)
    exact = x.astype(np.float64)
    for number, place in enumerate(indices.tolist()):
        rows, new = np.moveaxis(exact, axis, 0), np.moveaxis(updates.astype(np.float64), axis, 0)
        rows[place] += 2 * new[number]

    (found,) = run("InplaceIndexAdd", [x, indices, updates, np.array([2], dtype)], {"axis": axis})
    assert found.astype(np.float64).tolist() == exact.tolist()
    if dtype == np.float32:
        (plain,) = run("IndexAdd", [x, indices, 2 * updates], {"axis": axis})
        assert plain.tolist() == exact.tolist()


def test_arg_max_grad(run: Run) -> None:
    """One update along the dimension, where the index says."""
    indices, updates = np.array([2, 0, 1, 1], np.int32), np.array([10, 20, 30, 40], np.float32)
    exact = X.tolist()
    for row, (place, value) in enumerate(zip(indices.tolist(), updates.tolist(), strict=True)):
        exact[row][place] = value

    assert run("ArgMaxGrad", [X, indices, updates], {"dimension": 1})[0].tolist() == exact
    assist = np.zeros((4, 3), np.int32)
    assert run("ArgMaxGradD", [X, indices, updates, assist], {"dimension": 1}, into=0)[0].tolist() == exact
    with pytest.raises(IndexError, match="index 3"):
        run("ArgMaxGrad", [X, indices + 1, updates], {"dimension": 1})


def test_index_fill(run: Run) -> None:
    """The first helper keeps, the second fills; NaN that is filled over is gone."""
    x = X.copy()
    x[:, 1] = np.nan
    keep, fill = np.ones_like(X), np.zeros_like(X)
    keep[:, 1], fill[:, 1] = 0, 5

    assert run("IndexFillD", [x, keep, fill], {"dim": 1})[0].tolist() == [[row[0], 5, row[2]] for row in X.tolist()]


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_index(run: Run, data: st.DataObject) -> None:
    """Torch's advanced indexing: index tensors broadcast; where they lie apart their dims come first."""
    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    marks = data.draw(st.lists(st.sampled_from([0, 1]), min_size=1, max_size=3).filter(any))
    shapes = data.draw(st.sampled_from([(2,), (2, 1), (1,), ()]))
    tensors = [
        data.draw(hnp.arrays(np.int64, shapes, elements=st.integers(-size, size - 1)))
        for mark, size in zip(marks, x.shape, strict=False)
        if mark
    ]
    given_inputs = [x, np.array(marks), np.array([12, 4, 1][: len(marks)]), *tensors]
    (found,) = run("Index", given_inputs, known=(1,))
    (again,) = run("IndexByTensor", [x, *tensors], {"indices_mask": marks})
    assert again.tolist() == found.tolist()

    rest = [axis for axis in range(3) if axis >= len(marks) or not marks[axis]]
    indexed = [axis for axis in range(3) if axis not in rest]
    together = indexed == list(range(indexed[0], indexed[0] + len(indexed)))
    lead = indexed[0] if together else 0
    for place in np.ndindex(found.shape):
        inner, outer = place[lead : lead + len(shapes)], place[:lead] + place[lead + len(shapes) :]
        where = [0, 0, 0]
        for axis, at in zip(rest, outer, strict=True):
            where[axis] = at
        for axis, tensor in zip(indexed, tensors, strict=True):
            where[axis] = int(tensor[inner]) % x.shape[axis]
        assert found[place] == x[tuple(where)]


@pytest.mark.parametrize("accumulate", [True, False])
def test_index_put(run: Run, accumulate: bool) -> None:
    """Values at the places that the index tensors name; they add up, or the last one stays."""
    rows, columns = np.array([0, 3, 0]), np.array([1, -1, 1])
    value = np.array([10, 20, 30], np.float32)
    exact = X.copy()
    for row, column, new in zip(rows.tolist(), columns.tolist(), value.tolist(), strict=True):
        exact[row, column] = exact[row, column] + new if accumulate else new

    inputs = [X, value, np.array([1, 1]), np.array([3, 1]), rows, columns]
    assert run("IndexPutV2", inputs, {"accumulate": accumulate})[0].tolist() == exact.tolist()
    with pytest.raises(IndexError, match=r"index 4 lies outside \[-4, 4\) along axis 0"):
        run("IndexPutV2", [*inputs[:4], rows + 1, columns])
    with pytest.raises(InvalidArgument, match="does not name 2 of the dims"):
        run("IndexPutV2", [X, value, np.array([1, 0]), np.array([3, 1]), rows, columns])


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("accumulate", [True, False])
def test_values_that_do_not_fit_the_indices(run: Run, accumulate: bool, late: bool) -> None:
    """They broadcast to what the indices pick, or are refused: beforehand where the marks are known."""
    x, marks, rows = np.zeros((3, 4), np.float32), np.array([1, 0]), np.array([0, 1])
    for value in (np.zeros(5, np.float32), np.zeros((3, 2, 4), np.float32)):
        with pytest.raises(InvalidArgument, match=r"of shape .* does not fit what is indexed, \(2, 4\)"):
            run("IndexPutV2", [x, value, marks, marks, rows], {"accumulate": accumulate},
                known=() if late else (2,))  # fmt: skip
    (found,) = run("IndexPutV2", [x, np.ones(1, np.float32), marks, marks, rows], {"accumulate": accumulate})
    assert found.tolist() == [[1] * 4, [1] * 4, [0] * 4]
