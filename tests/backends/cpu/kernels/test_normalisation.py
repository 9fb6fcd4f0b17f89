"""Normalisation over trailing axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from aacl.abc import Array

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
