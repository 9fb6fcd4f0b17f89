"""Sorting and the places of extremes, against Python's sorted."""

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
from aacl.errors import InvalidArgument
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


DTYPES = [*FLOATS, np.dtype(np.int8), np.dtype(np.uint8), np.dtype(np.int32), np.dtype(np.int64)]


def _ranked(row: list[Any], descending: bool) -> list[int]:
    """Return places in order: NaN above all numbers, equal ones by their index."""

    def key(place: int) -> tuple[bool, Any, int]:
        value = row[place]
        is_nan = value != value
        number = 0 if is_nan else value
        return (is_nan != descending, -number if descending else number, place)

    return sorted(range(len(row)), key=key)


def _numbers(data: st.DataObject, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        few = st.integers(0, 4) | st.sampled_from([int(limits.min), int(limits.max)])
        return data.draw(hnp.arrays(dtype, shape, elements=few))
    few_floats = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5, float("inf"), float("-inf"), float("nan"), 3.0])
    return data.draw(hnp.arrays(np.float32, shape, elements=few_floats)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("largest", [True, False])
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_top_k(run: Run, dtype: np.dtype[Any], largest: bool, data: st.DataObject) -> None:
    """The k first in order along any dim, ties by index, NaN greatest; the partial sort agrees with the full one."""
    shape = data.draw(hnp.array_shapes(max_dims=3, max_side=3))
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    length = data.draw(st.integers(1, 20))
    shape = (*shape[: dim % len(shape)], length, *shape[dim % len(shape) + 1 :])
    k = data.draw(st.integers(0, length))
    x = _numbers(data, dtype, shape)
    late = data.draw(st.booleans())
    attributes = {"largest": largest, "dim": dim}
    values, places = run("TopKV2", [x, np.int32(k)], attributes, known=(1,), late=late)

    rows, found = np.moveaxis(x, dim, -1), np.moveaxis(places, dim, -1)
    for place in np.ndindex(rows.shape[:-1]):
        assert found[place].tolist() == _ranked(rows[place].tolist(), largest)[:k]
    assert places.dtype == np.int32
    assert values.tobytes() == np.take_along_axis(x, places.astype(np.int64), dim).tobytes()
    (again, _) = run("TopK", [x, np.int32(k)], attributes, known=(1,))
    assert again.tobytes() == values.tobytes()
    sequence = np.arange(2 * length, dtype=np.float16)
    (again, found) = run("TopKV2D", [x, np.int32(k), sequence], attributes, known=(1,), late=late)
    assert (again.tobytes(), found.tobytes()) == (values.tobytes(), places.tobytes())
    (again, _) = run("TopKD", [x, np.arange(4, dtype=np.float16)], attributes | {"k": k})
    assert again.tobytes() == values.tobytes()


def test_top_k_of_many(run: Run) -> None:
    """A few of many elements are picked without sorting all."""
    x = np.random.default_rng(0).integers(0, 50, (3, 1000)).astype(np.float32)
    values, places = run("TopK", [x, np.int32(7)], known=(1,))

    for row, numbers, found in zip(x.tolist(), values.tolist(), places.tolist(), strict=True):
        assert found == _ranked(row, True)[:7]
        assert numbers == [row[place] for place in found]


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.uint64])
def test_top_k_of_unsigned(run: Run, dtype: Any) -> None:
    """Beyond the signed types' range too."""
    most = int(np.iinfo(dtype).max)
    x = np.array([3, most, 0, most // 2 + 1, most], dtype)
    assert run("TopK", [x, np.int32(4)], known=(1,))[1].tolist() == [1, 4, 3, 0]
    assert run("TopK", [x, np.int32(4)], {"largest": False}, known=(1,))[1].tolist() == [2, 0, 3, 1]


def test_top_k_refuses(run: Run) -> None:
    """A k that the dim does not hold, at preparation or at the run."""
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(InvalidArgument, match=r"operator TopK: k is 4, which dim 1 .*\(2, 3\)"):
        run("TopK", [x, np.int32(4)], known=(1,))
    info = TensorDesc.of(np.float32, (2, 3))
    request = KernelRequest(
        "TopK", (info, TensorDesc.of(np.int32, ())), (TensorDesc.of(np.float32, (2, 2)), TensorDesc.of(np.int32, (2, 2))),
        schema_of("TopK").complete({}),
    )  # fmt: skip
    with pytest.raises(InvalidArgument, match="k is 3; dim 1 of the input has 3 elements, of the output 2"):
        find(request).body(x, np.array(3), np.zeros((2, 2), np.float32), np.zeros((2, 2), np.int32))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("descending", [True, False])
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_sort(run: Run, dtype: np.dtype[Any], descending: bool, data: st.DataObject) -> None:
    """Values and places along any axis, stable, NaN greatest."""
    shape = data.draw(hnp.array_shapes(max_dims=3, max_side=5, min_side=0))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = _numbers(data, dtype, shape)
    attributes = {"axis": axis, "descending": descending}
    if dtype == np.float64:
        (values,) = run("SortV2", [x], attributes)
        places = None
    else:
        values, places = run("Sort", [x], attributes)

    rows, ordered = np.moveaxis(x, axis, -1), np.moveaxis(values, axis, -1)
    for place in np.ndindex(rows.shape[:-1]):
        exact = _ranked(rows[place].tolist(), descending)
        assert str([rows[place].tolist()[i] for i in exact]).replace("-0.0", "0.0") == str(
            ordered[place].tolist()
        ).replace("-0.0", "0.0")
        if places is not None:
            assert np.moveaxis(places, axis, -1)[place].tolist() == exact


def test_scalars(run: Run) -> None:
    """A 0-d input is sorted already, and its own extreme."""
    values, places = run("Sort", [np.float32(3)])
    assert (values.tolist(), places.tolist()) == (3, 0)
    place, value = run("ArgMaxWithValue", [np.float32(3)], {"dimension": 0})
    assert (place.tolist(), value.tolist()) == (0, 3)


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("op_type", ["ArgMaxWithValue", "ArgMinWithValue"])
@pytest.mark.parametrize("dtype", [*FLOATS[:1], *FLOATS[2:], np.dtype(np.int32)], ids=str)
def test_extreme_with_value(run: Run, op_type: str, keep: bool, dtype: np.dtype[Any]) -> None:
    """The index comes first, then the value; the first of equal extremes, or the first NaN."""
    rows = [[3, 5, 5, 1], [2, 1, 1, 7]]
    best = max if op_type == "ArgMaxWithValue" else min
    places, values = run(op_type, [np.array(rows, dtype)], {"dimension": -1, "keep_dims": keep})

    assert places.reshape(-1).tolist() == [row.index(best(row)) for row in rows]
    assert values.reshape(-1).tolist() == [best(row) for row in rows]
    assert places.shape == values.shape == ((2, 1) if keep else (2,))
    if dtype.kind != "i":
        places, values = run(op_type, [np.array([1, np.nan, 9, np.nan], dtype)], {"dimension": 0})
        assert places.tolist() == 1
        assert np.isnan(values.astype(np.float32))
    with pytest.raises(InvalidArgument, match=r"dimension 0 of shape \(0,\) is empty"):
        run(op_type, [np.zeros(0, dtype)], {"dimension": 0})


@pytest.mark.parametrize("reverse", [True, False])
@pytest.mark.parametrize("late", [True, False])
def test_nth_element(run: Run, reverse: bool, late: bool) -> None:
    """The n-th in order along the last dim."""
    x = np.random.default_rng(0).integers(-50, 50, (2, 3, 9)).astype(np.float16)
    (found,) = run("NthElement", [x, np.int32(2)], {"reverse": reverse}, known=(1,), late=late)

    assert found.tolist() == [[sorted(row, reverse=reverse)[2] for row in rows] for rows in x.tolist()]
    with pytest.raises(InvalidArgument, match="n is 9"):
        run("NthElement", [x, np.int32(9)], known=(1,), late=late)


def test_in_top_k(run: Run) -> None:
    """Ties at the boundary count; what is not finite, or no class, is not among the k."""
    nan = float("nan")
    predictions = np.array([[1, 3, 3, 0], [1, 3, 3, 0], [nan, 1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4]], np.float32)
    targets = np.array([2, 0, 3, 4, -1], np.int32)
    exact = [True, False, False, False, False]

    for op_type in ("InTopK", "InTopKExt2", "InTopKV2"):
        assert run(op_type, [predictions, targets, np.int32(1)], known=(2,))[0].tolist() == exact
    assert run("InTopKD", [predictions, targets], {"k": 1})[0].tolist() == exact
    assert run("InTopKD", [predictions, targets], {"k": 3})[0].tolist() == [True, True, False, False, False]
    with pytest.raises(InvalidArgument, match="must have one number of rows"):
        run("InTopKD", [predictions, targets[:2]], {"k": 1})


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("op_type", ["Sort", "SortV2", "TopKD"])
def test_large_tensors_are_ordered_in_parts(op_type: str, axis: int) -> None:
    """Cut along another axis than the one in order, whoever takes a part; the result is that of the whole."""
    x = np.random.default_rng(4).integers(-50, 50, (120, 80, 80)).astype(np.float32)
    x[3, 4, 5], x[0] = np.nan, -0.0
    k = 5
    attributes = {"k": k, "dim": axis, "largest": False} if op_type == "TopKD" else {"axis": axis}
    inputs: list[Array] = [x, np.zeros(16, np.float16)] if op_type == "TopKD" else [x]
    schema = schema_of(op_type)
    complete = schema.complete(attributes)
    descs = tuple(TensorDesc.of(array.dtype, array.shape) for array in inputs)
    outputs = infer_outputs(schema, descs, complete)
    calls = []

    def parallel(part: Callable[[int], object], count: int) -> None:
        calls.append(count)
        for number in reversed(range(count)):
            part(number)

    kernel = find(KernelRequest(op_type, descs, outputs, complete, parallel))
    found = [np.empty(desc.shape, desc.dtype.numpy_dtype) for desc in outputs]
    kernel.body(*inputs, *found)
    order = np.argsort(x, axis, kind="stable")
    order = order.take(range(k), axis) if op_type == "TopKD" else order

    assert [count > 1 for count in calls] == ([True] if axis else [])
    np.testing.assert_array_equal(found[0], np.take_along_axis(x, order, axis))
    assert op_type == "SortV2" or np.array_equal(found[1], order)
