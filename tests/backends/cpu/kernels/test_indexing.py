"""Picking by index, element by element in Python."""

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

from aacl.abc import Array, KernelRequest
from aacl.backends.cpu.kernels import find
from aacl.ops._catalogue import schema_of
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(np.float32), np.dtype(np.float16), BF16, np.dtype(np.int64), np.dtype(np.uint8), np.dtype(np.bool_)]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_gather(run: Run, dtype: np.dtype[Any], late: bool, data: st.DataObject) -> None:
    """Along any axis, with indices of any shape, 0-d and empty ones too."""
    shape = data.draw(hnp.array_shapes(max_dims=3, max_side=3))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = np.arange(math.prod(shape)).reshape(shape).astype(dtype)
    places = data.draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
    indices = np.random.default_rng(1).integers(0, shape[axis], places).astype(np.int32)
    (found,) = run("GatherV2", [x, indices, np.array(axis)], known=(2,), late=late)

    head = axis % len(shape)
    for place in np.ndindex(*found.shape):
        inner = int(indices[place[head : head + indices.ndim]])
        assert found[place] == x[(*place[:head], inner, *place[head + indices.ndim :])]
    if head == 0:
        assert run("Gather", [x, indices])[0].tobytes() == found.tobytes()
    if dtype in (np.float32, np.int64):
        assert run("GatherV2D", [x, indices], {"axis": axis})[0].tobytes() == found.tobytes()


def test_batch_dims(run: Run) -> None:
    """Each batch has its own indices."""
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    indices = np.array([[0, 2], [1, 1]])
    exact = [[x[b, i].tolist() for i in indices[b]] for b in range(2)]

    assert run("Gather", [x, indices], {"batch_dims": 1})[0].tolist() == exact
    (found,) = run("GatherV2", [x, indices, np.array(2)], {"batch_dims": 1}, known=(2,))
    assert found.tolist() == [[[x[b, r, i] for i in indices[b]] for r in range(3)] for b in range(2)]


@pytest.mark.parametrize("wrong", [-1, 3, 2**40])
def test_index_out_of_range(wrong: int) -> None:
    """The error names the index, the axis and its length; the output is not touched."""
    x, indices, y = (TensorDesc.of(d, s) for d, s in ((np.float32, (3, 2)), (np.int64, (2,)), (np.float32, (2, 2))))
    body = find(KernelRequest("Gather", (x, indices), (y,), schema_of("Gather").complete({}))).body
    out = np.full((2, 2), 7, np.float32)

    with pytest.raises(IndexError, match=rf"index {wrong} lies outside \[0, 3\) along axis 0"):
        body(np.zeros((3, 2), np.float32), np.array([0, wrong]), out)
    assert (out == 7).all()


def test_negative_indices(run: Run) -> None:
    """Counted from the end where the attribute allows them."""
    x, indices = np.array([1, 2, 3], np.float32), np.array([-1, 0, -3])

    assert run("Gather", [x, indices], {"negative_index_support": True})[0].tolist() == [3, 1, 1]
    with pytest.raises(IndexError, match=r"index -4 lies outside \[-3, 3\)"):
        run("Gather", [x, np.array([-4])], {"negative_index_support": True})
    with pytest.raises(IndexError, match="index -1"):
        run("Gather", [x, np.array([-1])])


def test_gather_from_nothing(run: Run) -> None:
    """An empty axis has no index; no indices need none."""
    assert run("Gather", [np.zeros((0, 2), np.float32), np.zeros(0, np.int64)])[0].shape == (0, 2)
    with pytest.raises(IndexError, match=r"index 0 lies outside \[0, 0\)"):
        run("Gather", [np.zeros((0, 2), np.float32), np.zeros(1, np.int64)])


def test_gather_nd(run: Run) -> None:
    """Index tuples along the last dim."""
    x = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    indices = np.array([[2, 1], [0, 0]])

    assert run("GatherNd", [x, indices])[0].tolist() == [x[2, 1].tolist(), x[0, 0].tolist()]
    assert run("GatherNd", [x, np.zeros((2, 0), np.int32)])[0].tolist() == [x.tolist()] * 2
    with pytest.raises(IndexError, match=r"index 2 lies outside .* along axis 1"):
        run("GatherNd", [x, np.array([[0, 2]])])


def test_gather_elements(run: Run) -> None:
    """Each index replaces its own coordinate along ``dim``."""
    x, index = np.array([[1, 2], [3, 4], [5, 6]], np.float32), np.array([[0, 0], [1, 0]])

    assert run("GatherElements", [x, index], {"dim": 1})[0].tolist() == [[1, 1], [4, 3]]
    assert run("GatherElements", [x, index])[0].tolist() == [[1, 2], [3, 2]]
    with pytest.raises(IndexError):
        run("GatherElements", [x, index + 3])


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("late", [False, True])
def test_one_hot(run: Run, axis: int, late: bool) -> None:
    """Values on and off; indices outside the depth give all off."""
    x = np.array([0, 2, -1, 5], np.int32)
    rows = [[7 if index == place else 3 for place in range(3)] for index in x]
    exact = np.array(rows).T.tolist() if axis == 0 else rows

    (found,) = run("OneHot", [x, np.int32(3), np.int64(7), np.int64(3)], {"axis": axis}, known=(1,), late=late)
    assert (found.dtype, found.tolist()) == (np.dtype(np.int64), exact)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_coordinates(run: Run, dtype: np.dtype[Any], data: st.DataObject) -> None:
    """Those of the elements that are not 0, in their order, at the start of an output as large as it may get."""
    shape = data.draw(hnp.array_shapes(max_dims=3, max_side=4, min_side=0))
    x = data.draw(hnp.arrays(np.int8, shape, elements=st.integers(0, 2))).astype(dtype)
    exact = [list(place) for place in np.ndindex(*shape) if x[place] != 0]
    columns = [[place[axis] for place in exact] for axis in range(len(shape))]

    for op_type, kind in (("NonZero", "int64"), ("NonZero", "int32"), ("Where", "int64")):
        attributes = {"dtype": kind.upper()} if op_type == "NonZero" else {}
        (found,) = run(op_type, [x], attributes)
        assert (found.dtype, found.shape) == (np.dtype(kind), (len(exact), len(shape)))
        assert found.tolist() == exact
    (turned,) = run("NonZero", [x], {"transpose": True})
    assert turned.shape == (len(shape), len(exact))
    assert turned.tolist() == columns


def test_coordinates_need_room() -> None:
    """An output that is too small is refused and not written to."""
    desc = TensorDesc.of(np.int32, (3,))
    complete = schema_of("NonZero").complete({})
    body = find(KernelRequest("NonZero", (desc,), (TensorDesc.of(np.int64, (2, 1)),), complete)).body
    out = np.full((2, 1), -1, np.int64)

    with pytest.raises(ValueError, match=r"the result has shape \(3, 1\); the output \(2, 1\) cannot hold it"):
        body(np.ones(3, np.int32), out)
    assert (out == -1).all()


@pytest.mark.parametrize("late", [False, True])
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_gather_along_an_input(run: Run, late: bool, data: st.DataObject) -> None:
    """GatherD: the dim is an input, and indices may count from the end."""
    shape = data.draw(hnp.array_shapes(max_dims=3, max_side=3))
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    places = tuple(data.draw(st.integers(1, size)) for size in shape)
    index = data.draw(hnp.arrays(np.int32, places, elements=st.integers(-shape[dim], shape[dim] - 1)))
    x = np.arange(math.prod(shape)).reshape(shape)
    (found,) = run("GatherD", [x, np.int32(dim), index], known=(1,), late=late)

    for place in np.ndindex(places):
        where = list(place)
        where[dim] = int(index[place]) % shape[dim]
        assert found[place] == x[tuple(where)]
    with pytest.raises(IndexError, match="lies outside"):
        run("GatherD", [x, np.int32(dim), index + 9], known=(1,), late=late)


def test_one_hot_attribute(run: Run) -> None:
    """The depth as an attribute; what lies outside is all off."""
    (found,) = run("OneHotD", [np.array([1, 7], np.int32), np.float16(2), np.float16(-1)], {"depth": 2})
    assert found.tolist() == [[-1, 2], [-1, -1]]
