"""Pooling of regions: sample by sample, and ONNX's reference."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.dtypes import Format
from aacl.errors import InvalidArgument, NotSupported
from tests.helpers.onnx_reference import onnx_reference

Run = Callable[..., list[Array]]
Close = Callable[..., None]


def _data(shape: tuple[int, ...], dtype: Any = np.float32) -> Array:
    return np.random.default_rng(sum(shape)).uniform(-2, 3, shape).astype(dtype)


def _weights(position: float, length: int) -> dict[int, float]:
    if not -1 <= position <= length:
        return {}
    inside = min(max(position, 0.0), length - 1)
    low = math.floor(inside)
    return {low: 1 - (inside - low), **({low + 1: inside - low} if inside > low else {})}


def _sample(picture: Array, row: float, column: float) -> Array:
    total = np.zeros(picture.shape[0])
    for h, by_row in _weights(row, picture.shape[1]).items():
        for w, by_column in _weights(column, picture.shape[2]).items():
            total += picture[:, h, w].astype(np.float64) * by_row * by_column
    return total


def _pooled(x: Array, roi: list[float], bins: tuple[int, int], scale: float, count: int, mode: int, pool: str) -> Array:
    """Return the bins of one region, as the documentation of RoIAlign has it."""
    batch, left, top, right, bottom = roi[:5]
    shift = 0.5 if mode == 2 else 0.0
    extents = []
    for low, high in ((top, bottom), (left, right)):
        size = (high + (mode == 1) - low) * scale
        extents.append((low * scale - shift, size if mode == 2 else max(size, 1.0)))
    found = np.zeros((x.shape[1], *bins))
    for place in np.ndindex(bins):
        positions = []
        for step, number, (start, size) in zip(place, bins, extents, strict=True):
            samples = count or math.ceil(size / number)
            positions.append([start + (step + (n + 0.5) / samples) * size / number for n in range(samples)])
        values = [_sample(x[int(batch)], row, column) for row in positions[0] for column in positions[1]]
        if values:
            found[:, *place] = np.max(values, 0) if pool == "max" else np.sum(values, 0) / len(values)
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float16], ids=str)
@pytest.mark.parametrize("pool", ["avg", "max"])
@pytest.mark.parametrize("mode", [0, 1, 2])
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_align(run: Run, close: Close, dtype: Any, mode: int, pool: str, data: st.DataObject) -> None:
    """Regions inside, outside and turned round; five numbers or eight; either layout."""
    x, width = _data((2, 2, *data.draw(st.tuples(*[st.integers(1, 5)] * 2))), dtype), data.draw(st.sampled_from([5, 8]))
    bins, count = data.draw(st.tuples(*[st.integers(1, 3)] * 2)), data.draw(st.integers(0, 3))
    numbers = st.tuples(st.integers(0, 1), *[st.sampled_from([-3.0, 0.0, 1.25, 2.5, 4.0, 9.75])] * 4)
    rois = np.array([[*each, 9, 9, 9][:width] for each in data.draw(st.lists(numbers, min_size=1, max_size=3))], dtype)
    exact = np.stack([_pooled(x, roi, bins, 0.5, count, mode, pool) for roi in rois.astype(float).tolist()])
    attributes = {"spatial_scale": 0.5, "pooled_height": bins[0], "pooled_width": bins[1], "sample_num": count,
                  "roi_end_mode": mode, "pool_mode": pool}  # fmt: skip

    (found,) = run("ROIAlign", [x, rois], attributes)
    close(found, exact, units=16, floor=2)
    (last,) = run("ROIAlign", [x.transpose(0, 2, 3, 1), rois], attributes, formats={0: Format.NHWC})
    close(last.transpose(0, 3, 1, 2), exact, units=16, floor=2)


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("count", [0, 2])
def test_as_onnx(run: Run, close: Close, aligned: bool, count: int) -> None:
    """Modes 0 and 2 are ONNX's output_half_pixel and half_pixel."""
    x, boxes, batch = _data((2, 3, 6, 5)), np.array([[0, 1, 7, 9], [2, 2, 8, 5]], np.float32), np.array([1, 0])
    (exact,) = onnx_reference(
        "RoiAlign", [x, boxes, batch], spatial_scale=0.5, output_height=2, output_width=3, sampling_ratio=count,
        coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel",
    )  # fmt: skip
    rois = np.concatenate([batch[:, None].astype(np.float32), boxes], 1)
    attributes = {"spatial_scale": 0.5, "pooled_height": 2, "pooled_width": 3, "sample_num": count,
                  "roi_end_mode": 2 if aligned else 0}  # fmt: skip

    close(run("ROIAlign", [x, rois, np.array([1, 1], np.int32)], attributes)[0], exact, units=32, floor=1)


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("count", [0, 2])
def test_gradient(run: Run, mode: int, count: int) -> None:
    """``sum(align(x) * g)`` is ``sum(x * gradient(g))``."""
    x, rois = _data((2, 2, 4, 5)), np.array([[0, 0, 1, 7, 9], [1, 2, 2, 8, 5], [0, -5, 1, 3, 4]], np.float32)
    attributes = {
        "spatial_scale": 0.5,
        "pooled_height": 2,
        "pooled_width": 3,
        "sample_num": count,
        "roi_end_mode": mode,
    }
    (y,) = run("ROIAlign", [x, rois], attributes)
    slope = _data(y.shape)
    (found,) = run("ROIAlignGrad", [slope, rois], {**attributes, "xdiff_shape": x.shape})

    forward = math.fsum((y.astype(np.float64) * slope).reshape(-1).tolist())
    assert math.fsum((found.astype(np.float64) * x).reshape(-1).tolist()) == pytest.approx(forward, rel=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float16], ids=str)
@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("count", [0, 2])
def test_many_channels(run: Run, close: Close, dtype: Any, mode: int, count: int) -> None:
    """Large outputs give what a few channels at a time give, whether regions are turned round or huge."""
    x = _data((2, 64, 9, 11), dtype)
    rois = [[0, 1, 2, 16, 15], [1, -4, -4, 30, 30], [1, 3, 3, 3, 3], [0, 2, 1, 7.5, 9.25]]
    attributes = {"spatial_scale": 0.5, "pooled_height": 3, "pooled_width": 4, "sample_num": count,
                  "roi_end_mode": mode}  # fmt: skip
    for extra in ([0, 8, 8, 2, 1], [0, -900, -900, 900, 900]):
        regions = np.array([*rois, extra], dtype)
        (found,) = run("ROIAlign", [x, regions], attributes)
        parts = [run("ROIAlign", [x[:, place : place + 1], regions], attributes)[0] for place in range(0, 64, 21)]
        for place, part in zip(range(0, 64, 21), parts, strict=True):
            close(found[:, place : place + 1], part.astype(np.float64), units=32, floor=2)
    with pytest.raises(IndexError, match="picture 2 of a batch of 2"):
        run("ROIAlign", [x, np.array([[2, 0, 0, 1, 1]] * 9, dtype)], attributes)


BINS = {"spatial_scale": 1.0, "pooled_height": 2, "pooled_width": 2}


def test_bad_regions(run: Run) -> None:
    """A picture outside the batch, a number that is none, and a region beyond all measure end in an error."""
    x = _data((2, 1, 3, 3))
    for roi, error, text in (
        ([2.0, 0, 0, 1, 1], IndexError, "picture 2 of a batch of 2"),
        ([-1.0, 0, 0, 1, 1], IndexError, "picture -1 of a batch of 2"),
        ([np.nan, 0, 0, 1, 1], ValueError, "not finite"),
        ([0, 0, 0, np.inf, 1], ValueError, "not finite"),
        ([0, 0, 0, 1e30, 1], ValueError, "clip the regions"),
    ):
        with pytest.raises(error, match=text):
            run("ROIAlign", [x, np.array([roi], np.float32)], {**BINS, "sample_num": 0})


def test_bad_input(run: Run) -> None:
    """Shapes and modes that do not fit are refused by name."""
    x, rois = _data((2, 1, 3, 3)), np.zeros((1, 5), np.float32)
    for inputs, attributes, text in (
        ([x[0], rois], BINS, "four dims"),
        ([x, rois[:, :4]], BINS, r"\[number, 5\]"),
        ([x, rois], {**BINS, "pooled_height": 0}, "pooled_height is 0"),
        ([x, rois], {**BINS, "pool_mode": "sum"}, "pool_mode is 'sum'"),
        ([x, rois], {**BINS, "sample_num": -1}, "sample_num is -1"),
    ):
        with pytest.raises(InvalidArgument, match=text):
            run("ROIAlign", inputs, attributes)
    with pytest.raises(NotSupported, match="roi_end_mode 3"):
        run("ROIAlign", [x, rois], {**BINS, "roi_end_mode": 3})
    with pytest.raises(InvalidArgument, match="must be"):
        run("ROIAlignGrad", [x, rois], {**BINS, "xdiff_shape": [2, 2, 3, 3]})


def test_nothing(run: Run) -> None:
    """No regions give none; of an empty picture they are 0."""
    assert run("ROIAlign", [_data((2, 1, 3, 3)), np.zeros((0, 5), np.float32)], BINS)[0].shape == (0, 1, 2, 2)
    empty = np.zeros((1, 1, 0, 3), np.float32)
    assert run("ROIAlign", [empty, np.zeros((1, 5), np.float32)], BINS)[0].tolist() == [[[[0, 0], [0, 0]]]]


@pytest.mark.parametrize("pool", ["avg", "max"])
@pytest.mark.parametrize("wrong", [np.inf, np.nan])
def test_only_bins_that_read_an_element_show_it(run: Run, pool: str, wrong: float) -> None:
    """What is infinite or NaN spoils no bin beside it, as a product with weights of 0 would."""
    x = np.ones((1, 2, 8, 8), np.float32)
    x[0, 1, 0, 7], x[0, 0, 7, 7] = wrong, wrong
    bins = {"spatial_scale": 1.0, "pooled_height": 2, "pooled_width": 2, "sample_num": 2, "roi_end_mode": 0}

    (found,) = run("ROIAlign", [x, np.array([[0, 0, 0, 7, 3]], np.float32)], bins | {"pool_mode": pool})

    np.testing.assert_array_equal(found[0], [[[1, 1], [1, 1]], [[1, wrong], [1, 1]]])


def test_an_infinite_slope_stays_where_its_bin_is(run: Run) -> None:
    """Elements that the bin does not read get what the other bins give."""
    slope = np.array([[[[1.0, np.inf]]]], np.float32)
    bins = {"spatial_scale": 1.0, "pooled_height": 1, "pooled_width": 2, "sample_num": 1, "roi_end_mode": 0}

    (found,) = run(
        "ROIAlignGrad", [slope, np.array([[0, 0, 0, 8, 2]], np.float32)], bins | {"xdiff_shape": [1, 1, 3, 8]}
    )

    np.testing.assert_array_equal(found[0, 0, 1], [0, 0, 1, 0, 0, 0, np.inf, 0])
    assert not found[0, 0, [0, 2]].any()
