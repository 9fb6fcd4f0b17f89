"""Pooling whose windows follow from the output's size, and its gradient, against loops over windows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from aacl.abc import Array

Run = Callable[..., list[Array]]
Close = Callable[..., None]
HALF, SINGLE = np.dtype(np.float16), np.dtype(np.float32)


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
