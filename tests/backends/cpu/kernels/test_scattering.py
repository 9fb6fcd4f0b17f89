"""Updates at indices, one by one in Python."""

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
from aacl.errors import InvalidArgument, NotSupported, UnsupportedDataType
from aacl.ops._catalogue import schema_of
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


def _divided(old: Any, new: Any) -> Any:
    if isinstance(old, int):
        return 0 if not new else abs(old) // abs(new) * (1 if (old < 0) == (new < 0) else -1)
    return old / new


JOINS: dict[str, Callable[[Any, Any], Any]] = {
    "Update": lambda _, new: new,
    "Add": lambda old, new: old + new,
    "Sub": lambda old, new: old - new,
    "Mul": lambda old, new: old * new,
    "Div": _divided,
    "Max": max,
    "Min": min,
}


def _applied(name: str, old: Any, new: Any, dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "iu":
        return int(np.array(JOINS[name](int(old), int(new))).astype(dtype))
    return JOINS[name](float(old), float(new))


def _numbers(data: st.DataObject, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    return data.draw(hnp.arrays(np.int8, shape, elements=st.sampled_from([1, 2, 3, 4, 5]))).astype(dtype)


@pytest.mark.parametrize("name", JOINS)
@pytest.mark.parametrize(
    "dtype", [np.dtype(np.float32), np.dtype(np.float16), np.dtype(np.int8), np.dtype(np.int32)], ids=str
)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_rows(run: Run, close: Close, name: str, dtype: np.dtype[Any], data: st.DataObject) -> None:
    """Rows of the variable; several updates of one row all count, or the last one does."""
    shape = data.draw(hnp.array_shapes(max_dims=3, max_side=4))
    places = data.draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=4))
    var = _numbers(data, dtype, shape)
    indices = data.draw(hnp.arrays(np.int32, places, elements=st.integers(0, shape[0] - 1)))
    updates = _numbers(data, dtype, (*places, *shape[1:]))
    into = data.draw(st.sampled_from([None, 0]))
    exact = var.astype(np.float64 if dtype.kind == "f" else np.int64)
    for place in np.ndindex(places):
        for inner in np.ndindex(shape[1:]):
            where = (int(indices[place]), *inner)
            exact[where] = _applied(name, exact[where], updates[(*place, *inner)], dtype)

    (found,) = run(f"Scatter{name}", [var, indices, updates], into=into)
    close(found, exact.astype(dtype) if dtype.kind != "f" else exact, units=3)


@pytest.mark.parametrize("op_type", ["ScatterNdUpdate", "ScatterNdAdd", "ScatterNdSub", "ScatterNdMax", "ScatterNdMin",
                                     "TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax",
                                     "TensorScatterMin", "ScatterNonAliasingAdd"])  # fmt: skip
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_tuples(run: Run, close: Close, op_type: str, data: st.DataObject) -> None:
    """Index tuples address the leading dims."""
    dtype: np.dtype[Any] = np.dtype(data.draw(st.sampled_from(["f4", "f2", "i4"])))
    shape = data.draw(hnp.array_shapes(max_dims=3, max_side=3))
    depth = data.draw(st.integers(0, len(shape)))
    count = data.draw(st.integers(0, 5))
    indices = np.array(
        [[data.draw(st.integers(0, size - 1)) for size in shape[:depth]] for _ in range(count)], np.int64
    ).reshape(count, depth)
    var, updates = _numbers(data, dtype, shape), _numbers(data, dtype, (count, *shape[depth:]))
    name = op_type.removeprefix("ScatterNonAliasing").removeprefix("TensorScatter").removeprefix("ScatterNd")
    exact = var.astype(np.float64)
    for number in range(count):
        for inner in np.ndindex(shape[depth:]):
            where = (*indices[number].tolist(), *inner)
            exact[where] = _applied(name, exact[where], updates[(number, *inner)], dtype)

    (found,) = run(op_type, [var, indices, updates])
    close(found, exact.astype(dtype) if dtype.kind == "i" else exact)


def test_into_zeros(run: Run) -> None:
    """Several updates of one place add up."""
    indices, x = np.array([[1], [3], [1]]), np.array([5, 7, 9], np.int32)

    assert run("ScatterNd", [indices, x, np.array([5])], known=(2,))[0].tolist() == [0, 14, 0, 7, 0]
    assert run("ScatterNdD", [indices, x], {"shape": [4]})[0].tolist() == [0, 14, 0, 7]
    with pytest.raises(InvalidArgument, match=r"input updates|input x of shape \(3,\) must have shape \(3, 2\)"):
        run("ScatterNdD", [indices, x], {"shape": [4, 2]})


@pytest.mark.parametrize("op_type", ["ScatterElements", "ScatterElementsV2"])
@pytest.mark.parametrize("reduction", ["none", "add", "mul"])
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_elements(run: Run, close: Close, op_type: str, reduction: str, data: st.DataObject) -> None:
    """As ONNX's own reference implementation."""
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    shape = data.draw(hnp.array_shapes(max_dims=3, max_side=4))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    places = tuple(data.draw(st.integers(1, size)) for size in shape)
    var, updates = _numbers(data, np.dtype(np.float32), shape), _numbers(data, np.dtype(np.float32), places)
    indices = data.draw(hnp.arrays(np.int64, places, elements=st.integers(-shape[axis], shape[axis] - 1)))
    if reduction == "none":  # which of several updates of one place stays is not the reference's to say
        along = np.arange(places[axis]).reshape((-1,) + (1,) * (len(shape) - 1 - axis % len(shape)))
        indices = np.broadcast_to(along, places).copy()
    node = helper.make_node("ScatterElements", ["x", "i", "u"], ["y"], axis=axis, reduction=reduction)
    infos = [helper.make_tensor_value_info(n, t, None) for n, t in (("x", 1), ("i", TensorProto.INT64), ("u", 1))]
    graph = helper.make_graph([node], "g", infos, [helper.make_tensor_value_info("y", 1, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    (exact,) = ReferenceEvaluator(model).run(None, {"x": var, "i": indices, "u": updates})

    (found,) = run(op_type, [var, indices, updates], {"axis": axis, "reduction": reduction})
    close(found, exact)
    if reduction == "add":
        close(run("ScatterAddWithAxis", [var, indices, updates], {"axis": axis})[0], exact)


def test_slots(run: Run) -> None:
    """Each batch's updates at its own offset, or at a batch and an offset."""
    var, updates = np.zeros((2, 1, 5, 2), np.float16), np.arange(1, 9, dtype=np.float16).reshape(2, 1, 2, 2)
    attributes = {"reduce": "update", "axis": -2}
    (found,) = run("Scatter", [var, np.array([3, 1]), updates], attributes)

    exact = np.zeros_like(var)
    exact[0, 0, 3:5], exact[1, 0, 1:3] = updates[0, 0], updates[1, 0]
    assert found.tolist() == exact.tolist()
    (turned,) = run("Scatter", [var, np.array([[1, 1], [0, 3]]), updates[::-1]], attributes)
    assert turned.tolist() == exact.tolist()
    with pytest.raises(IndexError, match=r"index 4 lies outside \[0, 4\) along axis 2"):
        run("Scatter", [var, np.array([4, 1]), updates], attributes)
    with pytest.raises(NotSupported, match="reduce is 'add'"):
        run("Scatter", [var, np.array([3, 1]), updates], {"reduce": "add", "axis": -2})


def _body(op_type: str, *shapes: tuple[int, ...]) -> Callable[..., object]:
    var, indices, updates = (
        TensorDesc.of(dtype, shape) for dtype, shape in zip((np.float32, np.int64, np.float32), shapes, strict=True)
    )
    return find(KernelRequest(op_type, (var, indices, updates), (var,), schema_of(op_type).complete({}))).body


@pytest.mark.parametrize("wrong", [-1, 3, 2**40])
@pytest.mark.parametrize("op_type", ["ScatterUpdate", "ScatterAdd", "ScatterDiv"])
def test_an_index_out_of_range_writes_nothing(op_type: str, wrong: int) -> None:
    """The error names the index, the axis and its length."""
    body = _body(op_type, (3, 2), (2,), (2, 2))
    out = np.full((3, 2), 7, np.float32)
    with pytest.raises(IndexError, match=rf"index {wrong} lies outside \[0, 3\) along axis 0"):
        body(np.zeros((3, 2), np.float32), np.array([0, wrong]), np.ones((2, 2), np.float32), out)
    assert (out == 7).all()
    body = _body("ScatterNdAdd", (2, 3), (1, 2), (1,))
    with pytest.raises(IndexError, match=rf"index {wrong} lies outside \[0, 3\) along axis 1"):
        body(np.zeros((2, 3), np.float32), np.array([[0, wrong]]), np.ones(1, np.float32), out.reshape(2, 3))
    assert (out == 7).all()


def test_updates_in_the_memory_that_is_written(run: Run) -> None:
    """The updates are read before the variable is written over them; then nothing of them is lost."""
    body = _body("ScatterUpdate", (3, 2), (3,), (3, 2))
    var, shared = np.zeros((3, 2), np.float32), np.arange(6, dtype=np.float32).reshape(3, 2)
    body(var, np.array([2, 0, 1]), shared, shared)

    assert shared.tolist() == [[2, 3], [4, 5], [0, 1]]


def test_one_number_for_all(run: Run) -> None:
    """TensorFlow's scatters take a scalar update."""
    found = run("ScatterAdd", [np.zeros((3, 2), np.float32), np.array([0, 2, 0]), np.float32(1.5)])[0]

    assert found.tolist() == [[3, 3], [0, 0], [1.5, 1.5]]


def test_halves_add_up_in_float32(run: Run) -> None:
    """Many small updates of one float16 element are not lost."""
    updates = np.full(4096, 1, np.float16)
    assert run("ScatterAdd", [np.zeros(1, np.float16), np.zeros(4096, np.int32), updates])[0].tolist() == [4096]


@pytest.mark.parametrize("width", [1, 2, 40])
@pytest.mark.parametrize("name", JOINS)
@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float16), np.dtype(np.int32)], ids=str)
def test_many_updates_of_few_rows(run: Run, close: Close, width: int, name: str, dtype: np.dtype[Any]) -> None:
    """Every update counts once, whichever way rows of that width are combined."""
    rng = np.random.default_rng(0)
    indices = np.concatenate([np.full(30, 2), np.full(9, 0), np.full(8, 3), [5], rng.integers(0, 7, 20)]).astype(
        np.int32
    )
    rng.shuffle(indices)
    var, updates = np.ones((7, width), dtype), rng.choice([1, 1, 1, 1, 2], (len(indices), width)).astype(dtype)
    if name == "Mul":
        updates = np.where(rng.random(updates.shape) < 0.9, 1, updates).astype(dtype)
    exact = var.astype(np.float64 if dtype.kind == "f" else np.int64)
    for place, row in zip(indices.tolist(), updates, strict=True):
        for column in range(width):
            exact[place, column] = _applied(name, exact[place, column], row[column], dtype)

    # A float16 row that is divided many times is rounded each time.
    close(run(f"Scatter{name}", [var, indices, updates])[0], exact, units=30 if name == "Div" else 2)


def test_refusals(run: Run) -> None:
    """Shapes and dtypes that do not fit each other; orders that do not exist."""
    var, indices = np.zeros((3, 2), np.float32), np.array([0, 1])
    with pytest.raises(InvalidArgument, match=r"input updates of shape \(2, 3\) must have shape \(2, 2\)"):
        run("ScatterAdd", [var, indices, np.zeros((2, 3), np.float32)])
    with pytest.raises(UnsupportedDataType, match="they must be equal"):
        run("ScatterAdd", [var, indices, np.zeros((2, 2), np.float16)])
    with pytest.raises(InvalidArgument, match="addresses 3 dims; there are 2"):
        run("ScatterNdAdd", [var, np.zeros((1, 3), np.int32), np.zeros(1, np.float32)])
    with pytest.raises(UnsupportedDataType, match="COMPLEX64"):
        run("ScatterNdMax", [var.astype(np.complex64), np.zeros((1, 1), np.int32), np.zeros((1, 2), np.complex64)])
    with pytest.raises(NotSupported, match="reduction is 'max'"):
        run("ScatterElements", [var, np.zeros((1, 2), np.int32), var[:1]], {"reduction": "max"})


@pytest.mark.parametrize("name", ["Add", "Sub", "Mul", "Div"])
def test_many_halves_of_one_row_are_rounded_once(run: Run, close: Close, name: str) -> None:
    """However many updates a row gets, the result is that of float32, rounded."""
    x = np.ones((2, 3), np.float16)
    updates = np.random.default_rng(5).uniform(0.9, 1.1, (300, 3)).astype(np.float16)
    exact = {
        "Add": 1 + updates.astype(float).sum(0),
        "Sub": 1 - updates.astype(float).sum(0),
        "Mul": updates.astype(float).prod(0),
        "Div": 1 / updates.astype(float).prod(0),
    }[name]

    (found,) = run(f"Scatter{name}", [x, np.zeros(300, np.int32), updates])

    close(found, np.stack([exact, np.ones(3)]), units=0.51)


@pytest.mark.parametrize("width", [1, 2, 50])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_factors_come_one_after_the_other(run: Run, width: int, dtype: type) -> None:
    """The product of the updates alone would overflow."""
    large: Array = np.asarray(1e30 if dtype == np.float32 else 3e4, dtype)
    small = dtype(1) / large
    var: Array = np.full((2, width), small, dtype)
    updates: Array = np.full((3, width), large, dtype)
    (found,) = run("ScatterMul", [var, np.array([1, 1, 0], np.int32), updates])

    np.testing.assert_allclose(found[0], 1, rtol=2e-3)
    np.testing.assert_allclose(found[1], large, rtol=2e-3)
