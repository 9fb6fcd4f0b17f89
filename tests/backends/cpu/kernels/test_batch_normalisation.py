"""Normalisation over the batch: channel by channel in plain Python, or ONNX's reference."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from aacl.abc import Array
from aacl.dtypes import Format
from aacl.errors import InvalidArgument
from tests.helpers.onnx_reference import onnx_reference

Run = Callable[..., list[Array]]
Close = Callable[..., None]
FLOATS: list[np.dtype[Any]] = [np.dtype(np.float32), np.dtype(np.float16)]
FIRST = {"data_format": "NCHW"}
SCALE, OFFSET = np.array([0.5, 1.5, -1], np.float32), np.array([0, 1, -2], np.float32)
MEAN, VARIANCE = np.array([0.25, -0.5, 0.5], np.float32), np.array([1, 0.5, 2], np.float32)


def _x(dtype: Any = np.float32, seed: int = 3) -> Array:
    return np.random.default_rng(seed).uniform(-2, 3, (2, 3, 4, 2)).astype(dtype)


def _statistics(x: Array) -> tuple[Array, Array]:
    """Return mean and biased variance of each channel, axis 1."""
    found = []
    for channel in range(x.shape[1]):
        values = x[:, channel].astype(np.float64).reshape(-1).tolist()
        mean = math.fsum(values) / len(values)
        found.append((mean, math.fsum((v - mean) ** 2 for v in values) / len(values)))
    pairs = np.array(found).T
    return pairs[0], pairs[1]


def _normalised(x: Array, mean: Array, variance: Array, epsilon: float = 1e-4) -> Array:
    exact = np.empty(x.shape)
    for index in np.ndindex(x.shape):
        c = index[1]
        unit = (float(x[index]) - float(mean[c])) / math.sqrt(float(variance[c]) + epsilon)
        exact[index] = unit * float(SCALE[c]) + float(OFFSET[c])
    return exact


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op_type", ["BatchNorm", "BatchNormExt2"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_training(run: Run, close: Close, dtype: np.dtype[Any], op_type: str, layout: str) -> None:
    """Batch variance unbiased, reserved variance biased; float32 statistics."""
    x = _x(dtype)
    mean, variance = _statistics(x)
    turn = (0, 2, 3, 1) if layout == "NHWC" else (0, 1, 2, 3)
    y, *statistics = run(op_type, [x.transpose(turn), SCALE, OFFSET], {"data_format": layout})

    close(y, _normalised(x, mean, variance).transpose(turn), units=8, floor=1)
    for found, exact in zip(statistics, (mean, variance * 16 / 15, mean, variance), strict=False):
        assert found.dtype == np.float32
        close(found, exact, units=8, floor=0.5)
    if op_type == "BatchNorm":
        assert statistics[4].tolist() == 0


def test_moving_average(run: Run, close: Close) -> None:
    """``exponential_avg_factor`` mixes the batch's statistics into those given."""
    x = _x()
    mean, variance = _statistics(x)
    inputs = [x, SCALE, OFFSET, MEAN, VARIANCE]
    y, moved, spread, *_ = run("BatchNorm", inputs, {**FIRST, "exponential_avg_factor": 0.25})

    close(y, _normalised(x, mean, variance), units=8, floor=1)
    close(moved, 0.75 * MEAN + 0.25 * mean, units=8, floor=0.5)
    close(spread, 0.75 * VARIANCE + 0.25 * variance * 16 / 15, units=8)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_inference(run: Run, close: Close, dtype: np.dtype[Any]) -> None:
    """By the statistics given, as ONNX's BatchNormalization; BNInfer is the same alone."""
    x = _x(dtype)
    wide = [each.astype(np.float64) for each in (x, SCALE, OFFSET, MEAN, VARIANCE)]
    (exact,) = onnx_reference("BatchNormalization", wide, epsilon=1e-3)
    inputs = [x, SCALE, OFFSET, MEAN, VARIANCE]
    attributes = {**FIRST, "is_training": False, "epsilon": 1e-3}
    y, mean, variance, *_ = run("BatchNorm", inputs, attributes)

    close(y, exact, units=8, floor=1)
    assert mean.tolist() == MEAN.tolist()
    assert variance.tolist() == VARIANCE.tolist()
    close(run("BatchNormExt2", inputs, attributes)[0], exact, units=8, floor=1)
    close(run("BNInfer", inputs, {"epsilon": 1e-3})[0], exact, units=8, floor=1)
    last = [x.transpose(0, 2, 3, 1), *inputs[1:]]
    close(run("BNInfer", last, {"epsilon": 1e-3}, formats={0: Format.NHWC})[0], exact.transpose(0, 2, 3, 1), units=8,
          floor=1)  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_large_pictures(run: Run, close: Close, dtype: np.dtype[Any]) -> None:
    """They give what their parts give."""
    x = np.random.default_rng(3).uniform(-2, 3, (2, 3, 160, 150)).astype(dtype)
    attributes = {"epsilon": 1e-3}
    (found,) = run("BNInfer", [x, SCALE, OFFSET, MEAN, VARIANCE], attributes)
    for row in range(0, 160, 40):
        part = run("BNInfer", [x[:, :, row : row + 1], SCALE, OFFSET, MEAN, VARIANCE], attributes)[0]
        close(found[:, :, row : row + 1], part.astype(np.float64), units=8, floor=2)


def test_three_spatial_dims(run: Run, close: Close) -> None:
    """BatchNorm3D has its channels along axis 1 by default."""
    x = np.random.default_rng(4).uniform(-2, 3, (2, 3, 2, 2, 2)).astype(np.float32)
    mean, variance = _statistics(x)

    close(run("BatchNorm3D", [x, SCALE, OFFSET])[0], _normalised(x, mean, variance), units=8, floor=1)


@pytest.mark.parametrize("momentum", [0.0, 1.0, 4.0])
def test_caffe(run: Run, close: Close, momentum: float) -> None:
    """``momentum`` divides mean and variance; 0 makes them 0."""
    x = _x()
    factor = 0 if momentum == 0 else 1 / momentum
    exact = np.empty(x.shape)
    for index in np.ndindex(x.shape):
        c = index[1]
        deviation = math.sqrt(float(VARIANCE[c]) * factor + 1e-5)
        exact[index] = (float(x[index]) - float(MEAN[c]) * factor) / deviation

    divisor = np.array([momentum], np.float32)
    close(run("BNInference", [x, MEAN, VARIANCE, divisor, SCALE, OFFSET])[0], exact, units=8, floor=1)
    close(run("BNInferenceD", [x, MEAN, VARIANCE], {"momentum": momentum})[0], exact, units=8, floor=1)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sums_and_update(run: Run, close: Close, dtype: np.dtype[Any]) -> None:
    """Reduce then update is a training step; the running variance takes in the unbiased one."""
    x = _x(dtype)
    mean, variance = _statistics(x)
    total, square = run("BNTrainingReduce", [x])
    close(total, mean * 16, units=8, floor=8)
    close(square, (variance + mean**2) * 16, units=8)

    attributes = {"factor": 0.1, "epsilon": 1e-4}
    y, running, spread, batch, biased = run(
        "BNTrainingUpdate", [x, total, square, SCALE, OFFSET, MEAN, VARIANCE], attributes
    )
    exact = _normalised(x, mean, variance)
    close(y, exact, units=16, floor=2)
    close(running, 0.9 * MEAN + 0.1 * mean, units=8, floor=0.5)
    close(spread, 0.9 * VARIANCE + 0.1 * variance * 16 / 15, units=16)
    for op_type in ("BNTrainingUpdateV2", "BNTrainingUpdateV3"):
        again, *statistics = run(op_type, [x, total, square, SCALE, OFFSET], {"epsilon": 1e-4})
        close(again, exact, units=16, floor=2)
        for found, wanted in zip(statistics, (batch, biased) * 2, strict=False):
            assert found.tolist() == wanted.tolist()
    close(batch, mean, units=8, floor=0.5)
    close(biased, variance, units=32)


def test_sums_of_pictures_and_groups(run: Run, close: Close) -> None:
    """INTrainingReduceV2 keeps batch and channels, GNTrainingReduce groups of channels."""
    x = np.random.default_rng(6).uniform(-2, 3, (2, 4, 3, 2)).astype(np.float32)
    total, square = run("INTrainingReduceV2", [x])
    group, group_square = run("GNTrainingReduce", [x], {"num_groups": 2})

    assert total.shape == (2, 4, 1, 1)
    assert group.shape == (2, 2, 1, 1, 1)
    for n, c in np.ndindex(2, 4):
        values = x[n, c].astype(np.float64).reshape(-1).tolist()
        close(total[n, c].reshape(()), math.fsum(values), units=8, floor=4)
        close(square[n, c].reshape(()), math.fsum(v * v for v in values), units=8)
    for n, g in np.ndindex(2, 2):
        values = x[n, 2 * g : 2 * g + 2].astype(np.float64).reshape(-1).tolist()
        close(group[n, g].reshape(()), math.fsum(values), units=8, floor=8)
        close(group_square[n, g].reshape(()), math.fsum(v * v for v in values), units=8)


def _loss(x: Array, scale: Array, offset: Array, weights: Array) -> float:
    """A weighted sum of what a training step gives."""
    mean, variance = _statistics(x)
    total = 0.0
    for index in np.ndindex(x.shape):
        c = index[1]
        unit = (x[index] - mean[c]) / math.sqrt(variance[c] + 1e-4)
        total += float(weights[index] * (unit * scale[c] + offset[c]))
    return total


def _slopes(function: Callable[[Array], float], point: Array) -> Array:
    """Return the gradient by central differences."""
    found = np.empty(point.shape)
    for index in np.ndindex(point.shape):
        ends = []
        for step in (1e-5, -1e-5):
            moved = point.copy()
            moved[index] += step
            ends.append(function(moved))
        found[index] = (ends[0] - ends[1]) / 2e-5
    return found


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_gradients(run: Run, close: Close, dtype: np.dtype[Any]) -> None:
    """By differences of the training step; BNTrainingUpdateGrad and BNTrainingReduceGrad together give the same."""
    x = np.random.default_rng(8).uniform(-2, 3, (2, 3, 2, 1)).astype(dtype)
    slope = np.random.default_rng(9).uniform(-1, 1, x.shape).astype(dtype)
    wide, weights = x.astype(np.float64), slope.astype(np.float64)
    scale, offset = SCALE.astype(np.float64), OFFSET.astype(np.float64)
    by_x = _slopes(lambda each: _loss(each, scale, offset, weights), wide)
    by_scale = _slopes(lambda each: _loss(wide, each, offset, weights), scale)
    by_offset = _slopes(lambda each: _loss(wide, scale, each, weights), offset)
    mean, variance = (each.astype(np.float32) for each in _statistics(x))

    for op_type in ("BatchNormGrad", "BatchNormGradExt2"):
        into, scale_slope, offset_slope, *reserved = run(op_type, [slope, x, SCALE, mean, variance], FIRST)
        close(into, by_x, units=128, floor=0.25)
        close(scale_slope, by_scale, units=128, floor=1)
        close(offset_slope, by_offset, units=128, floor=1)
        assert [each.tolist() for each in reserved] == [0, 0]
    again = run("BNTrainingUpdateGrad", [slope, x, mean, variance])
    close(again[0], by_scale, units=128, floor=1)
    close(again[1], by_offset, units=128, floor=1)
    close(run("BNTrainingReduceGrad", [slope, x, *again, SCALE, mean, variance])[0], by_x, units=128, floor=0.25)


def test_inference_gradients(run: Run, close: Close) -> None:
    """With known statistics the gradient is the factor of ``x``."""
    slope, x = _x(seed=5), _x()
    exact = np.empty(x.shape)
    for index in np.ndindex(x.shape):
        c = index[1]
        exact[index] = float(slope[index]) * float(SCALE[c]) / math.sqrt(float(VARIANCE[c]) + 1e-4)

    close(run("BNInferGrad", [slope, SCALE, VARIANCE])[0], exact, units=4)
    attributes = {**FIRST, "is_training": False}
    close(run("BatchNormGrad", [slope, x, SCALE, MEAN, VARIANCE], attributes)[0], exact, units=4)


def test_statistics_of_the_same_rank(run: Run) -> None:
    """Those of NC1HWC0 data broadcast as they lie."""
    x = np.arange(48, dtype=np.float32).reshape(1, 2, 2, 3, 4)
    per = [np.arange(8, dtype=np.float32).reshape(1, 2, 1, 1, 4) + each for each in range(4)]
    (found,) = run("BNInfer", [x, *per], {"epsilon": 0.0})

    for index in np.ndindex(x.shape):
        scale, offset, mean, variance = (float(each[0, index[1], 0, 0, index[4]]) for each in per)
        assert found[index] == pytest.approx((float(x[index]) - mean) / math.sqrt(variance) * scale + offset, rel=1e-5)


def test_no_batch(run: Run) -> None:
    """An empty batch has no statistics, and no rows."""
    y, mean, *_ = run("BatchNorm", [np.zeros((0, 3, 2, 2), np.float32), SCALE, OFFSET], FIRST)
    assert y.shape == (0, 3, 2, 2)
    assert np.isnan(mean).all()


def test_bad_input(run: Run) -> None:
    """Missing statistics, and ones that do not fit the channels, are refused."""
    x, four = _x(), np.zeros(4, np.float32)
    for op_type, inputs, attributes, text in (
        ("BatchNorm", [x, SCALE, OFFSET], {**FIRST, "is_training": False}, "needs mean and variance"),
        ("BatchNorm", [x, four, OFFSET], FIRST, "there are 3 channels, along axis 1"),
        ("BatchNorm", [x, SCALE, OFFSET], {}, "there are 2 channels, along axis 3"),
        ("BatchNorm", [x, SCALE, OFFSET], {"data_format": "N"}, "data_format is 'N'"),
        ("BNInfer", [x, SCALE, OFFSET, MEAN, four], {"epsilon": 0.0}, "there are 3 channels"),
        ("BNInference", [x, MEAN, VARIANCE, np.zeros(2, np.float32)], {}, "must hold one element"),
        ("BNTrainingUpdateV2", [x, MEAN, VARIANCE, SCALE, four], {"epsilon": 0.0}, "there are 3 channels"),
        ("BatchNormGrad", [x[:1], x, SCALE, MEAN, VARIANCE], FIRST, "must have one shape"),
        ("GNTrainingReduce", [x], {"num_groups": 2}, "no multiple of num_groups 2"),
    ):
        with pytest.raises(InvalidArgument, match=text):
            run(op_type, inputs, attributes)


def test_statistics_of_many_rows(run: Run) -> None:
    """The sums over 300,000 pictures err by some units in the last place."""
    x = (np.random.default_rng(9).standard_normal((300_000, 2, 1, 1)) + 3).astype(np.float32)
    exact = x.astype(np.float64)
    total, square = run("BNTrainingReduce", [x], formats={0: Format.NCHW})

    np.testing.assert_allclose(total.reshape(-1), exact.sum((0, 2, 3)), rtol=1e-6)
    np.testing.assert_allclose(square.reshape(-1), (exact**2).sum((0, 2, 3)), rtol=1e-6)
