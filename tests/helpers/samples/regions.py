"""Samples of pooling of regions of interest."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples import Sample, data, fixed

__all__ = ("SAMPLES",)

_BINS = {"spatial_scale": 0.5, "pooled_height": 2, "pooled_width": 3}
_ROIS = fixed([[1, 0, 1, 5, 7], [0, 2, 2, 3, 3]], np.float32)

SAMPLES = {
    "ROIAlign": Sample([data(2, 3, 4, 5), _ROIS], _BINS),
    "ROIAlignGrad": Sample([data(2, 3, 2, 3), _ROIS], {**_BINS, "xdiff_shape": [2, 3, 4, 5]}),
}
