"""Reductions and places of extremes."""

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
from aacl.errors import InvalidArgument
from aacl.ops._catalogue import schema_of
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


_SUMS: dict[str, Callable[[list[float]], float]] = {
    "ReduceSum": math.fsum,
    "ReduceProd": math.prod,
    "ReduceMean": lambda values: math.fsum(values) / len(values),
    "ReduceMax": max,
    "ReduceMin": min,
    "ReduceLogSumExp": lambda values: math.log(math.fsum(map(math.exp, values))),
}


def _reference(function: Callable[[list[float]], float], x: Array, axes: set[int], keep: bool) -> Array:
    """Apply a function of a list to every group of elements, in Python."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    moved = x.astype(np.float64).transpose(*kept, *sorted(axes)).reshape(*(x.shape[a] for a in kept), -1)
    found = np.array([function(row.tolist()) for row in moved.reshape(-1, moved.shape[-1])])
    return found.reshape([1 if a in axes else x.shape[a] for a in range(x.ndim) if keep or a not in axes])


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op_type", _SUMS)
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_values(run: Run, close: Close, op_type: str, dtype: np.dtype[Any], late: bool, data: st.DataObject) -> None:
    """Any axes, negative ones too, kept or not, known beforehand or at the run; halves accumulate in float32."""
    shape = data.draw(hnp.array_shapes(max_dims=3, max_side=4))
    axes = data.draw(st.lists(st.integers(-len(shape), len(shape) - 1), min_size=1, max_size=3))
    keep = data.draw(st.booleans())
    x = np.random.default_rng(3).uniform(0.5, 1.5, shape).astype(dtype)
    places = {axis % len(shape) for axis in axes}
    exact = _reference(_SUMS[op_type], x, places, keep)
    given_axes = np.array(sorted({*places}) if late else axes, np.int32)
    (found,) = run(op_type, [x, given_axes], {"keep_dims": keep}, known=(1,), late=late)

    assert found.dtype == dtype
    close(found, exact, units=1 if dtype.itemsize == 2 else 16)


@pytest.mark.parametrize("op_type", ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceMean"])
def test_attribute_forms(run: Run, op_type: str) -> None:
    """The D forms take the axes as an attribute."""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (expected,) = run(op_type, [x, np.array([1])], known=(1,))

    assert run(f"{op_type}D", [x], {"axes": [1]})[0].tolist() == expected.tolist()


def test_halves_do_not_stall(run: Run) -> None:
    """10000 ones sum to 10000, where bfloat16 alone would stop at 256 and float16 at 2048."""
    for dtype in (BF16, np.float16):
        (found,) = run("ReduceSumD", [np.ones(10000).astype(dtype)], {"axes": [0]})
        assert float(found) == float(np.float32(10000).astype(dtype))


def test_integers(run: Run) -> None:
    """Sums wrap around in the input's dtype; a mean is truncated toward zero."""
    x = np.array([[2**31 - 1, 1], [-7, 2]], np.int32)
    axes = np.array([1])

    assert run("ReduceSum", [x, axes], known=(1,))[0].tolist() == [-(2**31), -5]
    assert run("ReduceMean", [x, axes], known=(1,))[0].tolist() == [2**30, -2]
    assert run("ReduceMax", [x, axes], known=(1,))[0].tolist() == [2**31 - 1, 2]
    big = np.array([2**62, 5], np.int64)
    assert run("ReduceSum", [big, np.array([0])], known=(1,))[0].tolist() == 2**62 + 5


def test_logic(run: Run) -> None:
    """All and any, of bool."""
    x = np.array([[True, False], [True, True]])

    assert run("ReduceAll", [x, np.array([1])], known=(1,))[0].tolist() == [False, True]
    assert run("ReduceAnyD", [x], {"axes": [0, 1]})[0].tolist() is True
    for late in (False, True):
        assert run("ReduceAny", [x, np.array([1])], known=(1,), late=late)[0].tolist() == [True, True]
        assert run("ReduceAny", [~x, np.array([0])], known=(1,), late=late)[0].tolist() == [False, True]
        kept = run("ReduceAny", [~x, np.array([0, 1])], {"keep_dims": True}, known=(1,), late=late)[0]
        assert kept.tolist() == [[True]]
    assert run("ReduceAny", [x[:, :0], np.array([1])], known=(1,))[0].tolist() == [False, False]
    assert run("ReduceAllD", [x], {"axes": [0], "keep_dims": True})[0].tolist() == [[True, False]]


@pytest.mark.parametrize("late", [False, True])
def test_no_axes(run: Run, late: bool) -> None:
    """No reduction, except for a ReduceMean that is told otherwise."""
    x, none = np.array([[1.0, 3.0]], np.float32), np.zeros(0, np.int64)

    assert run("ReduceSum", [x, none], known=(1,), late=late)[0].tolist() == [[1, 3]]
    assert run("ReduceMean", [x, none], known=(1,), late=late)[0].tolist() == [[1, 3]]
    (found,) = run("ReduceMean", [x, none], {"noop_with_empty_axes": False}, known=(1,), late=late)
    assert found.tolist() == 2
    assert run("ReduceMeanD", [x], {"axes": []})[0].tolist() == 2  # its default is the other one


def test_nothing_to_reduce(run: Run) -> None:
    """The neutral element of each reduction."""
    x, axes = np.zeros((2, 0), np.float32), np.array([1])

    assert run("ReduceSum", [x, axes], known=(1,))[0].tolist() == [0, 0]
    assert run("ReduceProd", [x, axes], known=(1,))[0].tolist() == [1, 1]
    assert run("ReduceMax", [x, axes], known=(1,))[0].tolist() == [-np.inf] * 2
    assert run("ReduceMin", [x.astype(np.int8), axes], known=(1,))[0].tolist() == [127, 127]
    assert np.isnan(run("ReduceMean", [x, axes], known=(1,))[0]).all()
    assert run("ReduceMean", [x.astype(np.int32), axes], known=(1,))[0].tolist() == [0, 0]
    assert run("ReduceLogSumExp", [x, axes], known=(1,))[0].tolist() == [-np.inf] * 2


@pytest.mark.parametrize("op_type", ["ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceMean"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
def test_nothing_to_reduce_to_nothing(run: Run, op_type: str, dtype: Any) -> None:
    """Where the axis that stays is empty as well, so is the result."""
    (found,) = run(op_type, [np.zeros((0, 0), dtype), np.array([1])], known=(1,))

    assert found.shape == (0,)


def test_in_place(run: Run) -> None:
    """A reduction over axes of 1 may write over its input."""
    x = np.array([[1.5], [2.5]], np.float32)
    for op_type in ("ReduceSumD", "ReduceMaxD", "ReduceMeanD"):
        (found,) = run(op_type, [x], {"axes": [1], "keep_dims": True}, into=0)
        assert found.tolist() == [[1.5], [2.5]]


@pytest.mark.parametrize("dtype", [*FLOATS, np.dtype(np.int32), np.dtype(np.uint8)], ids=str)
@pytest.mark.parametrize("late", [False, True])
def test_places(run: Run, dtype: np.dtype[Any], late: bool) -> None:
    """The first maximum or minimum; dimension as input or attribute; dtype as asked."""
    x = np.array([[3, 1, 3], [0, 0, 2]]).astype(dtype)

    (found,) = run("ArgMaxV2", [x, np.array([1])], known=(1,), late=late)
    assert (found.dtype, found.tolist()) == (np.dtype(np.int64), [0, 2])
    for kind in ("int32", "int64"):
        (found,) = run("ArgMax", [x, np.array(1)], {"output_type": kind.upper()}, known=(1,), late=late)
        assert (found.dtype, found.tolist()) == (np.dtype(kind), [0, 2])
    (found,) = run("ArgMin", [x, np.array(-1)], {"dtype": "int32"}, known=(1,), late=late)
    assert (found.dtype, found.tolist()) == (np.dtype(np.int32), [1, 0])
    if dtype in FLOATS[::2]:
        assert run("ArgMaxD", [x], {"dimension": 0})[0].tolist() == [0, 0, 0]
        assert run("ArgMinD", [x], {"dimension": 0})[0].tolist() == [1, 1, 1]


def test_empty_dimension(run: Run) -> None:
    """There is no place of an extreme among nothing."""
    with pytest.raises(InvalidArgument, match=r"dimension 1 of shape \(2, 0\) is empty"):
        run("ArgMaxV2", [np.zeros((2, 0), np.float32), np.array([1])], known=(1,))


def test_axes_outside_the_rank_at_the_run() -> None:
    """Axes that are known only at the run are checked then."""
    x, axes, y = TensorDesc.of(np.float32, (2, 3)), TensorDesc.of(np.int64, (1,)), TensorDesc.of(np.float32, (2,))
    body = find(KernelRequest("ReduceSum", (x, axes), (y,), schema_of("ReduceSum").complete({}))).body
    out = np.zeros(2, np.float32)

    with pytest.raises(InvalidArgument, match=r"axes \(2,\) do not fit shape \(2, 3\)"):
        body(np.ones((2, 3), np.float32), np.array([2]), out)
    with pytest.raises(ValueError, match=r"dimension|shape"):
        body(np.ones((2, 3), np.float32), np.array([0]), out)
    assert out.tolist() == [0, 0]


@pytest.mark.parametrize("op_type", ["ArgMaxD", "ArgMinD"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("kind", ["few", "many", "nan"])
def test_places_along_leading_axes(run: Run, op_type: str, dtype: type, kind: str) -> None:
    """The first of equal extremes, of NaN too, wherever the axis lies."""
    random = np.random.default_rng(2)
    x: Array = (
        random.integers(0, 3, (3, 90, 40)) if kind == "many" else random.permutation(10_800).reshape(3, 90, 40)
    ).astype(dtype)
    if kind == "few":
        x[:, 10], x[:, 70] = x.min() - 1, x.min() - 1
        x[:, 20], x[:, 80] = x.max() + 1, x.max() + 1
    if kind == "nan":
        x[1, 50, 7] = np.nan
    (found,) = run(op_type, [x], {"dimension": 1})
    best: Callable[[list[float]], float] = min if op_type == "ArgMinD" else max
    for place in np.ndindex(3, 40):
        row = x[place[0], :, place[1]].tolist()
        first = [index for index, value in enumerate(row) if value != value]
        assert found[place] == (first[0] if first else row.index(best(row)))
