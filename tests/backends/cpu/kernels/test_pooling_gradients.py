"""Gradients of pooling and the places of largest elements, against loops over windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.errors import InvalidArgument, NotSupported
from tests.helpers.windows import Cell, Line, attributes_of, cells_of, channels_last, counts_of, planes, same_line

Run = Callable[..., list[Array]]
Close = Callable[..., None]
HALF, SINGLE, DOUBLE = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)


def _first_largest(x: Array, cell: Cell) -> tuple[int, ...]:
    return max(cell.places, key=lambda place: (float(x[place]), [-p for p in place]))


@settings(deadline=None, max_examples=25)
@given(case=planes(ceil=False), mode=st.sampled_from(["SAME", "VALID"]))
def test_places_and_gradient(run: Run, case: tuple[Array, list[Line]], mode: str) -> None:
    """A place counts in H * W * C order; gradients go to the first largest element, by x or by its place."""
    x = case[0].astype(np.float32)
    lines = [same_line(line.length, line.size, line.stride) if mode == "SAME"
             else line._replace(before=0, after=0) for line in case[1]]  # fmt: skip
    attributes: dict[str, Any] = {"ksize": (1, lines[0].size, lines[1].size, 1), "padding": mode}
    attributes |= {"strides": (1, lines[0].stride, lines[1].stride, 1)}
    largest, places = run("MaxPoolWithArgmax", [channels_last(x)], attributes)
    gradient = np.random.default_rng(1).integers(-4, 5, largest.shape).astype(np.float32)
    exact = np.zeros(x.shape)
    for cell in cells_of(x.shape, lines):
        image, channel, row, column = _first_largest(x, cell)
        target = (image, *cell.target[2:], channel)
        assert largest[target] == x[image, channel, row, column]
        assert places[target] == (row * x.shape[3] + column) * x.shape[1] + channel
        exact[image, channel, row, column] += gradient[target]
    found = run("MaxPoolGrad", [channels_last(x), largest, gradient], attributes)[0]
    np.testing.assert_array_equal(found, channels_last(exact))
    found = run("MaxPoolGradWithArgmax", [channels_last(x), gradient, places], attributes)[0]
    np.testing.assert_array_equal(found, channels_last(exact))
    twice = np.random.default_rng(2).integers(-4, 5, x.shape).astype(np.float32)
    picked = np.empty(largest.shape, np.float32)
    for cell in cells_of(x.shape, lines):
        picked[cell.target[0], cell.target[2], cell.target[3], cell.target[1]] = twice[_first_largest(x, cell)]
    found = run("MaxPoolGradGrad", [channels_last(x), largest, channels_last(twice)], attributes)[0]
    np.testing.assert_array_equal(found, picked)
    found = run("MaxPoolGradGradWithArgmax", [channels_last(x), channels_last(twice), places], attributes)[0]
    np.testing.assert_array_equal(found, picked)


@settings(deadline=None, max_examples=15)
@given(case=planes())
def test_planar_places(run: Run, case: tuple[Array, list[Line]]) -> None:
    """V1 and V2 number the elements of a plane; ``[1, h, w, 1]`` though x is NCHW, and one padding an axis."""
    x = case[0].astype(np.float16)
    lines = [line._replace(after=line.before) for line in case[1]]
    attributes = {
        "ksize": (1, *(line.size for line in lines), 1),
        "strides": (1, *(line.stride for line in lines), 1),
        "pads": (1, *(line.before for line in lines), 1),
        "ceil_mode": lines[0].ceil,
    }
    for version, dtype in (("V1", np.int32), ("V2", np.uint16)):
        largest, places = run("MaxPoolWithArgmax" + version, [x], attributes)
        assert places.dtype == dtype
        gradient = np.random.default_rng(1).integers(-4, 5, largest.shape).astype(np.float16)
        exact = np.zeros(x.shape)
        for cell in cells_of(x.shape, lines):
            place = _first_largest(x, cell)
            assert largest[cell.target] == x[place]
            assert places[cell.target] == place[2] * x.shape[3] + place[3]
            exact[place] += gradient[cell.target]
        found = run("MaxPoolGradWithArgmax" + version, [x, gradient, places], attributes)[0]
        np.testing.assert_array_equal(found, exact)


@settings(deadline=None, max_examples=25)
@given(case=planes(), exclusive=st.booleans(), dtype=st.sampled_from([SINGLE, HALF, DOUBLE]))
def test_gradient_of_average(
    run: Run, close: Close, case: tuple[Array, list[Line]], exclusive: bool, dtype: np.dtype[Any]
) -> None:
    """Each element of a window gets an equal share."""
    x, lines = case[0].astype(dtype), case[1]
    gradient = np.random.default_rng(1).uniform(-1, 1, x.shape[:2] + counts_of(lines)).astype(dtype)
    exact = np.zeros(x.shape)
    for cell in cells_of(x.shape, lines):
        for place in cell.places:
            exact[place] += float(gradient[cell.target]) / (len(cell.places) if exclusive else cell.covered)
    attributes = attributes_of(lines, exclusive=exclusive)
    size = np.array(x.shape, np.int32)
    close(run("AvgPoolV2Grad", [size, gradient], attributes, known=[0])[0], exact, units=8, floor=1)


def test_other_gradients(run: Run, close: Close) -> None:
    """The variants by attribute, of three axes, and of SAME and VALID, agree with those tested above."""
    random = np.random.default_rng(5)
    gradient, size = random.uniform(-1, 1, (2, 3, 2, 2)).astype(np.float16), np.array((2, 5, 4, 2), np.int32)
    named = {"ksize": (1, 3, 2, 1), "strides": (1, 2, 2, 1), "padding": "SAME"}
    found = run("AvgPoolGrad", [size, gradient], named, known=[0])[0]
    pads = {"padding_mode": "CALCULATED", "pads": (1, 1, 0, 0), "data_format": "NHWC"}
    plain = {name: named[name] for name in ("ksize", "strides")} | pads
    again = run("AvgPoolV2Grad", [size, gradient], plain, known=[0])[0]
    np.testing.assert_array_equal(found, again)
    matrix = np.ones((1, 1, 1, 1), np.float16)
    inputs, original = [gradient, matrix, matrix], {"orig_input_shape": tuple(size.tolist())}
    np.testing.assert_array_equal(run("AvgPoolGradD", inputs, named | original)[0], found)
    np.testing.assert_array_equal(run("AvgPoolV2GradD", inputs, plain | original)[0], found)
    deep = gradient[:, np.newaxis]
    attributes = {"ksize": (1, 3, 2), "strides": (1, 2, 2), "pads": (0, 0, 1, 1, 0, 0), "count_include_pad": False}
    shape = np.array((2, 1, 5, 4, 2), np.int32)
    np.testing.assert_array_equal(run("AvgPool3DGrad", [shape, deep], attributes, known=[0])[0][:, 0], found)
    original = {"orig_input_shape": (2, 1, 5, 4, 2)}
    np.testing.assert_array_equal(run("AvgPool3DGradD", [deep, None, None], attributes | original)[0][:, 0], found)
    x, gradient = random.uniform(-1, 1, (2, 5, 4, 2)).astype(np.float32), gradient.astype(np.float32)
    pooled = run("MaxPool", [x], named)[0]
    found = run("MaxPoolGrad", [x, pooled, gradient], named)[0]
    np.testing.assert_array_equal(run("MaxPoolV3Grad", [x, pooled, gradient], plain)[0], found)
    deep_inputs = [array[:, np.newaxis] for array in (x, pooled, gradient)]
    attributes = {"ksize": (1, 3, 2), "strides": (1, 2, 2), "pads": (0, 0, 1, 1, 0, 0), "padding": "CALCULATED"}
    np.testing.assert_array_equal(run("MaxPool3DGrad", deep_inputs, attributes)[0][:, 0], found)
    deep_inputs = [x[:, np.newaxis], pooled[:, np.newaxis], x[:, np.newaxis]]
    attributes.pop("padding")
    np.testing.assert_array_equal(run("MaxPool3DGradGrad", deep_inputs, attributes)[0][:, 0], pooled)
    close(found.sum(), gradient.astype(np.float64).sum(), units=64, floor=1)


def test_no_elements(run: Run) -> None:
    """A batch of nothing is pooled to nothing, and so is an axis without elements."""
    attributes = {"ksize": (1, 1, 2, 2), "strides": (1, 1, 2, 2)}
    for op_type in ("MaxPoolV3", "AvgPoolV2"):
        assert run(op_type, [np.ones((0, 3, 4, 4), np.float32)], attributes)[0].shape == (0, 3, 2, 2)
        assert run(op_type, [np.ones((2, 3, 0, 4), np.float32)], attributes)[0].shape == (2, 3, 0, 2)
    last = {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": "SAME"}
    assert run("MaxPoolWithArgmax", [np.ones((0, 4, 4, 3), np.float32)], last)[1].shape == (0, 2, 2, 3)
    x, pooled = np.ones((0, 4, 4, 3), np.float32), np.ones((0, 2, 2, 3), np.float32)
    assert run("MaxPoolGrad", [x, pooled, pooled], last)[0].shape == x.shape


@pytest.mark.parametrize("reach", [1 << 40, (1 << 63) - 1])
def test_windows_far_larger_than_the_input(run: Run, reach: int) -> None:
    """Only the elements that meet the input count, and cost time: a window of any size covers all of it."""
    gradient, size = np.arange(6, dtype=np.float32).reshape(1, 3, 1, 2), np.array((1, 5, 2, 2), np.int32)
    attributes = {"strides": (1, 2, 2, 1), "padding": "SAME"}
    large, small = (
        run("AvgPoolGrad", [size, gradient], attributes | {"ksize": (1, 3, width, 1)}, known=[0])[0]
        for width in (reach, 2)
    )
    np.testing.assert_array_equal(large, small)
    assert large.any()


def test_bad_shapes_and_places(run: Run) -> None:
    """Shapes that are not pooled to each other, planes too large for their numbers, places outside."""
    x, attributes = (
        np.ones((1, 4, 4, 2), np.float32),
        {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": "SAME"},
    )
    with pytest.raises(InvalidArgument, match="do not fit"):
        run("MaxPoolGrad", [x, x, x], attributes)
    size = np.array((1, 9, 4, 2), np.int32)
    with pytest.raises(InvalidArgument, match="is not pooled to"):
        run("AvgPoolGrad", [size, np.ones((1, 2, 2, 2), np.float32)], attributes, known=[0])
    places = np.full((1, 2, 2, 2), 32, np.int64)
    with pytest.raises(IndexError, match="place 32"):
        run("MaxPoolGradWithArgmax", [x, np.ones((1, 2, 2, 2), np.float32), places], attributes)
    wide = {"ksize": (1, 1, 1, 1), "strides": (1, 1, 1, 1), "pads": (1, 0, 0, 1)}
    with pytest.raises(NotSupported, match="UINT16"):
        run("MaxPoolWithArgmaxV2", [np.ones((1, 1, 257, 256), np.float16)], wide)
    with pytest.raises(InvalidArgument, match="no elements"):
        run("GlobalAveragePool", [np.ones((1, 2, 0, 3), np.float32)])
