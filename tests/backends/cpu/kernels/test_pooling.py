"""Pooling and its gradients, against loops over windows written from the operators' documentation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument, NotSupported
from aacl.ops import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
HALF, SINGLE, DOUBLE = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)


class Line(NamedTuple):
    """Windows along one axis."""

    length: int
    size: int
    stride: int
    before: int
    after: int
    ceil: bool
    dilation: int = 1

    @property
    def windows(self) -> list[list[int]]:
        """The places of each window's elements; those outside the axis are padding."""
        extent, found = (self.size - 1) * self.dilation + 1, list[list[int]]()
        start = -self.before
        while start + extent <= self.length + self.after:
            found.append([start + index * self.dilation for index in range(self.size)])
            start += self.stride
        is_cut = (self.length + self.after + self.before - extent) % self.stride != 0
        if self.ceil and is_cut and start < self.length:
            found.append([start + index * self.dilation for index in range(self.size)])
        return found


def _same(length: int, size: int, stride: int) -> Line:
    """TensorFlow's SAME: as many windows as strides, the odd element of padding at the end."""
    total = max((math.ceil(length / stride) - 1) * stride + size - length, 0)
    return Line(length, size, stride, total // 2, total - total // 2, False)


class Cell(NamedTuple):
    """One window of one plane."""

    target: tuple[int, ...]
    places: list[tuple[int, ...]]
    """Its elements that are no padding, in the array."""
    covered: int
    """How many it has with the padding, which ends where the attribute says."""


def _cells(shape: tuple[int, ...], lines: list[Line]) -> list[Cell]:
    """Return every window of every plane of an array ``(N, C, ...)``."""
    found = []
    for lead in np.ndindex(shape[:2]):
        for index in np.ndindex(*(len(line.windows) for line in lines)):
            along = [line.windows[place] for line, place in zip(lines, index, strict=True)]
            every = [tuple(int(axis[i]) for axis, i in zip(along, inner, strict=True))
                     for inner in np.ndindex(*(len(axis) for axis in along))]  # fmt: skip
            inside = [place for place in every
                      if all(0 <= p < line.length for p, line in zip(place, lines, strict=True))]  # fmt: skip
            padded = [place for place in every
                      if all(p < line.length + line.after for p, line in zip(place, lines, strict=True))]  # fmt: skip
            found.append(Cell((*lead, *index), [(*lead, *place) for place in inside], len(padded)))
    return found


def _counts(lines: list[Line]) -> tuple[int, ...]:
    return tuple(len(line.windows) for line in lines)


def _maximum(x: Array, lines: list[Line]) -> Array:
    out = np.empty(x.shape[:2] + _counts(lines), x.dtype)
    for cell in _cells(x.shape, lines):
        out[cell.target] = max(x[place] for place in cell.places)
    return out


def _average(x: Array, lines: list[Line], divide: Callable[[Cell], float]) -> Array:
    out = np.empty(x.shape[:2] + _counts(lines))
    for cell in _cells(x.shape, lines):
        out[cell.target] = sum(float(x[place]) for place in cell.places) / divide(cell)
    return out


@st.composite
def planes(draw: st.DrawFn, count: int = 2, ceil: bool = True) -> tuple[Array, list[Line]]:
    """An array ``(N, C, ...)`` and windows that fit it; padding is less than a window."""
    lines = []
    has_ceil = ceil and draw(st.booleans())
    for _ in range(count):
        size, stride = draw(st.integers(1, 3)), draw(st.integers(1, 3))
        before, after = draw(st.integers(0, size // 2)), draw(st.integers(0, size // 2))
        lines.append(Line(size + draw(st.integers(0, 4)), size, stride, before, after, has_ceil))
    shape = (draw(st.integers(1, 2)), draw(st.integers(1, 3)), *(line.length for line in lines))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    return random.integers(-9, 9, shape) / 4, lines


def _attributes(lines: list[Line], **others: Any) -> dict[str, Any]:
    return {
        "ksize": (1, 1, *(line.size for line in lines)),
        "strides": (1, 1, *(line.stride for line in lines)),
        "pads": [pad for line in lines for pad in (line.before, line.after)],
        "ceil_mode": lines[0].ceil,
        **others,
    }


def _last(x: Array) -> Array:
    return np.moveaxis(x, 1, -1)


def _turned(attributes: dict[str, Any], layout: str) -> dict[str, Any]:
    """Return attributes for the layout with channels last."""
    moved = {name: (1, *attributes[name][2:], 1) for name in ("ksize", "strides")}
    return attributes | moved | {"data_format": layout}


@settings(deadline=None, max_examples=40)
@given(case=planes(), dtype=st.sampled_from([SINGLE, HALF, DOUBLE, np.dtype(np.int8), np.dtype(np.int32)]))
def test_maximum(run: Run, case: tuple[Array, list[Line]], dtype: np.dtype[Any]) -> None:
    """The largest element of each window, in both layouts; padding never counts."""
    x, lines = case[0].astype(dtype) - np.asarray(5, dtype), case[1]
    exact = _maximum(x, lines)
    attributes = _attributes(lines)
    np.testing.assert_array_equal(run("MaxPoolV3", [x], attributes)[0], exact)
    np.testing.assert_array_equal(run("MaxPoolV3", [_last(x)], _turned(attributes, "NHWC"))[0], _last(exact))


@settings(deadline=None, max_examples=40)
@given(
    case=planes(), dtype=st.sampled_from([SINGLE, HALF, DOUBLE]), exclusive=st.booleans(), override=st.integers(0, 2)
)
def test_average(
    run: Run, close: Close, case: tuple[Array, list[Line]], dtype: np.dtype[Any], exclusive: bool, override: int
) -> None:
    """The sum over the elements, with the padding or without, or over ``divisor_override``."""
    x, lines = case[0].astype(dtype), case[1]

    def divide(cell: Cell) -> float:
        return override or (len(cell.places) if exclusive else cell.covered)

    exact = _average(x, lines, divide)
    attributes = _attributes(lines, exclusive=exclusive, divisor_override=override)
    close(run("AvgPoolV2", [x], attributes)[0], exact, units=4, floor=2)
    close(run("AvgPoolV2", [_last(x)], _turned(attributes, "NHWC"))[0], _last(exact), units=4, floor=2)


@settings(deadline=None, max_examples=20)
@given(case=planes(ceil=False), mode=st.sampled_from(["SAME", "VALID"]))
def test_padding_by_name(run: Run, close: Close, case: tuple[Array, list[Line]], mode: str) -> None:
    """SAME and VALID as TensorFlow has them; the average leaves padding out."""
    x = case[0].astype(np.float16)
    lines = [_same(line.length, line.size, line.stride) if mode == "SAME"
             else line._replace(before=0, after=0) for line in case[1]]  # fmt: skip
    attributes: dict[str, Any] = {"ksize": (1, lines[0].size, lines[1].size, 1), "padding": mode}
    attributes |= {"strides": (1, lines[0].stride, lines[1].stride, 1)}
    found = run("MaxPool", [_last(x)], attributes)[0]
    np.testing.assert_array_equal(found, _last(_maximum(x, lines)))
    np.testing.assert_array_equal(run("MaxPoolExt2", [_last(x)], attributes)[0], _last(_maximum(x, lines)))
    exact = _average(x, lines, lambda cell: len(cell.places))
    close(run("AvgPool", [_last(x)], attributes)[0], _last(exact), units=4, floor=2)
    sizes, strides = (np.array(attributes[name], np.int32) for name in ("ksize", "strides"))
    for late in (False, True):
        again = run("MaxPoolV2", [_last(x), sizes, strides], {"padding": mode}, known=[1, 2], late=late)[0]
        np.testing.assert_array_equal(again, found)


@settings(deadline=None, max_examples=12)
@given(case=planes(count=3), include=st.booleans())
def test_three_axes(run: Run, close: Close, case: tuple[Array, list[Line]], include: bool) -> None:
    """MaxPool3D and AvgPool3D, by default in NDHWC."""
    x, lines = case[0].astype(np.float32), case[1]
    attributes = _attributes(lines)
    attributes |= {"ksize": attributes["ksize"][2:], "strides": attributes["strides"][2:]}
    largest = attributes | {"padding": "CALCULATED", "ceil_mode": int(lines[0].ceil)}
    np.testing.assert_array_equal(run("MaxPool3D", [_last(x)], largest)[0], _last(_maximum(x, lines)))
    exact = _average(x, lines, lambda cell: cell.covered if include else len(cell.places))
    attributes |= {"count_include_pad": include}
    close(run("AvgPool3D", [_last(x)], attributes)[0], _last(exact), units=4, floor=2)
    first = attributes | {"data_format": "NCDHW"}
    close(run("AvgPool3DD", [x, None, None], first)[0], exact, units=4, floor=2)


@settings(deadline=None, max_examples=20)
@given(case=planes(), mode=st.integers(0, 1))
def test_caffe(run: Run, close: Close, case: tuple[Array, list[Line]], mode: int) -> None:
    """Pooling rounds up by default; its average counts padding."""
    x, lines = case[0].astype(np.float32), case[1]
    attributes = {
        "mode": mode,
        "window": [line.size for line in lines],
        "stride": [line.stride for line in lines],
        "pad": [pad for line in lines for pad in (line.before, line.after)],
        "ceil_mode": 0 if lines[0].ceil else 1,
    }
    exact = _average(x, lines, lambda cell: cell.covered) if mode else _maximum(x, lines)
    close(run("Pooling", [x], attributes)[0], exact, units=4, floor=2)


def test_dilation(run: Run) -> None:
    """MaxPool3D takes every second element."""
    x = np.random.default_rng(3).uniform(-1, 1, (1, 2, 5, 6, 7)).astype(np.float32)
    lines = [Line(length, 2, 1, 0, 0, False, 2) for length in x.shape[2:]]
    attributes = _attributes(lines, padding="CALCULATED", dilation=(1, 1, 2, 2, 2), data_format="NCDHW", ceil_mode=0)
    np.testing.assert_array_equal(run("MaxPool3D", [x], attributes)[0], _maximum(x, lines))


@settings(deadline=None, max_examples=20)
@given(case=planes(), count_include_pad=st.booleans(), dtype=st.sampled_from([HALF, DOUBLE, np.dtype(np.int32)]))
def test_lines(
    run: Run, close: Close, case: tuple[Array, list[Line]], count_include_pad: bool, dtype: np.dtype[Any]
) -> None:
    """AvgPool1D goes along the last axis; integers are rounded towards zero; a further matrix decides nothing."""
    x, line = (case[0] * 4).astype(dtype), case[1][1]
    attributes = {"ksize": line.size, "strides": line.stride, "pads": [line.before, line.after]}
    attributes |= {"ceil_mode": line.ceil, "count_include_pad": count_include_pad}
    rows = x.reshape(1, -1, line.length)
    exact = _average(rows, [line], lambda cell: cell.covered if count_include_pad else len(cell.places))
    exact = exact.reshape(*x.shape[:-1], -1)
    wanted = np.trunc(exact) if dtype.kind == "i" else exact
    close(run("AvgPool1D", [x], attributes)[0], wanted, units=4, floor=2)
    close(run("AvgPool1DD", [x, np.full(exact.shape, 9, dtype)], attributes)[0], wanted, units=4, floor=2)


def _first_largest(x: Array, cell: Cell) -> tuple[int, ...]:
    return max(cell.places, key=lambda place: (float(x[place]), [-p for p in place]))


@settings(deadline=None, max_examples=25)
@given(case=planes(ceil=False), mode=st.sampled_from(["SAME", "VALID"]))
def test_places_and_gradient(run: Run, case: tuple[Array, list[Line]], mode: str) -> None:
    """A place counts in H * W * C order; gradients go to the first largest element, by x or by its place."""
    x = case[0].astype(np.float32)
    lines = [_same(line.length, line.size, line.stride) if mode == "SAME"
             else line._replace(before=0, after=0) for line in case[1]]  # fmt: skip
    attributes: dict[str, Any] = {"ksize": (1, lines[0].size, lines[1].size, 1), "padding": mode}
    attributes |= {"strides": (1, lines[0].stride, lines[1].stride, 1)}
    largest, places = run("MaxPoolWithArgmax", [_last(x)], attributes)
    gradient = np.random.default_rng(1).integers(-4, 5, largest.shape).astype(np.float32)
    exact = np.zeros(x.shape)
    for cell in _cells(x.shape, lines):
        image, channel, row, column = _first_largest(x, cell)
        target = (image, *cell.target[2:], channel)
        assert largest[target] == x[image, channel, row, column]
        assert places[target] == (row * x.shape[3] + column) * x.shape[1] + channel
        exact[image, channel, row, column] += gradient[target]
    found = run("MaxPoolGrad", [_last(x), largest, gradient], attributes)[0]
    np.testing.assert_array_equal(found, _last(exact))
    found = run("MaxPoolGradWithArgmax", [_last(x), gradient, places], attributes)[0]
    np.testing.assert_array_equal(found, _last(exact))
    twice = np.random.default_rng(2).integers(-4, 5, x.shape).astype(np.float32)
    picked = np.empty(largest.shape, np.float32)
    for cell in _cells(x.shape, lines):
        picked[cell.target[0], cell.target[2], cell.target[3], cell.target[1]] = twice[_first_largest(x, cell)]
    found = run("MaxPoolGradGrad", [_last(x), largest, _last(twice)], attributes)[0]
    np.testing.assert_array_equal(found, picked)
    found = run("MaxPoolGradGradWithArgmax", [_last(x), _last(twice), places], attributes)[0]
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
        for cell in _cells(x.shape, lines):
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
    gradient = np.random.default_rng(1).uniform(-1, 1, x.shape[:2] + _counts(lines)).astype(dtype)
    exact = np.zeros(x.shape)
    for cell in _cells(x.shape, lines):
        for place in cell.places:
            exact[place] += float(gradient[cell.target]) / (len(cell.places) if exclusive else cell.covered)
    attributes = _attributes(lines, exclusive=exclusive)
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


def test_global_pooling_and_wide_padding(run: Run, close: Close) -> None:
    """``global_pooling`` takes the whole plane, whatever the window; windows may lie in the padding alone."""
    x = np.random.default_rng(2).uniform(-1, 1, (2, 3, 4, 5)).astype(np.float32)
    attributes = {"ksize": (1, 1, 1, 1), "strides": (1, 1, 1, 1), "global_pooling": True}
    np.testing.assert_array_equal(run("MaxPoolV3", [x], attributes)[0], x.max((2, 3), keepdims=True))
    close(run("AvgPoolV2", [x], attributes)[0], x.astype(np.float64).mean((2, 3), keepdims=True), units=8, floor=1)
    outside = {"ksize": (1, 1, 1, 1), "strides": (1, 1, 1, 1), "pads": (1, 0, 0, 2)}
    found = run("MaxPoolV3", [x], outside)[0]
    assert found.shape == (2, 3, 5, 7)
    assert np.isneginf(found[:, :, 0]).all()
    assert np.isneginf(found[..., 5:]).all()
    np.testing.assert_array_equal(found[:, :, 1:, :5], x)
    assert not run("AvgPoolV2", [x], outside)[0][:, :, 0].any()


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


@pytest.mark.parametrize("dtype", [SINGLE, HALF])
@pytest.mark.parametrize(("size", "shape"), [((3, 2), (2, 3, 7, 5)), ((1, 9), (3, 4, 6)), ((4,), (1, 2, 5, 5))])
def test_adaptive(run: Run, close: Close, dtype: np.dtype[Any], size: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Part i of n of an axis of L goes from ``floor(i L / n)`` to ``ceil((i + 1) L / n)``."""
    x = np.random.default_rng(2).uniform(-1, 1, shape).astype(dtype)
    height, width = size if len(size) == 2 else size * 2
    mean, largest = (np.empty((*shape[:-2], height, width)) for _ in range(2))
    gradient, places = np.zeros(shape), np.empty(mean.shape, np.int32)
    back = np.random.default_rng(3).uniform(-1, 1, mean.shape).astype(dtype)
    for lead in np.ndindex(mean.shape):
        row, column = lead[-2:]
        rows = range(math.floor(row * shape[-2] / height), math.ceil((row + 1) * shape[-2] / height))
        columns = range(math.floor(column * shape[-1] / width), math.ceil((column + 1) * shape[-1] / width))
        values = {(i, j): float(x[(*lead[:-2], i, j)]) for i in rows for j in columns}
        mean[lead] = sum(values.values()) / len(values)
        largest[lead] = max(values.values())
        best = next(place for place, value in values.items() if value == largest[lead])
        places[lead] = best[0] * shape[-1] + best[1]
        for i, j in values:
            gradient[(*lead[:-2], i, j)] += float(back[lead]) / len(values)
    attributes = {"output_size": size}
    close(run("AdaptiveAvgPool2d", [x], attributes)[0], mean, units=4, floor=1)
    wanted = np.array((height, width), np.int64)
    close(run("AdaptiveAvgPool", [x, wanted], known=[1])[0], mean, units=4, floor=1)
    found, numbers = run("AdaptiveMaxPool2d", [x], attributes)
    np.testing.assert_array_equal(found, largest)
    np.testing.assert_array_equal(numbers, places)
    found = run("AdaptiveAvgPool2dGrad", [back], {"orig_input_shape": shape})[0]
    close(found, gradient, units=8, floor=1)


def test_adaptive_maximum_of_equals(run: Run) -> None:
    """Of equal elements the first one in reading order counts; NaN is the largest."""
    x = np.array([[[1, 5, 5, 0], [5, 5, 5, 0]]], np.float32)
    assert run("AdaptiveMaxPool2d", [x], {"output_size": (1, 1)})[1].item() == 1
    x[0, 1, 0] = np.nan
    found, places = run("AdaptiveMaxPool2d", [x], {"output_size": (1, 2)})
    assert np.isnan(found[0, 0, 0])
    assert places.tolist() == [[[4, 2]]]


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 2, 6), (0, 2, 3, 3)])
def test_whole_planes(run: Run, close: Close, shape: tuple[int, ...]) -> None:
    """The mean, and the norm, over all spatial axes."""
    x = np.random.default_rng(2).uniform(-1, 1, shape).astype(np.float16)
    mean, norm = np.zeros(shape[:2]), {1.0: np.zeros(shape[:2]), 2.0: np.zeros(shape[:2]), 3.0: np.zeros(shape[:2])}
    for lead in np.ndindex(shape[:2]):
        values = [float(value) for value in x[lead].reshape(-1)]
        mean[lead] = math.fsum(values) / len(values)
        for power, out in norm.items():
            out[lead] = math.fsum(abs(value) ** power for value in values) ** (1 / power)
    one = (1,) * (len(shape) - 2)
    close(run("GlobalAveragePool", [x])[0], mean.reshape(*shape[:2], *one), units=4, floor=0.1)
    for power, out in norm.items():
        close(run("GlobalLpPool", [x], {"p": power})[0], out.reshape(*shape[:2], *one), units=4)


@pytest.mark.parametrize("shape", [(2, 3, 2, 3), (1, 2, 2, 3, 16)])
def test_upsample(run: Run, shape: tuple[int, ...]) -> None:
    """Repeated along the third and fourth axes, times the scale."""
    x = np.random.default_rng(2).integers(-9, 9, shape).astype(np.float16)
    found = run("Upsample", [x], {"scale": 0.5, "stride_h": 2, "stride_w": 3})[0]
    assert found.shape == (*shape[:2], shape[2] * 2, shape[3] * 3, *shape[4:])
    for place in np.ndindex(found.shape):
        source = (*place[:2], place[2] // 2, place[3] // 3, *place[4:])
        assert found[place] == x[source] / 2


def test_regions(run: Run) -> None:
    """Corners are rounded and lie inside; what lies outside the image is cut off, an empty part is 0."""
    x = np.random.default_rng(2).uniform(-2, -1, (2, 2, 6, 8)).astype(np.float32)
    regions = np.array([[0, 1, 1, 6, 4], [1, 0, 0, 15, 11], [1, 6.2, 2, 3, 1], [0, 14, 10, 18, 14]], np.float32)
    attributes = {"pooled_h": 2, "pooled_w": 3, "spatial_scale_h": 0.5, "spatial_scale_w": 0.5}
    found = run("ROIPooling", [x, regions], attributes)[0]
    for (index, *corners), out in zip(regions, found, strict=True):
        left, top, right, bottom = (math.floor(float(corner) * 0.5 + 0.5) for corner in corners)
        height, width = max(bottom - top + 1, 1) / 2, max(right - left + 1, 1) / 3
        for channel, row, column in np.ndindex(2, 2, 3):
            values = [
                x[int(index), channel, i, j]
                for i in range(math.floor(row * height) + top, math.ceil((row + 1) * height) + top)
                for j in range(math.floor(column * width) + left, math.ceil((column + 1) * width) + left)
                if 0 <= i < 6 and 0 <= j < 8
            ]
            assert out[channel, row, column] == max(values, default=0)
    with pytest.raises(IndexError, match="region of image 2"):
        run("ROIPooling", [x, np.array([[2, 0, 0, 1, 1]], np.float32)], attributes)


def test_free_dims() -> None:
    """Ranges go through the windows' arithmetic; an unknown rank stays unknown."""
    schema = schema_of("AvgPoolV2")
    complete = schema.complete({"ksize": (1, 1, 3, 3), "strides": (1, 1, 2, 2), "pads": (1, 1, 0, 0)})
    x = TensorDesc.of(DataType.FLOAT, (-1, 8, -1, 9), ranges=((1, 4), (8, 8), (3, 20), (9, 9)))
    (out,) = infer_outputs(schema, [x], complete)
    assert (out.shape, out.ranges) == ((-1, 8, -1, 4), ((1, 4), (8, 8), (2, 10), (4, 4)))
    (out,) = infer_outputs(schema, [TensorDesc.of(DataType.FLOAT, (-2,))], complete)
    assert out.shape == (-2,)


@pytest.mark.parametrize(
    ("op_type", "attributes", "text"),
    [
        ("MaxPoolV3", {"ksize": (1, 1, 5, 1)}, "a window of 5 along H does not fit"),
        ("MaxPoolV3", {"ksize": (1, 2, 2, 2)}, "must be 1 along N and C"),
        ("MaxPoolV3", {"ksize": (1, 1, 2)}, "ksize"),
        ("MaxPoolV3", {"strides": (1, 1, 0, 1)}, "strides"),
        ("MaxPoolV3", {"pads": (0, -1, 0, 0)}, "pads"),
        ("MaxPoolV3", {"padding_mode": "FULL"}, "padding 'FULL'"),
        ("AvgPoolV2", {"divisor_override": -1}, "divisor_override"),
        ("AvgPoolV2", {"data_format": "NCL"}, "layout NCL"),
        ("AdaptiveAvgPool2d", {"output_size": (1, 2, 3)}, "output_size"),
        ("GlobalLpPool", {"p": 0.0}, "p is 0"),
        ("Upsample", {"stride_h": 0}, "stride_h"),
    ],
)
def test_bad_arguments(run: Run, op_type: str, attributes: dict[str, Any], text: str) -> None:
    """One error that names what does not fit."""
    base: dict[str, Any] = {"ksize": (1, 1, 2, 2), "strides": (1, 1, 1, 1)} if "PoolV" in op_type else {}
    with pytest.raises(InvalidArgument, match=text):
        run(op_type, [np.ones((1, 2, 4, 4), np.float32)], base | attributes)


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


@pytest.mark.parametrize("wrong", [np.inf, np.nan])
def test_regions_that_are_nowhere(run: Run, wrong: float) -> None:
    """A corner that is not finite is refused by name."""
    attributes = {"pooled_h": 1, "pooled_w": 1, "spatial_scale_h": 1.0, "spatial_scale_w": 1.0}
    with pytest.raises(ValueError, match="ROIPooling: a region has a number that is not finite"):
        run("ROIPooling", [np.ones((1, 1, 2, 2), np.float32), np.array([[0, 0, 0, wrong, 1]], np.float32)], attributes)
