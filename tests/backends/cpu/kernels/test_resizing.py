"""Resizing: element by element from TensorFlow's and torch's documentation, ONNX's by its reference."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
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
WAYS = [{}, {"align_corners": True}, {"half_pixel_centers": True}]


def _data(shape: tuple[int, ...], dtype: Any = np.float32) -> Array:
    return np.random.default_rng(sum(shape)).uniform(-20, 30, shape).astype(dtype)


def _position(step: int, length: int, count: int, way: dict[str, bool]) -> float:
    if way.get("align_corners") and count > 1:
        return step * (length - 1) / (count - 1)
    return (step + 0.5) * length / count - 0.5 if way.get("half_pixel_centers") else step * length / count


def _nearest(step: int, length: int, count: int, way: dict[str, bool]) -> dict[int, float]:
    if way.get("align_corners") and count > 1:
        place = math.floor(step * (length - 1) / (count - 1) + 0.5)
    elif way.get("half_pixel_centers"):
        place = math.floor((step + 0.5) * length / count)
    else:
        place = math.floor(step * length / count)
    return {min(place, length - 1): 1.0}


def _linear(step: int, length: int, count: int, way: dict[str, bool]) -> dict[int, float]:
    position = min(max(_position(step, length, count, way), 0), length - 1)
    low = math.floor(position)
    return {low: 1 - (position - low), **({low + 1: position - low} if position > low else {})}


def _cubic(step: int, length: int, count: int, way: dict[str, bool]) -> dict[int, float]:
    """Keys' kernel; with half pixels its coefficient is -0.5 and what lies outside weighs nothing."""
    excludes = way.get("half_pixel_centers", False)
    a = -0.5 if excludes else -0.75
    position = _position(step, length, count, way)
    found: dict[int, float] = {}
    for place in range(math.floor(position) - 1, math.floor(position) + 3):
        t = abs(position - place)
        weight = (a + 2) * t**3 - (a + 3) * t**2 + 1 if t <= 1 else a * (t**3 - 5 * t**2 + 8 * t - 4) if t < 2 else 0.0
        if excludes and not 0 <= place < length:
            continue
        inside = min(max(place, 0), length - 1)
        found[inside] = found.get(inside, 0) + weight
    total = sum(found.values())
    return {place: weight / (total if excludes else 1) for place, weight in found.items()}


def _area(step: int, length: int, count: int, way: dict[str, bool]) -> dict[int, float]:
    scale = (length - 1) / (count - 1) if way.get("align_corners") and count > 1 else length / count
    start, end = step * scale, min((step + 1) * scale, length)
    shares = {place: min(end, place + 1) - max(start, place) for place in range(length)}
    total = sum(share for share in shares.values() if share > 0)
    return {place: share / total for place, share in shares.items() if share > 0}


def _resized(x: Array, size: tuple[int, int], rule: Callable[..., dict[int, float]], way: dict[str, bool]) -> Array:
    """Return NHWC pictures resized by weights of rows and columns."""
    found = np.zeros((x.shape[0], *size, x.shape[3]))
    for row in range(size[0]):
        for column in range(size[1]):
            for h, by_row in rule(row, x.shape[1], size[0], way).items():
                for w, by_column in rule(column, x.shape[2], size[1], way).items():
                    found[:, row, column] += x[:, h, w].astype(np.float64) * by_row * by_column
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.uint8, np.int64], ids=str)
@pytest.mark.parametrize("way", WAYS, ids=str)
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_nearest(run: Run, dtype: Any, way: dict[str, bool], data: st.DataObject) -> None:
    """Elements are taken as they are, in any layout, whether the size is known or not."""
    sides, size = data.draw(st.tuples(*[st.integers(1, 5)] * 2)), data.draw(st.tuples(*[st.integers(1, 7)] * 2))
    is_first, late = data.draw(st.booleans()), data.draw(st.booleans())
    x = np.abs(_data((2, *sides, 3))).astype(dtype)
    exact = _resized(x, size, _nearest, way).astype(dtype)
    turn, formats = ((0, 3, 1, 2), {0: Format.NCHW}) if is_first else ((0, 1, 2, 3), {})
    inputs = [x.transpose(turn), np.array(size, np.int32)]

    (found,) = run("ResizeNearestNeighborV2", inputs, way, known=(1,), late=late, formats=formats)
    assert found.tolist() == exact.transpose(turn).tolist()
    if dtype in (np.float32, np.uint8):
        again = run("ResizeNearestNeighborV2D", inputs[:1], {**way, "size": size}, formats=formats)[0]
        assert again.tolist() == found.tolist()
    if dtype != ml_dtypes.bfloat16 and "half_pixel_centers" not in way:
        again = run("ResizeNearestNeighbor", inputs, way, known=(1,), formats=formats)[0]
        assert again.tolist() == found.tolist()
        if dtype != np.int64:
            assert (
                run("ResizeNearestNeighborD", inputs[:1], {**way, "size": size}, formats=formats)[0].tolist()
                == found.tolist()
            )


def test_nearest_is_exact_at_whole_positions(run: Run) -> None:
    """Where the position is a whole number, no rounding picks the element before it."""
    x = np.arange(1000, dtype=np.float32).reshape(1, 1, 1000, 1)
    for count in (3000, 7000, 30):
        (found,) = run("ResizeNearestNeighborV2", [x, np.array([1, count], np.int32)], known=(1,))
        assert found.reshape(-1).tolist() == [step * 1000 // count for step in range(count)]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64, np.uint8], ids=str)
@pytest.mark.parametrize("way", WAYS, ids=str)
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_bilinear(run: Run, close: Close, dtype: Any, way: dict[str, bool], data: st.DataObject) -> None:
    """Float32 results by default, others where the attribute says so; integers are rounded."""
    sides, size = data.draw(st.tuples(*[st.integers(1, 5)] * 2)), data.draw(st.tuples(*[st.integers(1, 7)] * 2))
    x = np.abs(_data((2, *sides, 3))).astype(dtype)
    exact = _resized(x, size, _linear, way)
    inputs = [x, np.array(size, np.int32)]

    close(run("ResizeBilinearV2", inputs, way, known=(1,))[0], exact, units=8, floor=30)
    (half,) = run("ResizeBilinearV2", inputs, {**way, "dtype": DataType.FLOAT16}, known=(1,))
    assert half.dtype == np.float16
    close(half, exact, units=1, floor=1)
    (whole,) = run("ResizeBilinearV2", inputs, {**way, "dtype": DataType.UINT8}, known=(1,))
    assert (np.abs(whole - exact) <= 0.5 + 1e-4).all()
    if dtype in (np.float32, np.float16):
        attributes = {**way, "size": size}
        close(run("ResizeBilinearV2D", [x], attributes)[0], exact, units=8, floor=30)
        if "half_pixel_centers" not in way:
            close(run("ResizeBilinear", inputs, way, known=(1,))[0], exact, units=8, floor=30)
            close(run("ResizeBilinearD", [x], attributes)[0], exact, units=8, floor=30)


@pytest.mark.parametrize("way", WAYS, ids=str)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_bicubic_and_area(run: Run, close: Close, way: dict[str, bool], data: st.DataObject) -> None:
    """The cubic kernel, and the average of what an output element covers."""
    sides, size = data.draw(st.tuples(*[st.integers(1, 6)] * 2)), data.draw(st.tuples(*[st.integers(1, 7)] * 2))
    x = _data((1, *sides, 2))
    inputs = [x, np.array(size, np.int32)]

    close(run("ResizeBicubic", inputs, way, known=(1,))[0], _resized(x, size, _cubic, way), units=16, floor=30)
    if "half_pixel_centers" not in way:
        close(run("ResizeArea", inputs, way, known=(1,))[0], _resized(x, size, _area, way), units=16, floor=30)


def test_saturation(run: Run) -> None:
    """A cubic overshoot does not wrap around."""
    x = np.array([0, 0, 255, 255], np.uint8).reshape(1, 1, 4, 1)
    (found,) = run("ResizeBicubic", [x, np.array([1, 9], np.int32)], {"dtype": DataType.UINT8}, known=(1,))

    assert found.min() == 0
    assert found.max() == 255
    assert (np.diff(found.reshape(-1).astype(int)) >= 0).all()


@pytest.mark.parametrize("way", WAYS, ids=str)
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_gradients(run: Run, close: Close, way: dict[str, bool], data: st.DataObject) -> None:
    """``sum(resize(x) * g)`` is ``sum(x * gradient(g))`` for every x: by the weights of the loops above."""
    sides, size = data.draw(st.tuples(*[st.integers(1, 5)] * 2)), data.draw(st.tuples(*[st.integers(1, 6)] * 2))
    slope, original = _data((1, *size, 2)), np.zeros((1, *sides, 2), np.float32)
    for op_type, rule in (
        ("ResizeNearestNeighborV2Grad", _nearest),
        ("ResizeNearestNeighborV2GradD", _nearest),
        ("ResizeNearestNeighborGrad", _nearest),
        ("ResizeBilinearV2Grad", _linear),
        ("ResizeBilinearGrad", _linear),
        ("ResizeBicubicGrad", _cubic),
    ):
        if op_type == "ResizeBilinearGrad" and "half_pixel_centers" in way:
            continue
        exact = np.zeros(original.shape)
        for row, column in np.ndindex(size):
            for h, by_row in rule(row, sides[0], size[0], way).items():
                for w, by_column in rule(column, sides[1], size[1], way).items():
                    exact[:, h, w] += slope[:, row, column].astype(np.float64) * by_row * by_column
        if op_type.endswith("GradD"):
            (found,) = run(op_type, [slope], {**way, "size": sides})
        elif rule is _nearest:
            (found,) = run(op_type, [slope, np.array(sides, np.int32)], way, known=(1,))
        else:
            (found,) = run(op_type, [slope, original], way)
        close(found, exact, units=64, floor=30)


MODES = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]


@pytest.mark.parametrize("coordinates", MODES)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_resize_as_onnx(run: Run, close: Close, coordinates: str, mode: str, data: st.DataObject) -> None:
    """By sizes and by scales, known beforehand or not, as ONNX's reference."""
    sides = data.draw(st.tuples(*[st.integers(1, 5)] * 2))
    x = _data((1, 2, *sides))
    late, by_sizes = data.draw(st.booleans()), data.draw(st.booleans())
    attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode == "nearest":
        attributes["nearest_mode"] = data.draw(
            st.sampled_from(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
        )
    extra = {"exclude_outside": data.draw(st.integers(0, 1))} if mode == "cubic" else {}
    if by_sizes:
        sizes = np.array([1, 2, *data.draw(st.tuples(*[st.integers(2, 7)] * 2))], np.int64)
        inputs = [x, None, None, sizes]
    else:
        scales = np.array([1, 1, *data.draw(st.tuples(*[st.sampled_from([0.6, 1.0, 1.5, 2.0, 3.0])] * 2))], np.float32)
        if min(int(side * scale) for side, scale in zip(sides, scales[2:].tolist(), strict=True)) < 2:
            return
        inputs = [x, None, scales]
    with np.errstate(all="ignore"):
        (exact,) = onnx_reference("Resize", [each.astype(np.float64) if each is x else each for each in inputs],
                                  **attributes, **extra)  # fmt: skip
    known = (3,) if by_sizes else (2,)

    close(run("Resize", inputs, {**attributes, **extra}, known=known, late=late)[0], exact, units=32, floor=30)


def test_crop_as_onnx(run: Run, close: Close) -> None:
    """tf_crop_and_resize takes a part, and a number of its own outside."""
    x = _data((1, 1, 4, 4))
    roi = np.array([0, 0, 0.4, 0.6, 1, 1, 1.2, 1.7], np.float32)
    attributes: dict[str, Any] = {
        "mode": "linear",
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "extrapolation_value": 10.0,
    }
    sizes = np.array([1, 1, 3, 3])
    (exact,) = onnx_reference("Resize", [x, roi, None, sizes], **attributes)

    close(run("Resize", [x, roi, None, sizes], attributes, known=(1, 3))[0], exact, units=64, floor=30)
    assert (exact == 10).any()
    with pytest.raises(InvalidArgument, match="needs a roi of 8 numbers"):
        run("Resize", [x, None, None, sizes], attributes, known=(3,))


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_resize_attribute_forms(run: Run, close: Close, mode: str) -> None:
    """ResizeD takes all sizes or the spatial ones; the gradients are the transposed of the forward operator."""
    x, slope = _data((2, 1, 3, 4)), _data((2, 1, 5, 3))
    attributes = {"mode": mode}
    (y,) = run("Resize", [x, None, None, np.array([2, 1, 5, 3])], attributes, known=(3,))
    assert run("ResizeD", [x], {**attributes, "sizes": [5, 3]})[0].tolist() == y.tolist()
    assert run("ResizeD", [x], {**attributes, "sizes": [2, 1, 5, 3]})[0].tolist() == y.tolist()
    (last,) = run("ResizeD", [x.transpose(0, 2, 3, 1)], {**attributes, "sizes": [5, 3], "data_format": "NHWC"})
    close(last.transpose(0, 3, 1, 2), y.astype(np.float64), units=8, floor=30)

    forward = math.fsum((y.astype(np.float64) * slope).reshape(-1).tolist())
    for found in (
        run("ResizeGradD", [slope], {**attributes, "original_size": [3, 4]})[0],
        run("ResizeGrad", [slope, None, None, np.array([2, 1, 3, 4])], attributes, known=(3,))[0],
    ):
        assert found.shape == x.shape
        assert math.fsum((found.astype(np.float64) * x).reshape(-1).tolist()) == pytest.approx(forward, rel=1e-4)


@pytest.mark.parametrize("scales", [[], [1.7]])
def test_upsample_line(run: Run, close: Close, scales: list[float]) -> None:
    """Torch's nearest takes ``floor(step / scale)``; each element's gradient is the sum over its copies."""
    x, slope = _data((2, 3, 4)), _data((2, 3, 7))
    places = [min(math.floor(step / scales[0]) if scales else step * 4 // 7, 3) for step in range(7)]
    (y,) = run("UpsampleNearest1d", [x], {"output_size": [7], "scales": scales})
    assert y.tolist() == [[[row[place] for place in places] for row in part] for part in x.tolist()]

    exact = np.zeros(x.shape)
    for step, place in enumerate(places):
        exact[..., place] += slope[..., step]
    attributes = {"output_size": [7], "input_size": [2, 3, 4], "scales": scales}
    close(run("UpsampleNearest1dGrad", [slope], attributes)[0], exact, units=8, floor=30)


@pytest.mark.parametrize("aligns", [None, False, True])
def test_upsample_volume(run: Run, close: Close, aligns: bool | None) -> None:
    """Nearest, or linear along all three axes as ONNX's reference has it; the gradient is the transposed."""
    x, size = _data((1, 2, 2, 3, 4)), [3, 5, 2]
    name = "UpsampleNearest3d" if aligns is None else "UpsampleTrilinear3d"
    attributes: dict[str, Any] = {} if aligns is None else {"align_corners": aligns}
    mode: dict[str, Any] = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    if aligns is not None:
        mode = {"mode": "linear", "coordinate_transformation_mode": "align_corners" if aligns else "half_pixel"}
    (exact,) = onnx_reference("Resize", [x.astype(np.float64), None, None, np.array([1, 2, *size])], **mode)
    (y,) = run(name, [x], {**attributes, "output_size": size})
    close(y, exact, units=32, floor=30)
    (twice,) = run(name, [x], {**attributes, "scales": [2.0, 1.0, 1.5]})
    assert twice.shape == (1, 2, 4, 3, 6)

    slope = _data(y.shape)
    (back,) = run(f"{name}Grad", [slope], {**attributes, "output_size": size, "input_size": x.shape})
    forward = math.fsum((y.astype(np.float64) * slope).reshape(-1).tolist())
    assert math.fsum((back.astype(np.float64) * x).reshape(-1).tolist()) == pytest.approx(forward, rel=1e-4)


def test_nothing(run: Run) -> None:
    """No pictures, or no channels, give none."""
    size = np.array([2, 2], np.int32)
    for shape in ((0, 3, 3, 1), (1, 3, 3, 0)):
        x = np.zeros(shape, np.float32)
        for op_type in ("ResizeNearestNeighborV2", "ResizeBilinearV2", "ResizeBicubic", "ResizeArea"):
            assert run(op_type, [x, size], known=(1,))[0].shape == (shape[0], 2, 2, shape[3])
    assert run("Resize", [np.zeros((1, 0, 3), np.float32), None, np.ones(3, np.float32)], known=(2,))[0].shape == (
        1,
        0,
        3,
    )


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes", "text"),
    [
        ("ResizeBilinearV2", [np.zeros((2, 2, 2)), [0, 2]], {}, "at least 1"),
        ("ResizeBilinearV2", [np.zeros((2, 2, 2)), [2, 2]], {}, "four dims"),
        ("ResizeBilinearV2", [np.zeros((1, 2, 2, 2)), [2, 2, 2]], {}, "a height and a width"),
        ("ResizeBilinearV2", [np.zeros((1, 0, 2, 2)), [2, 2]], {}, "nothing to resize"),
        ("ResizeBilinearV2", [np.zeros((1, 1, 2, 2)), [2, 2]], {"align_corners": True, "half_pixel_centers": True},
         "exclude each other"),
        ("Resize", [np.zeros((1, 1, 2, 2)), None, None, [1, 1, 2]], {}, "3 numbers for 4 dims"),
        ("Resize", [np.zeros((1, 1, 2, 2))], {}, "one of scales and sizes"),
        ("Resize", [np.zeros((1, 1, 2, 2)), None, None, [1, 1, 2, 3]], {"mode": "lanczos"}, "mode is 'lanczos'"),
        ("Resize", [np.zeros((1, 1, 2, 2)), None, None, [1, 1, 2, 3]], {"nearest_mode": "up"}, "nearest_mode 'up'"),
        ("Resize", [np.zeros((1, 1, 2, 2)), None, None, [1, 1, 2, 3]], {"coordinate_transformation_mode": "x"},
         "coordinate_transformation_mode 'x'"),
        ("Resize", [np.zeros((1, 1, 0, 2)), None, None, [1, 1, 2, 3]], {}, "dim 2 is empty"),
        ("ResizeD", [np.zeros((1, 1, 2, 2), np.float32)], {"sizes": [2, 2, 2]}, "neither all dims"),
        ("UpsampleNearest1d", [np.zeros((1, 2, 2, 2))], {"output_size": [2]}, "three dims|3 dims"),
        ("UpsampleNearest3d", [np.zeros((1, 1, 2, 2, 2))], {}, "output_size and scales are empty"),
        ("UpsampleNearest3dGrad", [np.zeros((1, 1, 2, 2, 2))], {"input_size": [1, 2, 2, 2, 2]}, "does not come from"),
    ],
)  # fmt: skip
def test_bad_input(run: Run, op_type: str, inputs: list[Any], attributes: dict[str, Any], text: str) -> None:
    """Sizes and modes that mean nothing are refused before anything runs."""
    arrays = [np.array(each, np.int32) if isinstance(each, list) else each for each in inputs]
    with pytest.raises(InvalidArgument, match=text):
        run(op_type, arrays, attributes, known=tuple(range(1, len(arrays))))


def test_dtypes_that_are_not_given(run: Run) -> None:
    """The attribute names a dtype of the operator; complex gradients are not resized."""
    x, size = np.zeros((1, 2, 2, 1), np.float32), np.array([2, 2], np.int32)
    with pytest.raises(UnsupportedDataType, match=r"dtype is INT32 \(3\); it takes FLOAT \(0\)"):
        run("ResizeBilinearV2", [x, size], {"dtype": DataType.INT32}, known=(1,))
    with pytest.raises(UnsupportedDataType, match="real dtypes"):
        run("ResizeGrad", [x.astype(np.complex64), None, None, np.array(x.shape)], known=(3,))


def test_free_sizes() -> None:
    """Without the size only batch and channels are known; scales keep bounds."""
    x = TensorDesc.of(np.float32, (1, -1, 4, 3), ranges=((1, 1), (2, 6), (4, 4), (3, 3)))
    schema = schema_of("ResizeBilinearV2")
    (y,) = infer_outputs(schema, [x, TensorDesc.of(np.int32, (2,))], schema.complete({}))
    assert y.shape == (1, -1, -1, 3)

    scales = TensorDesc.of(np.float32, (4,), value=np.array([1, 1.5, 0.5, 1], np.float32))
    schema = schema_of("Resize")
    (y,) = infer_outputs(schema, [x, None, scales], schema.complete({}))
    assert (y.shape, y.ranges) == ((1, -1, 2, 3), ((1, 1), (3, 9), (2, 2), (3, 3)))


@pytest.mark.parametrize("wrong", [np.inf, -np.inf, np.nan])
def test_a_slope_that_is_not_finite_stays_where_it_belongs(run: Run, wrong: float) -> None:
    """Elements that made another result get that one's slope, as summing one by one gives."""
    slope = np.ones((1, 1, 2, 4), np.float32)
    slope[0, 0, 0, 3] = wrong

    (found,) = run(
        "ResizeNearestNeighborV2Grad", [slope, np.array([1, 2], np.int32)], known=(1,), formats={0: Format.NCHW}
    )

    np.testing.assert_array_equal(found, [[[[4, wrong]]]])
