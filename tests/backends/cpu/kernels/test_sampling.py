"""Reading pictures at any place: ONNX's reference, the documented loops, and differences for gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.dtypes import DataType, Format
from aacl.errors import InvalidArgument, UnsupportedDataType
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc
from tests.helpers.onnx_reference import onnx_reference

Run = Callable[..., list[Array]]
Close = Callable[..., None]
PADDINGS = ["zeros", "border", "reflection"]


def _data(shape: tuple[int, ...], dtype: Any = np.float32, low: float = -2, high: float = 3) -> Array:
    return np.random.default_rng(sum(shape)).uniform(low, high, shape).astype(dtype)


def _held(x: Array, row: int, column: int) -> Array:
    """Return the element at a place, or the one of the edge."""
    return x[:, min(max(row, 0), x.shape[1] - 1), min(max(column, 0), x.shape[2] - 1)]


def _keys(distance: float) -> float:
    """Keys' kernel with the coefficient -0.75."""
    t = abs(distance)
    return 1.25 * t**3 - 2.25 * t**2 + 1 if t <= 1 else -0.75 * (t**3 - 5 * t**2 + 8 * t - 4) if t < 2 else 0.0


@pytest.mark.parametrize("aligns", [False, True])
def test_bicubic_holds_each_element_at_the_border(run: Run, aligns: bool) -> None:
    """As torch has it, where ONNX moves the place into the picture first."""
    x, grid = _data((1, 2, 4, 5), np.float64), _data((1, 3, 4, 2), np.float64, -1.6, 1.7)
    exact = np.zeros((1, 2, 3, 4))
    for place in np.ndindex(3, 4):
        at = [
            (number + 1) / 2 * (size - 1) if aligns else ((number + 1) * size - 1) / 2
            for number, size in zip(grid[0][place], (5, 4), strict=True)
        ]
        low = [math.floor(each) for each in at]
        for row in range(low[1] - 1, low[1] + 3):
            for column in range(low[0] - 1, low[0] + 3):
                exact[0, :, *place] += _held(x[0], row, column) * _keys(at[1] - row) * _keys(at[0] - column)

    attributes = {"interpolation_mode": "bicubic", "padding_mode": "border", "align_corners": aligns}
    np.testing.assert_allclose(run("GridSampler2D", [x, grid], attributes)[0], exact, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("aligns", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_grid_sampler(run: Run, close: Close, mode: str, aligns: bool, padding: str, data: st.DataObject) -> None:
    """As ONNX's GridSample in float64, inside and outside the picture, also with the channels last."""
    sides, places = data.draw(st.tuples(*[st.integers(2, 5)] * 2)), data.draw(st.tuples(*[st.integers(1, 3)] * 2))
    x, grid = _data((2, 3, *sides), np.float64), _data((2, *places, 2), np.float64, -1.6, 1.7)
    (exact,) = onnx_reference(
        "GridSample", [x, grid], mode={"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode),
        padding_mode=padding, align_corners=int(aligns),
    )  # fmt: skip
    attributes = {"interpolation_mode": mode, "padding_mode": padding, "align_corners": aligns}

    (found,) = run("GridSampler2D", [x, grid], attributes)
    if (mode, padding) != ("bicubic", "border"):
        np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-5)
    single = [each.astype(np.float32) for each in (x, grid)]
    (first,) = run("GridSample", single, attributes)
    (last,) = run("GridSample", [single[0].transpose(0, 2, 3, 1), single[1]], {**attributes, "channel_last": True})
    assert last.transpose(0, 3, 1, 2).tolist() == first.tolist()
    if mode != "nearest":  # where float32 may fall on the other side of a half
        np.testing.assert_allclose(first, found, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float16], ids=str)
@pytest.mark.parametrize("padding", PADDINGS[:2])
@pytest.mark.parametrize("aligns", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_large_grids(run: Run, dtype: Any, mode: str, aligns: bool, padding: str) -> None:
    """They give what the same places give in float64, in a few rows at a time; no numbers are no trouble there."""
    x, grid = _data((1, 8, 20, 30), dtype), _data((1, 45, 40, 2), dtype, -1.3, 1.3)
    attributes = {"interpolation_mode": mode, "padding_mode": padding, "align_corners": aligns}
    (found,) = run("GridSampler2D", [x, grid], attributes)
    wide = [each.astype(np.float64) for each in (x, grid)]
    exact = np.concatenate(
        [run("GridSampler2D", [wide[0], wide[1][:, row : row + 1]], attributes)[0] for row in range(45)], 2
    )
    is_near = np.abs(found.astype(np.float64) - exact) <= (4e-3 if dtype == np.float16 else 1e-4)

    # A place that float32 puts on the other side of a half has another nearest element.
    assert is_near.mean() >= (0.99 if mode == "nearest" else 1)
    grid[0, 3, 4] = np.nan, np.inf
    (again,) = run("GridSampler2D", [x, grid], attributes)
    assert np.isfinite(again.astype(np.float32)).all()
    assert (np.abs(again.astype(float) - found.astype(float)) > 4e-3).any((0, 1)).sum() <= (
        2 if mode == "bilinear" else 9
    )


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("aligns", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_grid_sampler_of_volumes(run: Run, mode: str, aligns: bool, padding: str) -> None:
    """Three numbers a place, that of the last axis first; half precision computes in float32."""
    x, grid = _data((1, 2, 3, 2, 4), np.float64), _data((1, 2, 3, 2, 3), np.float64, -1.6, 1.7)
    (exact,) = onnx_reference(
        "GridSample", [x, grid], mode="linear" if mode == "bilinear" else mode, padding_mode=padding,
        align_corners=int(aligns),
    )  # fmt: skip
    attributes = {"interpolation_mode": mode, "padding_mode": padding, "align_corners": aligns}
    np.testing.assert_allclose(run("GridSampler3D", [x, grid], attributes)[0], exact, rtol=1e-5, atol=1e-5)

    half = [each.astype(np.float16) for each in (x, grid)]
    wide = run("GridSampler3D", [each.astype(np.float32) for each in half], attributes)[0]
    assert run("GridSampler3D", half, attributes)[0].tolist() == wide.astype(np.float16).tolist()


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_places_that_are_no_numbers(run: Run, mode: str, padding: str) -> None:
    """Nothing outside the picture is read, however far a place lies; an infinite element elsewhere is no matter."""
    x = np.full((1, 1, 2, 2), 5, np.float32)
    grid = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 0], np.float32).repeat(2).reshape(1, 2, 3, 2)
    attributes = {"interpolation_mode": mode, "padding_mode": padding}
    (found,) = run("GridSampler2D", [x, grid], attributes)

    if (mode, padding) != ("bicubic", "zeros"):
        assert found[0, 0, 1, 2] == pytest.approx(5)
    if padding == "zeros":
        assert found.reshape(-1)[:5].tolist() == [0] * 5
    elif mode != "bicubic":
        assert found.reshape(-1)[:5].tolist() == [5] * 5
    if padding == "reflection":
        return
    x[0, 0, 0, 0] = np.inf
    outside = np.full((1, 1, 1, 2), 4, np.float32)
    assert np.isfinite(run("GridSampler2D", [x, outside], attributes)[0]).all()


def _slopes(function: Callable[[Array], float], point: Array) -> Array:
    """Return the gradient by central differences."""
    found = np.empty(point.shape)
    for index in np.ndindex(point.shape):
        ends = []
        for step in (1e-6, -1e-6):
            moved = point.copy()
            moved[index] += step
            ends.append(function(moved))
        found[index] = (ends[0] - ends[1]) / 2e-6
    return found


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("aligns", [False, True])
@pytest.mark.parametrize(("count", "mode"), [(2, "bilinear"), (2, "nearest"), (2, "bicubic"), (3, "bilinear"),
                                             (3, "nearest")])  # fmt: skip
def test_grid_gradients(run: Run, count: int, mode: str, aligns: bool, padding: str) -> None:
    """By differences of the forward operator in float64."""
    name = f"GridSampler{count}D"
    x = _data((1, 2, *range(3, 3 + count)), np.float64)
    grid = _data((1, *[2] * count, count), np.float64, -1.4, 1.3)
    slope = _data((1, 2, *[2] * count), np.float64)
    attributes = {"interpolation_mode": mode, "padding_mode": padding, "align_corners": aligns}

    def loss(pictures: Array, places: Array) -> float:
        return math.fsum((run(name, [pictures, places], attributes)[0] * slope).reshape(-1).tolist())

    dx, dgrid = run(f"{name}Grad", [slope, x, grid], attributes)
    np.testing.assert_allclose(dx, _slopes(lambda each: loss(each, grid), x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(dgrid, _slopes(lambda each: loss(x, each), grid), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("aligns", [False, True])
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 3, 1, 2), (2, 1, 2, 3, 4)], ids=str)
def test_affine_grid(run: Run, close: Close, size: tuple[int, ...], late: bool, aligns: bool) -> None:
    """As ONNX's AffineGrid; a single place is in the middle."""
    count = len(size) - 2
    theta = _data((2, count, count + 1))
    (y,) = run("AffineGrid", [theta, np.array(size, np.int32)], {"align_corners": aligns}, known=(1,), late=late)

    exact = np.empty(y.shape)
    for index in np.ndindex(y.shape[:-1]):
        place = []
        for length, step in zip(reversed(size[2:]), reversed(index[1:]), strict=True):
            number = 0.0 if length == 1 else -1 + 2 * step / (length - 1)
            place.append(number if aligns else number * (length - 1) / length)
        exact[index] = theta[index[0]].astype(np.float64) @ np.array([*place, 1.0])
    close(y, exact, units=16, floor=2)
    if aligns and 1 not in size[2:]:
        (listed,) = onnx_reference("AffineGrid", [theta, np.array(size)], align_corners=1)
        close(y, listed, units=16, floor=2)


def _crop(x: Array, box: list[float], size: tuple[int, int], method: str, outside: float) -> Array:
    """Return a crop of a picture with the channels last, as TensorFlow's documentation has it."""
    found = np.full((*size, x.shape[2]), outside)
    top, left, bottom, right = box
    ends = ((top, bottom, x.shape[0] - 1, size[0]), (left, right, x.shape[1] - 1, size[1]))
    for place in np.ndindex(size):
        at = [
            low * last + step * (high - low) * last / (count - 1) if count > 1 else 0.5 * (low + high) * last
            for step, (low, high, last, count) in zip(place, ends, strict=True)
        ]
        if any(not 0 <= position <= last for position, (_, _, last, _) in zip(at, ends, strict=True)):
            continue
        if method == "nearest":
            found[place] = x[math.floor(at[0] + 0.5), math.floor(at[1] + 0.5)]
            continue
        h, w = math.floor(at[0]), math.floor(at[1])
        below, beside = min(h + 1, x.shape[0] - 1), min(w + 1, x.shape[1] - 1)
        a, b = at[0] - h, at[1] - w
        found[place] = (1 - a) * ((1 - b) * x[h, w] + b * x[h, beside]) + a * (
            (1 - b) * x[below, w] + b * x[below, beside]
        )
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8, np.int64], ids=str)
@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_crop_and_resize(run: Run, close: Close, dtype: Any, method: str, data: st.DataObject) -> None:
    """Box by box, in either layout; what lies outside is the extrapolation value."""
    sides, size = data.draw(st.tuples(*[st.integers(1, 5)] * 2)), data.draw(st.tuples(*[st.integers(1, 4)] * 2))
    x = _data((2, *sides, 3), low=0, high=200).astype(dtype)
    numbers = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, 1.25, -0.25])
    boxes = np.array(data.draw(st.lists(st.lists(numbers, min_size=4, max_size=4), max_size=3)), np.float32).reshape(
        -1, 4
    )
    places = np.arange(len(boxes), dtype=np.int32) % 2
    exact = np.zeros((len(boxes), *size, 3))
    for box, (place, corners) in enumerate(zip(places, boxes.tolist(), strict=True)):
        exact[box] = _crop(x[place].astype(np.float64), corners, size, method, 7.0)
    inputs = [x, boxes, places, np.array(size, np.int32)]
    attributes = {"method": method, "extrapolation_value": 7.0}

    (found,) = run("CropAndResize", inputs, attributes, known=(3,), late=data.draw(st.booleans()))
    assert found.dtype == (np.float16 if dtype == np.float16 else np.float32)
    close(found, exact, units=16, floor=1)
    first = [x.transpose(0, 3, 1, 2), *inputs[1:]]
    (turned,) = run("CropAndResize", first, attributes, known=(3,), formats={0: Format.NCHW})
    assert turned.transpose(0, 2, 3, 1).tolist() == found.tolist()
    if dtype in (np.float32, np.float16):
        (again,) = run("CropAndResizeD", inputs[:3], {**attributes, "crop_size": size})
        assert again.tolist() == found.tolist()
    (whole,) = run("CropAndResizeV2", inputs, {**attributes, "dtype": DataType.UINT8}, known=(3,))
    assert (np.abs(whole - exact) <= 0.501).all()


def test_boxes_of_no_numbers(run: Run) -> None:
    """They lie outside."""
    x, boxes = np.ones((1, 2, 2, 1), np.float32), np.full((1, 4), np.nan, np.float32)
    (found,) = run("CropAndResize", [x, boxes, np.zeros(1, np.int32), np.array([2, 2], np.int32)], known=(3,))

    assert found.tolist() == np.zeros((1, 2, 2, 1)).tolist()


@pytest.mark.parametrize("wrong", [-1, 2, 2**31 - 1])
def test_a_picture_outside_the_batch(run: Run, wrong: int) -> None:
    """The error names it; nothing is read."""
    inputs = [np.ones((2, 2, 2, 1), np.float32), np.zeros((2, 4), np.float32), np.array([0, wrong], np.int32)]
    with pytest.raises(IndexError, match=f"a box names picture {wrong} of a batch of 2"):
        run("CropAndResizeD", inputs, {"crop_size": [1, 1]})


def test_bad_input(run: Run) -> None:
    """Shapes and modes that do not fit are refused by name."""
    x, grid, boxes = (
        np.zeros((1, 1, 2, 2), np.float32),
        np.zeros((1, 2, 2, 2), np.float32),
        np.zeros((2, 4), np.float32),
    )
    size, one = np.array([2, 2], np.int32), np.zeros(1, np.int32)
    for op_type, inputs, attributes, text in (
        ("GridSampler2D", [x, grid[..., :1]], {}, "2 numbers a place"),
        ("GridSampler2D", [x[0], grid], {}, "four dims|4 dims"),
        ("GridSampler2D", [x, np.zeros((2, 2, 2, 2), np.float32)], {}, "differ in the batch"),
        ("GridSampler2D", [x, grid], {"interpolation_mode": "cubic"}, "interpolation_mode is 'cubic'"),
        ("GridSampler2D", [x, grid], {"padding_mode": "wrap"}, "padding_mode is 'wrap'"),
        ("GridSampler2DGrad", [x[..., :1], x, grid], {}, "the grid makes shape"),
        ("AffineGrid", [x[0], np.array([1, 1, 2, 2], np.int32)], {}, r"\[N, 2, 3\]"),
        ("AffineGrid", [np.zeros((1, 2, 3), np.float32), np.array([2, 1, 2, 2], np.int32)], {}, "does not fit"),
        ("CropAndResize", [x, boxes, one, size], {}, "each box has one picture"),
        ("CropAndResize", [x, boxes[:1, :3], one, size], {}, r"\[number, 4\]"),
        ("CropAndResize", [x, boxes[:1], one, size * 0], {}, "at least 1"),
        ("CropAndResize", [x, boxes[:1], one, size], {"method": "area"}, "method is 'area'"),
    ):
        with pytest.raises(InvalidArgument, match=text):
            run(op_type, inputs, attributes, known=(1,) if op_type == "AffineGrid" else (3,))
    volume = [np.zeros((1, 1, 2, 2, 2), np.float32), np.zeros((1, 2, 2, 2, 3), np.float32)]
    with pytest.raises(InvalidArgument, match="interpolation_mode is 'bicubic'"):
        run("GridSampler3D", volume, {"interpolation_mode": "bicubic"})
    with pytest.raises(UnsupportedDataType, match="must be equal"):
        run("GridSampler2D", [x, grid.astype(np.float16)])


def test_nothing(run: Run) -> None:
    """Empty pictures read as zeros; no places give none."""
    grid = np.zeros((1, 2, 2, 2), np.float32)
    assert run("GridSampler2D", [np.zeros((1, 1, 0, 2), np.float32), grid])[0].tolist() == [[[[0, 0], [0, 0]]]]
    assert run("GridSampler2D", [np.zeros((1, 1, 2, 2), np.float32), grid[:, :0]])[0].shape == (1, 1, 0, 2)


def test_free_dims() -> None:
    """The number of boxes is what both inputs allow; an unknown size leaves the rank."""
    schema = schema_of("CropAndResize")
    x, size = TensorDesc.of(np.float32, (1, 4, 4, 3)), TensorDesc.of(np.int32, (2,))
    boxes = TensorDesc.of(np.float32, (-1, 4), ranges=((2, 9), (4, 4)))
    places = TensorDesc.of(np.int32, (-1,), ranges=((0, 5),))
    (y,) = infer_outputs(schema, [x, boxes, places, size], schema.complete({}))

    assert (y.shape, y.ranges) == ((-1, -1, -1, 3), ((2, 5), (0, -1), (0, -1), (3, 3)))


@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (2, 0, 4, 5), (2, 3, 0, 5)])
def test_no_pictures_to_sample(run: Run, shape: tuple[int, ...]) -> None:
    """No channels give no results; pictures of no elements are 0 everywhere."""
    x, grid = np.ones(shape, np.float32), np.zeros((shape[0], 2, 2, 2), np.float32)

    (found,) = run("GridSampler2D", [x, grid])
    dx, dgrid = run("GridSampler2DGrad", [found, x, grid])

    assert found.shape == (*shape[:2], 2, 2)
    assert dx.shape == shape
    assert not found.any()
    assert not dx.any()
    assert not dgrid.any()


@pytest.mark.parametrize("shape", [(1, 2, 0, 3), (1, 0, 2, 3)])
def test_pictures_without_pixels(run: Run, shape: tuple[int, ...]) -> None:
    """Nothing can be cropped from them."""
    inputs = [
        np.zeros(shape, np.float32),
        np.zeros((1, 4), np.float32),
        np.zeros(1, np.int32),
        np.array([2, 2], np.int32),
    ]
    with pytest.raises(InvalidArgument, match="has no pixels to crop"):
        run("CropAndResize", inputs, known=(3,), formats={0: Format.NHWC})
