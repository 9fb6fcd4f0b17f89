"""Samples of operators on colours."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples import Sample, data, fixed

__all__ = ("SAMPLES",)

_X = data(2, 3, 3, low=0, high=1)
_NUMBER = fixed(0.25, np.float32)

SAMPLES = {
    "AdjustBrightness": Sample([_X, _NUMBER]),
    "AdjustContrast": Sample([_X, _NUMBER]),
    "AdjustHue": Sample([_X, _NUMBER]),
    "AdjustSaturation": Sample([_X, _NUMBER]),
    "HSVToRGB": Sample([_X]),
    "RGBToHSV": Sample([_X]),
    "RgbToGrayscale": Sample([_X]),
}
