"""Normalisation over trailing axes."""

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

from aacl.abc import Array
from aacl.errors import InvalidArgument
from tests.helpers.onnx_reference import onnx_reference

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[2], BF16], ids=str)
@pytest.mark.parametrize("begin", [0, 1, -1])
def test_layer_norm(run: Run, close: Close, dtype: np.dtype[Any], begin: int) -> None:
    """Output, mean and variance, with float32's accuracy."""
    random = np.random.default_rng(5)
    x = random.uniform(-2, 3, (4, 3, 5)).astype(dtype)
    gamma, beta = (random.uniform(0.5, 2, x.shape[begin:]).astype(dtype) for _ in range(2))
    wide, axes = x.astype(np.float64), tuple(range(begin % 3, 3))
    mean, variance = wide.mean(axes, keepdims=True), wide.var(axes, keepdims=True)
    exact = (wide - mean) / np.sqrt(variance + 1e-7) * gamma.astype(np.float64) + beta.astype(np.float64)

    y, found_mean, found_variance = run(
        "LayerNorm", [x, gamma, beta], {"begin_norm_axis": begin, "begin_params_axis": begin}
    )
    close(y, exact, units=8, floor=1)
    close(found_mean, mean, units=4, floor=1)
    close(found_variance, variance, units=8)
    attributes = {"begin_norm_axis": begin, "begin_params_axis": begin, "epsilon": 1e-5}
    assert (
        run("LayerNorm", [x, gamma, beta], attributes, into=0)[0].tobytes()
        == run("LayerNorm", [x, gamma, beta], attributes)[0].tobytes()
    )
    close(run("LayerNormV3", [x, gamma, beta], attributes)[2], (variance + 1e-5) ** -0.5, units=8)


@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[2], BF16], ids=str)
def test_rms_norm(run: Run, close: Close, dtype: np.dtype[Any]) -> None:
    """``gamma * x / sqrt(mean(x^2) + epsilon)``; rstd is float32."""
    random = np.random.default_rng(5)
    x, gamma = random.uniform(-2, 3, (4, 6)).astype(dtype), random.uniform(0.5, 2, 6).astype(dtype)
    wide = x.astype(np.float64)
    root = ((wide**2).mean(-1, keepdims=True) + 1e-6) ** -0.5
    y, rstd = run("RmsNorm", [x, gamma])

    close(y, wide * root * gamma.astype(np.float64), units=8)
    assert rstd.dtype == np.float32
    close(rstd, root, units=8)


def _rows(x: Array, count: int) -> Array:
    """Return the statistics of the last axes, row by row in plain Python: mean, variance, mean square."""
    flat = x.astype(np.float64).reshape(-1, math.prod(x.shape[x.ndim - count :]))
    found = []
    for row in flat.tolist():
        mean = math.fsum(row) / len(row)
        found.append(
            (mean, math.fsum((v - mean) ** 2 for v in row) / len(row), math.fsum(v * v for v in row) / len(row))
        )
    return np.array(found).T.reshape(3, *x.shape[: x.ndim - count], *[1] * count)


@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[2], BF16], ids=str)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_layer_norm_v4(run: Run, close: Close, dtype: np.dtype[Any], data: st.DataObject) -> None:
    """Over the trailing dims listed, with or without scale and shift, known beforehand or not."""
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4))
    count = data.draw(st.integers(1, len(shape)))
    has_scale, has_shift, late = (data.draw(st.booleans()) for _ in range(3))
    random = np.random.default_rng(5)
    x = random.uniform(-2, 3, shape).astype(dtype)
    gamma, beta = (random.uniform(0.5, 2, shape[len(shape) - count :]).astype(dtype) for _ in range(2))
    mean, variance, _ = _rows(x, count)
    root = (variance + 0.1) ** -0.5
    exact = (x.astype(np.float64) - mean) * root
    exact = exact * gamma.astype(np.float64) if has_scale else exact
    exact = exact + beta.astype(np.float64) if has_shift else exact

    listed = np.array(shape[len(shape) - count :], np.int32)
    inputs = [x, listed, gamma if has_scale else None, beta if has_shift else None]
    while inputs[-1] is None and data.draw(st.booleans()):
        inputs.pop()
    y, found_mean, found_root = run("LayerNormV4", inputs, {"epsilon": 0.1}, known=(1,), late=late)
    close(y, exact, units=16, floor=2)
    close(found_mean, mean, units=4, floor=1)
    close(found_root, root, units=64 if dtype == np.float32 else 4)


@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[2], BF16], ids=str)
@pytest.mark.parametrize("bias", [None, (5,), (4, 5)], ids=str)
def test_add_layer_norm(run: Run, close: Close, dtype: np.dtype[Any], bias: tuple[int, ...] | None) -> None:
    """The sum is normalised unrounded; its statistics are float32; the sum itself is the last output."""
    random = np.random.default_rng(5)
    x1, x2 = (random.uniform(-2, 3, (4, 5)).astype(dtype) for _ in range(2))
    gamma, beta = (random.uniform(0.5, 2, 5).astype(dtype) for _ in range(2))
    extra = None if bias is None else random.uniform(-1, 1, bias).astype(dtype)
    total = x1.astype(np.float64) + x2.astype(np.float64) + (0 if extra is None else extra.astype(np.float64))
    mean, variance, _ = _rows(total, 1)
    root = (variance + 1e-5) ** -0.5
    exact = (total - mean) * root * gamma.astype(np.float64) + beta.astype(np.float64)

    inputs = [x1, x2, gamma, beta] + ([] if extra is None else [extra])
    for op_type in ("AddLayerNorm", "InplaceAddLayerNorm"):
        y, found_mean, found_root, x = run(op_type, inputs)
        assert found_mean.dtype == found_root.dtype == np.float32
        close(y, exact, units=16, floor=1)
        close(found_mean, mean, units=8, floor=1)
        close(found_root, root, units=16)
        close(x, total, units=1, floor=1)


@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[2], BF16], ids=str)
def test_add_rms_norm(run: Run, close: Close, dtype: np.dtype[Any]) -> None:
    """RmsNorm of the sum over gamma's axes, and the sum."""
    random = np.random.default_rng(6)
    x1, x2 = (random.uniform(-2, 3, (3, 2, 4)).astype(dtype) for _ in range(2))
    gamma = random.uniform(0.5, 2, (2, 4)).astype(dtype)
    total = x1.astype(np.float64) + x2.astype(np.float64)
    root = (_rows(total, 2)[2] + 1e-6) ** -0.5

    for op_type in ("AddRmsNorm", "InplaceAddRmsNorm"):
        y, rstd, x = run(op_type, [x1, x2, gamma])
        assert rstd.dtype == np.float32
        close(y, total * root * gamma.astype(np.float64), units=8)
        close(rstd, root, units=8)
        close(x, total, units=1, floor=1)


def test_deep_norm(run: Run, close: Close) -> None:
    """Layer norm of ``alpha * x + gx``."""
    random = np.random.default_rng(7)
    x, gx = (random.uniform(-2, 3, (3, 6)).astype(np.float32) for _ in range(2))
    beta, gamma = (random.uniform(0.5, 2, 6).astype(np.float32) for _ in range(2))
    total = x.astype(np.float64) * 0.3 + gx
    mean, variance, _ = _rows(total, 1)
    root = (variance + 1e-6) ** -0.5

    found_mean, found_root, y = run("DeepNorm", [x, gx, beta, gamma])
    close(y, (total - mean) * root * gamma + beta, units=16, floor=1)
    close(found_mean, mean, units=8, floor=1)
    close(found_root, root, units=16)


@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[2]], ids=str)
def test_many_rows(run: Run, close: Close, dtype: np.dtype[Any]) -> None:
    """A tensor that is worked on block by block has every row normalised, the last short block too."""
    x = np.random.default_rng(8).uniform(-2, 3, (7, 501, 33)).astype(dtype)
    gamma = np.linspace(0.5, 2, 33).astype(dtype)
    mean, variance, square = _rows(x, 1)

    y, found_mean, _ = run("LayerNormV3", [x, gamma, gamma], {"begin_norm_axis": 2, "begin_params_axis": -1})
    wide = gamma.astype(np.float64)
    close(y, (x - mean) * (variance + 1e-5) ** -0.5 * wide + wide, units=8, floor=2)
    close(found_mean, mean, units=4, floor=1)
    close(run("RmsNorm", [x, gamma])[0], x * (square + 1e-6) ** -0.5 * wide, units=8, floor=0.01)


def test_layer_norm_as_onnx(run: Run, close: Close) -> None:
    """LayerNormV3 gives what ONNX's LayerNormalization does, its mean and inverse deviation too."""
    random = np.random.default_rng(9)
    x, scale, shift = (random.uniform(-2, 2, s).astype(np.float32) for s in ((2, 3, 4), (3, 4), (3, 4)))
    exact = onnx_reference("LayerNormalization", [x, scale, shift], outputs=3, axis=1, epsilon=1e-4)
    found = run("LayerNormV3", [x, scale, shift], {"begin_norm_axis": 1, "begin_params_axis": 1, "epsilon": 1e-4})

    for mine, theirs in zip(found, exact, strict=True):
        close(mine, theirs, units=16, floor=1)


def test_nothing_to_normalise(run: Run) -> None:
    """No rows give no rows; rows without elements have no mean."""
    gamma = np.ones(4, np.float32)
    assert run("RmsNorm", [np.zeros((0, 4), np.float32), gamma])[0].shape == (0, 4)
    y, mean, _ = run(
        "LayerNorm",
        [np.zeros((2, 0), np.float32), gamma[:0], gamma[:0]],
        {"begin_norm_axis": 1, "begin_params_axis": 1},
    )
    assert y.shape == (2, 0)
    assert np.isnan(mean).all()


@pytest.mark.parametrize(
    ("op_type", "shapes", "attributes", "text"),
    [
        ("LayerNorm", [(2, 3), (2,), (3,)], {"begin_norm_axis": 1, "begin_params_axis": 1}, "gamma needs shape"),
        ("LayerNorm", [(2, 3), (3,), (3,)], {"begin_norm_axis": 2}, "begin_norm_axis 2 lies outside"),
        ("RmsNorm", [(2, 3), (2,)], {}, "gamma needs shape"),
        ("RmsNorm", [(3,), (2, 3)], {}, "gamma needs shape"),
        ("AddRmsNorm", [(2, 3), (3,), (3,)], {}, "must have one shape"),
        ("AddLayerNorm", [(2, 3), (2, 3), (3,), (2,)], {}, "beta needs shape"),
        ("AddLayerNorm", [(2, 3), (2, 3), (3,), (3,), (2,)], {}, "bias needs shape"),
        ("DeepNorm", [(2, 3), (2, 3), (3,), (2,)], {}, "gamma needs shape"),
    ],
)
def test_bad_input(
    run: Run, op_type: str, shapes: list[tuple[int, ...]], attributes: dict[str, Any], text: str
) -> None:
    """Scales that do not fit are refused with both shapes."""
    with pytest.raises(InvalidArgument, match=text):
        run(op_type, [np.zeros(shape, np.float32) for shape in shapes], attributes)


def test_wrong_normalized_shape(run: Run) -> None:
    """The list must be how x's shape ends."""
    with pytest.raises(InvalidArgument, match="is not how input x"):
        run("LayerNormV4", [np.zeros((2, 3), np.float32), np.array([2], np.int32)], known=(1,))
    with pytest.raises(InvalidArgument, match="3 dims cannot be normalised"):
        run("LayerNormV4", [np.zeros((2, 3), np.float32), np.array([1, 2, 3], np.int32)], known=(1,))
