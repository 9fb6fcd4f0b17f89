"""Pooling of regions of an image, against loops over the parts of each."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from aacl.abc import Array

Run = Callable[..., list[Array]]


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


@pytest.mark.parametrize("wrong", [np.inf, np.nan])
def test_regions_that_are_nowhere(run: Run, wrong: float) -> None:
    """A corner that is not finite is refused by name."""
    attributes = {"pooled_h": 1, "pooled_w": 1, "spatial_scale_h": 1.0, "spatial_scale_w": 1.0}
    with pytest.raises(ValueError, match="ROIPooling: a region has a number that is not finite"):
        run("ROIPooling", [np.ones((1, 1, 2, 2), np.float32), np.array([[0, 0, 0, wrong, 1]], np.float32)], attributes)
