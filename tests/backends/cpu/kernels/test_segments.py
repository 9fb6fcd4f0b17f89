"""Rows that belong together, row by row in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from aacl.abc import Array, KernelRequest
from aacl.backends.cpu.kernels import find
from aacl.errors import InvalidArgument, UnsupportedDataType
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


DTYPES = [*FLOATS, np.dtype(np.int16), np.dtype(np.int64)]
JOINS: dict[str, Callable[[Any, Any], Any]] = {"Sum": np.add, "Prod": np.multiply, "Max": np.maximum, "Min": np.minimum}


def _empty(name: str, dtype: np.dtype[Any]) -> float:
    if name in ("Sum", "Prod"):
        return int(name == "Prod")
    limits: Any = np.iinfo(dtype) if dtype.kind in "iu" else ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return limits.min if name == "Max" else limits.max  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", JOINS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_unsorted(run: Run, close: Close, name: str, dtype: np.dtype[Any], data: st.DataObject) -> None:
    """Ids of any rank; negative ones are dropped, and an empty segment holds what the operator documents."""
    ids_shape = data.draw(hnp.array_shapes(max_dims=2, max_side=3, min_side=0))
    tail = data.draw(hnp.array_shapes(min_dims=0, max_dims=2, max_side=2))
    x = data.draw(hnp.arrays(np.int8, (*ids_shape, *tail), elements=st.integers(-3, 3))).astype(dtype)
    count = data.draw(st.integers(1, 4))
    ids = data.draw(hnp.arrays(np.int32, ids_shape, elements=st.integers(-2, count - 1)))
    late = data.draw(st.booleans())
    (found,) = run(f"UnsortedSegment{name}", [x, ids, np.int32(count)], known=(2,), late=late)

    for segment in range(count):
        rows = [x[place].astype(np.float64) for place in np.ndindex(ids_shape) if ids[place] == segment]
        exact = np.full(tail, _empty(name, dtype), np.float64)
        for number, row in enumerate(rows):
            exact = row if number == 0 else JOINS[name](exact, row)
        close(found[segment], exact if dtype.kind not in "iu" or rows else np.full(tail, _empty(name, dtype), dtype))
    if dtype in (np.float32, np.float16):
        again = run(f"UnsortedSegment{name}D", [x, ids], {"num_segments": count})[0]
        assert again.tobytes() == found.tobytes()


def test_an_id_beyond_the_segments(run: Run) -> None:
    """It is refused, and nothing is written."""
    x, ids, y = TensorDesc.of(np.float32, (2,)), TensorDesc.of(np.int32, (2,)), TensorDesc.of(np.float32, (2,))
    body = find(KernelRequest("UnsortedSegmentSumD", (x, ids), (y,), {"num_segments": 2})).body
    out = np.full(2, 7, np.float32)
    with pytest.raises(IndexError, match=r"index 2 lies outside \[0, 2\) along axis 0"):
        body(np.ones(2, np.float32), np.array([0, 2], np.int32), out)
    assert out.tolist() == [7, 7]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_sorted(run: Run, close: Close, dtype: np.dtype[Any], data: st.DataObject) -> None:
    """Ids that never fall; what none names holds 0."""
    ids = sorted(data.draw(st.lists(st.integers(0, 4), min_size=0, max_size=6)))
    x = data.draw(hnp.arrays(np.int8, (len(ids), 2), elements=st.integers(-3, 3))).astype(dtype)
    numbers = np.array(ids, np.int32)
    for op_type, join in (("SegmentSum", np.add), ("SegmentMax", np.maximum)):
        (found,) = run(op_type, [x, numbers], known=(1,))
        exact = np.zeros((ids[-1] + 1 if ids else 0, 2))
        for segment in set(ids):
            rows = [x[i].astype(np.float64) for i, each in enumerate(ids) if each == segment]
            total = rows[0]
            for row in rows[1:]:
                total = join(total, row)
            exact[segment] = total
        close(found, exact.astype(dtype) if dtype.kind == "i" else exact)
        if op_type == "SegmentMax" and dtype == np.float32:
            assert run("SegmentMaxD", [x], {"segment_ids": ids})[0].tobytes() == found.tobytes()


def test_sparse(run: Run, close: Close) -> None:
    """Rows by index first; the gradients go back to where the rows were taken from."""
    x = np.arange(12, dtype=np.float16).reshape(4, 3)
    indices, ids = np.array([3, 0, 0, 2], np.int32), np.array([0, 0, 2, 2], np.int32)
    rows = x.astype(float)
    exact = [(rows[3] + rows[0]).tolist(), [0, 0, 0], (rows[0] + rows[2]).tolist()]

    close(run("SparseSegmentSum", [x, indices, ids], known=(2,))[0], exact)
    close(run("SparseSegmentMean", [x, indices, ids], known=(2,))[0], np.array(exact) / 2)
    grad = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    sums = np.zeros((5, 2))
    for place, segment in zip(indices.tolist(), ids.tolist(), strict=True):
        sums[place] += grad[segment]
    close(run("SparseSegmentSumGrad", [grad, indices, ids, np.int32(5)], known=(3,))[0], sums)
    close(run("SparseSegmentMeanGrad", [grad, indices, ids, np.int32(5)], known=(3,), late=True)[0], sums / 2)
    with pytest.raises(IndexError, match=r"index 4 lies outside \[0, 4\)"):
        run("SparseSegmentSum", [x, indices + 1, ids], known=(2,))


def test_refusals(run: Run) -> None:
    """Ids that fall, are too few, or are not known."""
    x = np.zeros((3, 2), np.float32)
    with pytest.raises(InvalidArgument, match=r"segment ids \(1, 0, 2\) must be from 0 and never fall"):
        run("SegmentSum", [x, np.array([1, 0, 2])], known=(1,))
    with pytest.raises(InvalidArgument, match="one id for each row"):
        run("SegmentSum", [x, np.array([0, 0])], known=(1,))
    with pytest.raises(InvalidArgument, match="the ids' dims are the first ones of x"):
        run("UnsortedSegmentSum", [x, np.zeros((3, 3), np.int32), np.int32(1)], known=(2,))
    with pytest.raises(UnsupportedDataType, match="COMPLEX64"):
        run("UnsortedSegmentMax", [x.astype(np.complex64), np.zeros(3, np.int32), np.int32(1)], known=(2,))
    schema = schema_of("SegmentSum")
    (bounds,) = infer_outputs(schema, [TensorDesc.of(np.float32, (3, 2)), TensorDesc.of(np.int32, (3,))], {})
    assert bounds.shape == (-1, 2)
