"""Norms, variances and sums of squares: slice by slice in plain Python."""

from __future__ import annotations

import itertools
import math
import statistics
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
from tests.helpers.onnx_reference import onnx_reference

Run = Callable[..., list[Array]]
Close = Callable[..., None]
FLOATS: list[np.dtype[Any]] = [np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]


def _each(x: Array, axes: list[int], function: Callable[[list[Any]], Any], *, keep: bool) -> Array:
    """Return a function of the elements along the axes, at every other place."""
    places = {axis % x.ndim for axis in axes}
    rest = [range(1 if axis in places else size) for axis, size in enumerate(x.shape)]
    found = []
    for index in itertools.product(*rest):
        around = [range(size) if axis in places else [index[axis]] for axis, size in enumerate(x.shape)]
        found.append(function([x[each].item() for each in itertools.product(*around)]))
    shape = [len(each) for axis, each in enumerate(rest) if keep or axis not in places]
    return np.array(found).reshape(shape)


def _draw(data: st.DataObject, dtype: Any, low: float = -2, high: float = 3) -> tuple[Array, list[int], bool]:
    """Return an array, some of its axes, and whether they are kept."""
    shape = data.draw(hnp.array_shapes(max_dims=3, max_side=4))
    axes = data.draw(st.lists(st.integers(-len(shape), len(shape) - 1), max_size=2))
    return np.random.default_rng(1).uniform(low, high, shape).astype(dtype), axes, data.draw(st.booleans())


def _euclidean(values: list[Any]) -> float:
    return math.sqrt(math.fsum(abs(v) ** 2 for v in values))


@pytest.mark.parametrize("dtype", [*FLOATS, np.dtype(np.complex64), np.dtype(np.int32)], ids=str)
@pytest.mark.parametrize("late", [False, True])
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_euclidean_norm(run: Run, close: Close, dtype: np.dtype[Any], late: bool, data: st.DataObject) -> None:
    """No axes are no reduction; integers are truncated."""
    x, axes, keep = _draw(data, np.float32, -20, 20)
    x = x.astype(dtype) * dtype.type(1j if dtype.kind == "c" else 1)
    exact = _each(
        x, axes, lambda values: int(_euclidean(values)) if dtype.kind == "i" else _euclidean(values), keep=keep
    )
    (found,) = run("EuclideanNorm", [x, np.array(axes, np.int64)], {"keep_dims": keep}, known=(1,), late=late)

    close(found, exact, units=4)
    if dtype in (np.float32, np.float16, np.int32):
        close(run("EuclideanNormD", [x], {"axes": axes, "keep_dims": keep})[0], exact, units=4)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_log_sum_and_sum_without_nan(run: Run, close: Close, dtype: np.dtype[Any], data: st.DataObject) -> None:
    """The logarithm of the sum, and the sum of what is a number."""
    x, axes, keep = _draw(data, dtype, 1.5, 4)
    exact = _each(x, axes, lambda values: math.log(math.fsum(values)), keep=keep)
    close(run("ReduceLogSum", [x, np.array(axes, np.int64)], {"keep_dims": keep}, known=(1,))[0], exact, units=8)

    x.reshape(-1)[::2] = np.nan
    total = _each(x, axes, lambda values: math.fsum(v for v in values if v == v), keep=keep)
    close(run("ReduceNansum", [x, np.array(axes, np.int64)], {"keep_dims": keep}, known=(1,))[0], total, units=4)


def test_log_sum_as_onnx(run: Run, close: Close) -> None:
    """ReduceLogSum gives what ONNX's does; of a negative sum there is no logarithm."""
    x = np.array([[1, 2, 3], [-4, 1, 1], [-1, 1, 0]], np.float32)
    with np.errstate(all="ignore"):
        (exact,) = onnx_reference("ReduceLogSum", [x, np.array([1])], keepdims=0)

    close(run("ReduceLogSum", [x, np.array([1])], known=(1,))[0], exact)
    with pytest.raises(UnsupportedDataType, match="float and complex"):
        run("ReduceLogSum", [x.astype(np.int32), np.array([1])], known=(1,))


def _lp(values: list[float], p: float) -> float:
    sizes = [abs(v) for v in values]
    if math.isinf(p):
        return max(sizes) if p > 0 else min(sizes)
    return float(sum(size != 0 for size in sizes)) if p == 0 else math.fsum(size**p for size in sizes) ** (1 / p)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("p", [0, 1, 2, 3, 2**31 - 1, -(2**31), 0.5, 2.5, math.inf, -math.inf])
@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_lp_norm(run: Run, close: Close, dtype: np.dtype[Any], p: float, data: st.DataObject) -> None:
    """Any order, the ends of int32 being infinity; no axes are all axes; the two halves together are the whole."""
    x, axes, keep = _draw(data, dtype)
    x.reshape(-1)[::3] = 0
    order = {2**31 - 1: math.inf, -(2**31): -math.inf}.get(p, p) if isinstance(p, int) else p
    places = axes or list(range(x.ndim))
    exact = _each(x, places, lambda values: max(_lp(values, order), 1e-12), keep=keep)
    suffix = "" if isinstance(p, int) else "V2"
    attributes = {"p": p, "axes": axes, "keepdim": keep}
    (found,) = run(f"LpNorm{suffix}", [x], attributes)

    close(found, exact, units=8, floor=1e-6)
    if dtype == np.float32:
        (powers,) = run(f"LpNormReduce{suffix}", [x], attributes)
        close(run(f"LpNormUpdate{suffix}", [powers], {"p": p})[0], exact, units=16, floor=1e-6)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_sums_of_squares(run: Run, close: Close, dtype: np.dtype[Any], data: st.DataObject) -> None:
    """Over the axes, over everything, and half of that."""
    x, axes, keep = _draw(data, dtype)
    exact = _each(x, axes or list(range(x.ndim)), lambda values: math.fsum(v * v for v in values), keep=keep)
    whole = math.fsum(float(v) ** 2 for v in x.reshape(-1))

    close(run("SquareSumV1", [x], {"axis": axes, "keep_dims": keep})[0], exact, units=4)
    close(run("L2Loss", [x])[0], whole / 2, units=4)
    if dtype == np.float32:
        y1, y2 = run("SquareSumAll", [x, x[:1] * 2])
        close(y1, whole, units=4)
        close(y2, math.fsum(4 * float(v) ** 2 for v in x[:1].reshape(-1)), units=4)


def test_product_and_loss(run: Run, close: Close) -> None:
    """``x1 * x3 + x2`` with one number, and half the sum of the squares of ``x1``."""
    x1, x2 = np.array([[1, 2], [3, -4]], np.float32), np.array([[5, 6], [7, 8]], np.float32)
    y1, y2 = run("FusedMulAddNL2loss", [x1, x2, np.array([0.5], np.float32)])

    assert y1.tolist() == [[5.5, 7], [8.5, 6]]
    assert y2.tolist() == 15
    with pytest.raises(InvalidArgument, match="x3 has shape"):
        run("FusedMulAddNL2loss", [x1, x2, np.zeros(2, np.float32)])


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
@pytest.mark.parametrize("unbiased", [True, False])
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_deviation(run: Run, close: Close, dtype: np.dtype[Any], unbiased: bool, data: st.DataObject) -> None:
    """As the statistics module: with one element there is no unbiased deviation."""
    x, axes, keep = _draw(data, dtype)
    places = axes or list(range(x.ndim))

    def variance(values: list[float]) -> float:
        if unbiased:
            return statistics.variance(values) if len(values) > 1 else math.nan
        return statistics.pvariance(values)

    spread = _each(x, places, variance, keep=keep)
    middle = _each(x, places, statistics.fmean, keep=keep)
    deviation, mean = run("ReduceStd", [x], {"dim": axes, "unbiased": unbiased, "keepdim": keep})
    close(deviation, np.sqrt(spread), units=8, floor=0.5)
    close(mean, middle, units=4, floor=1)
    if not unbiased:
        found = run("ReduceMeanVariance", [x], {"axes": axes, "keep_dims": keep})
        close(found[0], middle, units=4, floor=1)
        close(found[1], spread, units=8, floor=0.5)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_deviation_about_a_mean(run: Run, close: Close, dtype: np.dtype[Any]) -> None:
    """The mean is taken as it is given; ``correction`` is off the divisor; ``invert`` divides 1 by what is found."""
    x = np.random.default_rng(2).uniform(-2, 3, (3, 5)).astype(dtype)
    mean = np.array([[0.5], [1], [-1]], dtype)
    total = [math.fsum((float(v) - float(m)) ** 2 for v in row) for row, m in zip(x, mean[:, 0], strict=True)]
    by = {"dim": [1]}

    close(run("ReduceStdWithMean", [x, mean], by)[0], [math.sqrt(t / 4) for t in total], units=4)
    (found,) = run("ReduceStdWithMean", [x, mean], {**by, "unbiased": False, "invert": True, "keepdim": True})
    close(found, [[1 / (math.sqrt(t / 5) + 1e-3)] for t in total], units=4)
    close(run("ReduceStdWithMean", [x, mean], {**by, "correction": 2})[0], [math.sqrt(t / 3) for t in total], units=4)
    close(run("ReduceStdV2Update", [x, mean], by)[0], [t / 4 for t in total], units=4)
    close(run("ReduceStdV2Update", [x, mean], {**by, "if_std": True, "correction": 0})[0],
          [math.sqrt(t / 5) for t in total], units=4)  # fmt: skip


def test_nothing(run: Run) -> None:
    """Over no elements: norms and sums are 0, means are no numbers."""
    x = np.zeros((2, 0), np.float32)

    assert run("EuclideanNorm", [x, np.array([1])], known=(1,))[0].tolist() == [0, 0]
    assert run("L2Loss", [x])[0].tolist() == 0
    assert run("SquareSumV1", [x], {"axis": [1]})[0].tolist() == [0, 0]
    assert np.isnan(run("ReduceStd", [x], {"dim": [1]})[1]).all()


def test_bad_input(run: Run) -> None:
    """Axes outside the rank, and a mean that does not fit, are refused by name."""
    x = np.zeros((2, 3), np.float32)
    for op_type, inputs, attributes, text in (
        ("LpNorm", [x], {"axes": [2]}, "axes 2 lies outside"),
        ("SquareSumV1", [x], {"axis": [-3]}, "axis -3 lies outside"),
        ("ReduceStd", [x], {"dim": [2]}, "dim 2 lies outside"),
        ("ReduceStdWithMean", [x, x[:, :2]], {}, "the mean has x's dims"),
        ("EuclideanNorm", [x, np.array([5])], {}, "axis 5 lies outside"),
    ):
        with pytest.raises(InvalidArgument, match=text):
            run(op_type, inputs, attributes, known=(1,) if op_type == "EuclideanNorm" else ())


def test_many_rows(run: Run) -> None:
    """Sums over the first of 300,000 rows err by some units in the last place, as those along a row do."""
    x = (np.random.default_rng(8).standard_normal((300_000, 2)) + 1).astype(np.float32)
    exact = x.astype(np.float64)
    axes = np.array([0])
    results = {
        "SquareSumV1": (run("SquareSumV1", [x], {"axis": [0]})[0], (exact**2).sum(0)),
        "EuclideanNorm": (run("EuclideanNorm", [x, axes], known=(1,))[0], np.sqrt((exact**2).sum(0))),
        "ReduceNansum": (run("ReduceNansum", [x, axes], known=(1,))[0], exact.sum(0)),
        "ReduceStd": (run("ReduceStd", [x], {"dim": [0]})[0], exact.std(0, ddof=1)),
        "LpNormV2": (run("LpNormV2", [x], {"p": 3.0, "axes": [0]})[0], (np.abs(exact) ** 3).sum(0) ** (1 / 3)),
    }

    assert {name for name, (found, wanted) in results.items() if np.abs(found / wanted - 1).max() > 1e-6} == set()
