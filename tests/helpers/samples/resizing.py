"""Samples of operators that resize pictures."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples import Sample, data, fixed, host

__all__ = ("SAMPLES",)

_X = data(1, 3, 2, 2)
_SIZE = host([4, 3], np.int32)
_SMALL = host([2, 4], np.int32)
_SLOPE = fixed(np.linspace(-1, 2, 24).reshape(1, 4, 3, 2), np.float32)
_CUBE = data(1, 2, 2, 3, 2)

SAMPLES = {
    "Resize": Sample([_X, None, host([1, 1, 2, 1.5], np.float32)], {"mode": "linear"}),
    "ResizeArea": Sample([_X, _SIZE]),
    "ResizeBicubic": Sample([_X, _SIZE]),
    "ResizeBicubicGrad": Sample([_SLOPE, _X]),
    "ResizeBilinear": Sample([_X, _SIZE]),
    "ResizeBilinearD": Sample([_X], {"size": [4, 3]}),
    "ResizeBilinearGrad": Sample([_SLOPE, _X]),
    "ResizeBilinearV2": Sample([_X, _SIZE]),
    "ResizeBilinearV2D": Sample([_X], {"size": [4, 3]}),
    "ResizeBilinearV2Grad": Sample([_SLOPE, _X]),
    "ResizeD": Sample([_X], {"sizes": [4, 3], "mode": "linear"}),
    "ResizeGrad": Sample([_X, None, None, host([1, 3, 4, 3])], {"mode": "linear"}),
    "ResizeGradD": Sample([_X], {"original_size": [4, 3], "mode": "linear"}),
    "ResizeNearestNeighbor": Sample([_X, _SIZE]),
    "ResizeNearestNeighborD": Sample([_X], {"size": [4, 3]}),
    "ResizeNearestNeighborGrad": Sample([_X, _SMALL]),
    "ResizeNearestNeighborV2": Sample([_X, _SIZE]),
    "ResizeNearestNeighborV2D": Sample([_X], {"size": [4, 3]}),
    "ResizeNearestNeighborV2Grad": Sample([_X, _SMALL]),
    "ResizeNearestNeighborV2GradD": Sample([_X], {"size": [2, 4]}),
    "UpsampleNearest1d": Sample([data(1, 2, 3)], {"output_size": [5]}),
    "UpsampleNearest1dGrad": Sample([data(1, 2, 5)], {"output_size": [5], "input_size": [1, 2, 3]}),
    "UpsampleNearest3d": Sample([_CUBE], {"output_size": [3, 4, 4]}),
    "UpsampleNearest3dGrad": Sample([_CUBE], {"output_size": [2, 3, 2], "input_size": [1, 2, 1, 2, 2]}),
    "UpsampleTrilinear3d": Sample([_CUBE], {"output_size": [3, 4, 4]}),
    "UpsampleTrilinear3dGrad": Sample([_CUBE], {"output_size": [2, 3, 2], "input_size": [1, 2, 1, 2, 3]}),
}
