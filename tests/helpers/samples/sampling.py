"""Samples of operators that read pictures at any place."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples import Sample, data, fixed, host

__all__ = ("SAMPLES",)

_X = data(2, 3, 4, 3)
_GRID = data(2, 2, 3, 2, low=-0.75, high=1)
_VOLUME, _PLACES = data(1, 2, 3, 2, 3), data(1, 2, 1, 2, 3, low=-0.75, high=1)
_BOXES = data(2, 4, low=0.25, high=0.75)
_INDEX = fixed([1, 0], np.int32)

SAMPLES = {
    "AffineGrid": Sample([data(1, 2, 3), host([1, 2, 3, 4], np.int32)]),
    "CropAndResize": Sample([_X, fixed([[0, 0.25, 1, 0.5], [0.5, 0, 1, 1.5]], np.float32), _INDEX,
                             host([2, 3], np.int32)]),
    "CropAndResizeD": Sample([_X, _BOXES, _INDEX], {"crop_size": [2, 3]}),
    "CropAndResizeV2": Sample([_X, fixed([[0, 0.25, 1, 0.5], [0.5, 0, 1, 1.5]], np.float32), _INDEX,
                               host([2, 3], np.int32)]),
    "GridSample": Sample([_X, _GRID]),
    "GridSampler2D": Sample([_X, _GRID]),
    "GridSampler2DGrad": Sample([data(2, 3, 2, 3), _X, _GRID]),
    "GridSampler3D": Sample([_VOLUME, _PLACES]),
    "GridSampler3DGrad": Sample([data(1, 2, 2, 1, 2), _VOLUME, _PLACES]),
}  # fmt: skip
