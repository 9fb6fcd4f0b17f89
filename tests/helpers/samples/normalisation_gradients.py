"""Samples of gradients of normalisations."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples import Sample, data, fixed

__all__ = ("SAMPLES",)

_X, _SLOPE, _GAMMA = data(3, 5), data(3, 5, high=1), data(5, low=0.5)
_SPREAD, _CENTRE = data(3, 1, low=0.5), data(3, 1, low=-0.5, high=0.5)
_PICTURE, _CHANGE = data(2, 4, 3, 2), data(2, 4, 3, 2, high=1)
_UNIT = fixed(np.linspace(-1, 2, 15).reshape(3, 5), np.float32)
_ROOT = fixed([[0.5], [1.5], [1]], np.float32)

SAMPLES = {
    "GroupNormGrad": Sample(
        [_CHANGE, data(2, 2, low=-0.5, high=0.5), data(2, 2, low=0.5), _PICTURE, data(4, low=0.5)],
        {"num_groups": 2},
    ),
    "L2NormalizeGrad": Sample([_X, data(3, 5, low=-1, high=1), _SLOPE], {"dim": [1]}),
    "LRNGrad": Sample([_CHANGE, _PICTURE, data(2, 4, 3, 2, low=-1, high=1)], {"depth_radius": 1}),
    "LayerNormBetaGammaBackprop": Sample([_SLOPE, _X, _SPREAD, _CENTRE], {"shape_gamma": [5]}),
    "LayerNormBetaGammaBackpropV2": Sample([_SLOPE, _UNIT], {"shape_gamma": [5]}),
    "LayerNormGrad": Sample([_SLOPE, _X, _SPREAD, _CENTRE, _GAMMA]),
    "LayerNormGradV3": Sample([_SLOPE, _X, _SPREAD, _CENTRE, _GAMMA]),
    "LayerNormXBackprop": Sample([_SLOPE, _X, _SPREAD, _CENTRE, _GAMMA]),
    "LayerNormXBackpropV2": Sample([_SLOPE, _X, _SPREAD, _CENTRE, _GAMMA]),
    "LayerNormXBackpropV3": Sample([_SLOPE, _X, _SPREAD, _CENTRE, _GAMMA]),
    "RmsNormGrad": Sample([_SLOPE, _X, _ROOT, _GAMMA]),
}  # fmt: skip
