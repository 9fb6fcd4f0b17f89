"""Samples of normalisations over the batch."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples import Sample, data, fixed

__all__ = ("SAMPLES",)

_X = data(2, 3, 2, 4)
_SLOPE = data(2, 3, 2, 4, high=1)
_SCALE, _OFFSET = fixed([0.5, 1.5, -1], np.float32), fixed([0, 1, -2], np.float32)
_MEAN, _VARIANCE = fixed([0.25, -0.5, 0], np.float32), fixed([1, 0.5, 2], np.float32)
# Sums of 16 elements a channel; the squares are large enough for any mean.
_SUM, _SQUARES = fixed([4, -8, 0], np.float32), fixed([20, 16, 32], np.float32)
_FIRST = {"data_format": "NCHW"}

SAMPLES = {
    "BNInfer": Sample([_X, _SCALE, _OFFSET, _MEAN, _VARIANCE], {"epsilon": 1e-4}),
    "BNInferGrad": Sample([_SLOPE, _SCALE, _VARIANCE]),
    "BNInference": Sample([_X, data(3), data(3, low=0.5), data(1, low=0.5)]),
    "BNInferenceD": Sample([_X, data(3), data(3, low=0.5)]),
    "BNTrainingReduce": Sample([_X]),
    "BNTrainingReduceGrad": Sample([_SLOPE, _X, _SUM, _OFFSET, _SCALE, _MEAN, _VARIANCE]),
    "BNTrainingUpdate": Sample(
        [_X, _SUM, _SQUARES, _SCALE, _OFFSET, _MEAN, _VARIANCE], {"factor": 0.25, "epsilon": 1e-4}
    ),
    "BNTrainingUpdateGrad": Sample([_SLOPE, _X, _MEAN, _VARIANCE]),
    "BNTrainingUpdateV2": Sample([_X, _SUM, _SQUARES, _SCALE, _OFFSET], {"epsilon": 1e-4}),
    "BNTrainingUpdateV3": Sample([_X, _SUM, _SQUARES, _SCALE, _OFFSET], {"epsilon": 1e-4}),
    "BatchNorm": Sample([_X, _SCALE, _OFFSET, _MEAN, _VARIANCE], {**_FIRST, "is_training": False}),
    "BatchNorm3D": Sample([data(2, 3, 2, 2, 2), _SCALE, _OFFSET]),
    "BatchNormExt2": Sample([_X, _SCALE, _OFFSET], _FIRST),
    "BatchNormGrad": Sample([_SLOPE, _X, _SCALE, _MEAN, _VARIANCE], _FIRST),
    "BatchNormGradExt2": Sample([_SLOPE, _X, _SCALE, _MEAN, _VARIANCE], _FIRST),
    "GNTrainingReduce": Sample([data(2, 4, 3, 2)]),
    "INTrainingReduceV2": Sample([_X]),
}
