"""Gradients of normalisations: by differences of the documented forward formula in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from aacl.abc import Array
from aacl.dtypes import Format
from aacl.errors import InvalidArgument

Run = Callable[..., list[Array]]
FLOATS: list[np.dtype[Any]] = [np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
TOLERANCE = {np.dtype(np.float32): 2e-4, np.dtype(np.float16): 4e-3, np.dtype(ml_dtypes.bfloat16): 3e-2}


def _data(shape: tuple[int, ...], dtype: Any = np.float32, low: float = -2, high: float = 3, seed: int = 0) -> Array:
    return np.random.default_rng(sum(shape) + seed).uniform(low, high, shape).astype(dtype)


def _slopes(forward: Callable[..., Array], slope: Array, *points: Array) -> list[Array]:
    """Return the gradients of ``sum(forward(points) * slope)`` by central differences."""
    wide = [point.astype(np.float64) for point in points]
    weights = slope.astype(np.float64)
    found = []
    for point in wide:
        change = np.empty(point.shape)
        for index in np.ndindex(point.shape):
            was, ends = point[index], []
            for step in (1e-5, -1e-5):
                point[index] = was + step
                ends.append(math.fsum((forward(*wide) * weights).reshape(-1).tolist()))
            point[index] = was
            change[index] = (ends[0] - ends[1]) / 2e-5
        found.append(change)
    return found


def _near(found: Array, exact: Array) -> None:
    tolerance = TOLERANCE[found.dtype]
    np.testing.assert_allclose(found.astype(np.float64), exact, rtol=tolerance, atol=tolerance * np.abs(exact).max())


def _standard(x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    apart = x - x.mean(axes, keepdims=True)
    unit: Array = apart / np.sqrt((apart * apart).mean(axes, keepdims=True) + epsilon)
    return unit


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("begin", [1, 2])
def test_layer_norm(run: Run, dtype: np.dtype[Any], begin: int) -> None:
    """All forms agree: whole, of ``x`` alone, and of scale and shift alone, by variance or by its root."""
    x, slope = _data((3, 2, 5), dtype), _data((3, 2, 5), dtype, -1, 1, seed=1)
    gamma, axes = _data(x.shape[begin:], dtype, 0.5), tuple(range(begin, 3))
    exact = _slopes(lambda x, gamma, beta: _standard(x, axes, 1e-12) * gamma + beta, slope, x, gamma, gamma)
    wide = x.astype(np.float64)
    centre, spread = (each(wide, axes, keepdims=True) for each in (np.mean, np.var))
    inputs = [slope, x, spread.astype(dtype), centre.astype(dtype), gamma]
    rooted = [slope, x, (spread**-0.5).astype(dtype), centre.astype(dtype), gamma]

    for found in (run("LayerNormGrad", inputs), run("LayerNormGradV3", rooted)):
        for mine, wanted in zip(found, exact, strict=True):
            _near(mine, wanted)
    unit = rest = _standard(wide, axes, 1e-12)
    for op_type, given in (("LayerNormXBackpropV2", inputs), ("LayerNormXBackpropV3", rooted)):
        dx, rest = run(op_type, given)
        assert rest.dtype == np.float32
        _near(dx, exact[0])
        np.testing.assert_allclose(rest, unit, rtol=TOLERANCE[dtype], atol=4 * TOLERANCE[dtype])
    shape = {"shape_gamma": gamma.shape}
    for mine, wanted in zip(run("LayerNormBetaGammaBackpropV2", [slope, rest], shape), exact[1:], strict=True):
        _near(mine, wanted)
    if dtype != ml_dtypes.bfloat16:
        _near(run("LayerNormXBackprop", inputs)[0], exact[0])
        for mine, wanted in zip(run("LayerNormBetaGammaBackprop", inputs[:4], shape), exact[1:], strict=True):
            _near(mine, wanted)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_rms_norm(run: Run, dtype: np.dtype[Any]) -> None:
    """The scale's gradient is float32 whatever the data are."""
    x, slope, gamma = _data((4, 3, 2), dtype), _data((4, 3, 2), dtype, -1, 1, seed=1), _data((3, 2), dtype, 0.5)
    exact = _slopes(lambda x, gamma: x / np.sqrt((x * x).mean((1, 2), keepdims=True)) * gamma, slope, x, gamma)
    root = (x.astype(np.float64) ** 2).mean((1, 2), keepdims=True) ** -0.5
    dx, dgamma = run("RmsNormGrad", [slope, x, root.astype(np.float32), gamma])

    assert dgamma.dtype == np.float32
    _near(dx, exact[0])
    np.testing.assert_allclose(dgamma, exact[1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("is_last", [False, True])
def test_group_norm(run: Run, dtype: np.dtype[Any], is_last: bool) -> None:
    """In either layout; a gradient that is not asked for is 0."""
    x, slope, gamma = _data((2, 4, 3), dtype), _data((2, 4, 3), dtype, -1, 1, seed=1), _data((4,), dtype, 0.5)

    def forward(x: Array, gamma: Array, beta: Array) -> Array:
        unit = _standard(x.reshape(2, 2, 6), (2,), 1e-3).reshape(x.shape)
        return unit * gamma[:, None] + beta[:, None]

    exact = _slopes(forward, slope, x, gamma, gamma)
    groups = x.astype(np.float64).reshape(2, 2, 6)
    centre, root = groups.mean(2).astype(dtype), ((groups.var(2) + 1e-3) ** -0.5).astype(dtype)
    turned = [each.transpose(0, 2, 1) if is_last else each for each in (slope, x)]
    inputs = [turned[0], centre, root, turned[1], gamma]
    attributes = {"num_groups": 2, "data_format": "NLC" if is_last else "NCHW"}
    dx, dgamma, dbeta = run("GroupNormGrad", inputs, attributes)

    _near(dx.transpose(0, 2, 1) if is_last else dx, exact[0])
    _near(dgamma, exact[1])
    _near(dbeta, exact[2])
    off = {f"{name}_is_require": False for name in ("dx", "dgamma", "dbeta")}
    assert all((each == 0).all() for each in run("GroupNormGrad", inputs, {**attributes, **off}))


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
@pytest.mark.parametrize("axes", [[], [1], [-1, 0]], ids=str)
def test_l2_normalize(run: Run, dtype: np.dtype[Any], axes: list[int]) -> None:
    """Where the norm is not held at its least."""
    x, slope = _data((2, 3, 2), dtype), _data((2, 3, 2), dtype, -1, 1, seed=1)
    places = tuple(axes) or (0, 1, 2)

    def forward(x: Array) -> Array:
        y: Array = x / np.sqrt((x * x).sum(places, keepdims=True))
        return y

    y = forward(x.astype(np.float64)).astype(dtype)
    _near(run("L2NormalizeGrad", [x, y, slope], {"dim": axes})[0], _slopes(forward, slope, x)[0])


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
@pytest.mark.parametrize("layout", [Format.NCHW, Format.ND])
@pytest.mark.parametrize("radius", [0, 1, 7])
def test_lrn(run: Run, dtype: np.dtype[Any], layout: Format, radius: int) -> None:
    """By differences of TensorFlow's formula."""
    x, slope = _data((1, 4, 2, 1), dtype), _data((1, 4, 2, 1), dtype, -1, 1, seed=1)

    def forward(x: Array) -> Array:
        total = np.stack([(x[:, max(c - radius, 0) : c + radius + 1] ** 2).sum(1) for c in range(4)], 1)
        y: Array = x / (1.5 + 0.3 * total) ** 0.7
        return y

    turn = (0, 1, 2, 3) if layout is Format.NCHW else (0, 2, 3, 1)
    y = forward(x.astype(np.float64)).astype(dtype)
    inputs = [each.transpose(turn) for each in (slope, x, y)]
    attributes = {"depth_radius": radius, "bias": 1.5, "alpha": 0.3, "beta": 0.7}
    (found,) = run("LRNGrad", inputs, attributes, formats=dict.fromkeys(range(3), layout))
    _near(found, _slopes(forward, slope, x)[0].transpose(turn))


def test_no_rows(run: Run) -> None:
    """Without rows the gradients of the scale are 0."""
    none, statistic, gamma = np.zeros((0, 3), np.float32), np.zeros((0, 1), np.float32), np.ones(3, np.float32)
    dx, dgamma, dbeta = run("LayerNormGrad", [none, none, statistic, statistic, gamma])

    assert dx.shape == (0, 3)
    assert dgamma.tolist() == dbeta.tolist() == [0, 0, 0]
    assert run("RmsNormGrad", [none, none, statistic, gamma])[1].tolist() == [0, 0, 0]


def test_bad_input(run: Run) -> None:
    """Shapes that do not belong together are refused by name."""
    x, one, gamma = np.zeros((2, 3), np.float32), np.zeros((2, 1), np.float32), np.zeros(3, np.float32)
    for op_type, inputs, attributes, text in (
        ("LayerNormGrad", [x, x[:1], one, one, gamma], {}, "must have one shape"),
        ("LayerNormGrad", [x, x, one[0], one, gamma], {}, "a statistic has 1"),
        ("LayerNormGrad", [x, x, one, one, gamma[:2]], {}, "gamma needs shape"),
        ("LayerNormBetaGammaBackprop", [x, x, one, one], {"shape_gamma": [2]}, "is not how input dy"),
        ("RmsNormGrad", [x, x, one, gamma[:2]], {}, "gamma needs shape"),
        ("GroupNormGrad", [x, one, one, x, gamma], {"num_groups": 2}, "no multiple of num_groups 2"),
        ("GroupNormGrad", [x, x, one, x, gamma], {"num_groups": 1}, r"must be \[batch, num_groups\]"),
        ("L2NormalizeGrad", [x, x, x], {"dim": [2]}, "dim 2 lies outside"),
        ("LRNGrad", [x, x, x], {}, "four dims"),
        ("LRNGrad", [x[None, None]] * 3, {"depth_radius": -1}, "depth_radius is -1"),
    ):
        with pytest.raises(InvalidArgument, match=text):
            run(op_type, inputs, attributes)
