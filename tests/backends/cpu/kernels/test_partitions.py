"""Sharing rows out and gathering them, row by row."""

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
from aacl.errors import InvalidArgument

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


def _numbered(*shape: int, dtype: Any = np.float32) -> Array:
    return np.arange(1, math.prod(shape) + 1).reshape(shape).astype(dtype)


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_partition(run: Run, data: st.DataObject) -> None:
    """Rows in their order, ids of any rank."""
    ids = data.draw(
        hnp.arrays(np.int32, hnp.array_shapes(max_dims=2, max_side=3, min_side=0), elements=st.integers(0, 2))
    )
    tail = data.draw(st.sampled_from([(), (2,)]))
    x = _numbered(*ids.shape, *tail, dtype=np.int16)
    parts = run("DynamicPartition", [x, ids], {"num_partitions": 3})

    for number, part in enumerate(parts):
        assert part.tolist() == [x[place].tolist() for place in np.ndindex(ids.shape) if ids[place] == number]


def test_a_number_that_is_no_partition(run: Run) -> None:
    """It is refused."""
    with pytest.raises(IndexError, match=r"a partition lies outside \[0, 2\)"):
        run("DynamicPartition", [_numbered(2), np.array([0, 2], np.int32)], {"num_partitions": 2})
    with pytest.raises(InvalidArgument, match="num_partitions is 0"):
        run("DynamicPartition", [_numbered(2), np.array([0, 1], np.int32)], {"num_partitions": 0})


@pytest.mark.parametrize("op_type", ["DynamicStitch", "ParallelDynamicStitch"])
def test_stitch(run: Run, op_type: str) -> None:
    """A later list wins; rows that none names are 0."""
    indices = [np.array([[4, 0], [2, 2]], np.int32), np.array(0, np.int32)]
    parts = [_numbered(2, 2, 3), -_numbered(3)]
    (found,) = run(op_type, [*indices, *parts], {"N": 2}, known=(0, 1))

    assert found.tolist() == [[-1, -2, -3], [0, 0, 0], [10, 11, 12], [0, 0, 0], [1, 2, 3]]
    with pytest.raises(InvalidArgument, match="the indices' dims are the first ones of the data"):
        run(op_type, [indices[0], _numbered(2)], {"N": 1}, known=(0,))
    with pytest.raises(IndexError, match="the index -1 is negative"):
        run(op_type, [np.array([-1, 0], np.int32), _numbered(2)], {"N": 1}, known=(0,))
