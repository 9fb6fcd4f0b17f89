"""Places in sorted sequences, counted in Python."""

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
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


def _below(row: list[float], value: float, right: bool) -> int:
    return sum(item <= value if right else item < value for item in row)


@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[1], np.dtype(np.int32), np.dtype(np.int64)], ids=str)
@pytest.mark.parametrize("right", [True, False])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_bucketize(run: Run, dtype: np.dtype[Any], right: bool, data: st.DataObject) -> None:
    """How many boundaries are not above each element, or below it; exact for integers too."""
    edges = sorted(data.draw(st.lists(st.sampled_from([-1e30, -2.5, -1.0, 0.0, 0.5, 2.0, 1e30]), max_size=5)))
    x = data.draw(
        hnp.arrays(np.int8, hnp.array_shapes(min_dims=0, max_dims=2, max_side=3), elements=st.integers(-4, 4))
    )
    x = (x / (2 if dtype.kind == "f" else 1)).astype(dtype)
    (found,) = run("Bucketize", [x], {"boundaries": edges, "right": right, "dtype": 9})

    assert found.dtype == np.int64
    assert found.reshape(-1).tolist() == [_below(edges, item, right) for item in x.reshape(-1).tolist()]


def test_bucketize_large_integers(run: Run) -> None:
    """Numbers that float64 cannot tell apart are told apart."""
    x = np.array([2**53, 2**53 + 1])
    assert run("Bucketize", [x], {"boundaries": [float(2**53)], "right": False})[0].tolist() == [0, 1]
    with pytest.raises(InvalidArgument, match="must not fall"):
        run("Bucketize", [x], {"boundaries": [2.0, 1.0]})


@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[2], np.dtype(np.int8), np.dtype(np.int64)], ids=str)
@pytest.mark.parametrize("right", [True, False])
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_search_sorted(run: Run, dtype: np.dtype[Any], right: bool, data: st.DataObject) -> None:
    """One sequence for all, or one for each row; a sorter stands for sorting."""
    lead = data.draw(hnp.array_shapes(min_dims=0, max_dims=2, max_side=2))
    numbers = st.integers(-3, 3)
    sequence = data.draw(hnp.arrays(np.int8, (*lead, 4), elements=numbers)).astype(dtype)
    values = data.draw(hnp.arrays(np.int8, (*lead, 3), elements=numbers)).astype(dtype)
    order = np.argsort(sequence, axis=-1)
    ordered = np.take_along_axis(sequence, order, -1)
    (found,) = run("SearchSorted", [ordered, values], {"right": right})

    for place in np.ndindex(values.shape):
        assert found[place] == _below(ordered[place[:-1]].tolist(), float(values[place]), right)
    (again,) = run("SearchSorted", [sequence, values, order], {"right": right, "dtype": 3})
    assert again.tolist() == found.tolist()
    assert again.dtype == np.int32
    if len(lead) == 1 and dtype != np.int8:
        op_type = "UpperBound" if right else "LowerBound"
        assert run(op_type, [ordered, values], {"out_type": 9})[0].tolist() == found.tolist()


def test_one_sequence_for_all(run: Run) -> None:
    """A vector serves values of any shape, a single one too."""
    sequence = np.array([1, 3, 5], np.float32)
    assert run("SearchSorted", [sequence, np.array([[0, 3], [4, 9]], np.float32)])[0].tolist() == [[0, 1], [2, 3]]
    assert run("SearchSorted", [sequence, np.float32(4)])[0].tolist() == 2
    with pytest.raises(InvalidArgument, match="must agree in all dims but the last"):
        run("SearchSorted", [np.zeros((2, 3), np.float32), np.zeros((3, 3), np.float32)])
    with pytest.raises(IndexError, match="index 3"):
        run("SearchSorted", [sequence, sequence, np.array([0, 1, 3])])


@pytest.mark.parametrize("op_type", ["SearchSorted", "LowerBound", "UpperBound"])
def test_rows_without_elements(run: Run, op_type: str) -> None:
    """In an empty sequence every value comes first; no values, no places."""
    nothing, numbers = np.zeros((2, 0), np.float32), np.ones((2, 3), np.float32)

    attributes = {"out_type": DataType.INT32} if op_type == "UpperBound" else {}
    assert run(op_type, [nothing, numbers], attributes)[0].tolist() == [[0, 0, 0]] * 2
    assert run(op_type, [numbers, nothing], attributes)[0].shape == (2, 0)
