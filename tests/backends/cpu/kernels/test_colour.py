"""Colours: picture element by picture element, by the standard library's colorsys."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from aacl.abc import Array
from aacl.errors import InvalidArgument, NotSupported, UnsupportedDataType

Run = Callable[..., list[Array]]
FLOATS: list[np.dtype[Any]] = [np.dtype(np.float32), np.dtype(np.float16), np.dtype(np.float64)]
TOLERANCE = {np.dtype(np.float32): 2e-6, np.dtype(np.float16): 2e-3, np.dtype(np.float64): 1e-12}
PURE = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1], [1, 0, 1], [0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.5]]


def _data(dtype: Any) -> Array:
    """Return random and pure colours, ``[2, 9, 3]``."""
    random = np.random.default_rng(4).uniform(0, 1, (9, 3))
    return np.stack([random, np.array(PURE)]).astype(dtype)


def _each(x: Array, function: Callable[..., Any]) -> Array:
    rows = [function(*map(float, colour)) for colour in x.reshape(-1, 3)]
    return np.array(rows).reshape(x.shape)


def _near(found: Array, exact: Array) -> None:
    np.testing.assert_allclose(found.astype(np.float64), exact, rtol=0, atol=TOLERANCE[found.dtype])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_conversions(run: Run, dtype: np.dtype[Any]) -> None:
    """There, and back."""
    x = _data(dtype)
    (found,) = run("RGBToHSV", [x])

    _near(found, _each(x, colorsys.rgb_to_hsv))
    _near(run("HSVToRGB", [x])[0], _each(x, colorsys.hsv_to_rgb))
    np.testing.assert_allclose(run("HSVToRGB", [found])[0].astype(float), x, atol=4 * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
@pytest.mark.parametrize("delta", [0.25, -0.75, 1.5])
def test_hue(run: Run, dtype: np.dtype[Any], delta: float) -> None:
    """The hue goes round; the colours are last or first."""
    x = _data(dtype)

    def turned(*colour: float) -> tuple[float, ...]:
        hue, share, value = colorsys.rgb_to_hsv(*colour)
        return colorsys.hsv_to_rgb((hue + delta) % 1, share, value)

    (found,) = run("AdjustHue", [x, np.float32(delta)])
    np.testing.assert_allclose(found.astype(float), _each(x, turned), atol=4 * TOLERANCE[dtype])
    (first,) = run("AdjustHue", [x.transpose(2, 0, 1), np.array([delta], np.float32)], {"data_format": "CHW"})
    assert first.transpose(1, 2, 0).tolist() == found.tolist()


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
@pytest.mark.parametrize("scale", [0.0, 0.5, 3.0])
def test_saturation(run: Run, dtype: np.dtype[Any], scale: float) -> None:
    """The saturation does not pass 1."""
    x = _data(dtype)

    def scaled(*colour: float) -> tuple[float, ...]:
        hue, share, value = colorsys.rgb_to_hsv(*colour)
        return colorsys.hsv_to_rgb(hue, min(share * scale, 1), value)

    (found,) = run("AdjustSaturation", [x, np.float32(scale)])
    np.testing.assert_allclose(found.astype(float), _each(x, scaled), atol=4 * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
@pytest.mark.parametrize("layout", ["HWC", "CHW"])
def test_contrast_and_brightness(run: Run, dtype: np.dtype[Any], layout: str) -> None:
    """About the mean of each channel of each picture; brightness adds."""
    x = np.random.default_rng(5).uniform(-1, 2, (2, 3, 4, 2)).astype(dtype)
    exact = np.empty(x.shape)
    for n, c in np.ndindex(2, 2):
        values = x[n, :, :, c].astype(np.float64)
        mean = math.fsum(values.reshape(-1).tolist()) / 12
        exact[n, :, :, c] = (values - mean) * 1.75 + mean
    turn, back = ((0, 3, 1, 2), (0, 2, 3, 1)) if layout == "CHW" else ((0, 1, 2, 3), (0, 1, 2, 3))
    (found,) = run("AdjustContrast", [x.transpose(turn), np.float32(1.75)], {"data_format": layout})

    np.testing.assert_allclose(found.transpose(back).astype(float), exact, atol=2 * TOLERANCE[dtype])
    (brighter,) = run("AdjustBrightness", [x, np.float32(0.5)])
    np.testing.assert_allclose(brighter.astype(float), x.astype(float) + 0.5, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [np.float32, np.uint8], ids=str)
@pytest.mark.parametrize("count", [1, 3])
def test_grey(run: Run, dtype: Any, count: int) -> None:
    """One channel or three equal ones; whole numbers are rounded."""
    x = (_data(np.float64) * 255).astype(dtype)
    exact = [[0.2989 * r + 0.587 * g + 0.114 * b for r, g, b in row] for row in x.astype(float).tolist()]
    (found,) = run("RgbToGrayscale", [x], {"output_channels": count})

    assert found.shape == (2, 9, count)
    for channel in range(count):
        np.testing.assert_allclose(found[..., channel], exact, atol=0.5001 if dtype == np.uint8 else 1e-4)
    (first,) = run("RgbToGrayscale", [x.transpose(2, 0, 1)], {"output_channels": count, "data_format": "CHW"})
    assert first.transpose(1, 2, 0).tolist() == found.tolist()


def test_bad_input(run: Run) -> None:
    """Pictures without three colours, other layouts and more than one number are refused by name."""
    x, two, number = np.zeros((2, 2, 3), np.float32), np.zeros((2, 2, 2), np.float32), np.float32(1)
    for op_type, inputs, attributes, text in (
        ("RGBToHSV", [two], {}, "three colours"),
        ("HSVToRGB", [np.float32(1)], {}, "three colours"),
        ("AdjustHue", [two, number], {}, "three colours along axis -1"),
        ("AdjustHue", [x, number], {"data_format": "NHWC"}, "data_format is 'NHWC'"),
        ("AdjustSaturation", [x, np.zeros(2, np.float32)], {}, "must hold one number"),
        ("AdjustContrast", [x[0], number], {}, "height, width and channels"),
        ("RgbToGrayscale", [x], {"output_channels": 2}, "output_channels is 2"),
    ):
        with pytest.raises(InvalidArgument, match=text):
            run(op_type, inputs, attributes)
    with pytest.raises(NotSupported, match="mean_mode 'gray'"):
        run("AdjustContrast", [x, number], {"mean_mode": "gray"})
    with pytest.raises(UnsupportedDataType, match="float dtypes"):
        run("AdjustHue", [x.astype(np.uint8), number])
