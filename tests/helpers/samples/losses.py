"""Losses and their gradients."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples._sample import Sample, data, fixed

_PAIR = [data(2, 3), data(2, 3, low=0.1, high=0.9)]
_TRIPLE = [*_PAIR, data(2, 3)]
_CHANCES = [data(2, 3, low=0.1, high=0.9), data(2, 3, low=0.2, high=0.8)]

SAMPLES = {
    "BinaryCrossEntropy": Sample(_CHANCES),
    "BinaryCrossEntropyGrad": Sample([*_CHANCES, data(2, 3)]),
    "CosineEmbeddingLoss": Sample([data(2, 3), data(2, 3, low=-1, high=2), fixed([1, -1], np.int32)]),
    "CosineSimilarity": Sample([data(2, 3), data(2, 3, low=-1, high=2)]),
    "KLDiv": Sample(_PAIR, {"reduction": "batchmean"}),
    "KLDivV2": Sample(_PAIR),
    "KlDivLossGrad": Sample([data(2, 3), *_PAIR]),
    "L1LossGrad": Sample([data(2, 3, low=-1), *_PAIR]),
    "LpLoss": Sample(_PAIR, {"p": 1}),
    "MseLoss": Sample(_PAIR),
    "MseLossGrad": Sample(_TRIPLE),
    "MultilabelMarginLoss": Sample([data(2, 3), fixed([[2, 0, -1], [1, -1, 0]], np.int32)]),
    "PoissonNllLoss": Sample(_PAIR),
    "SigmoidCrossEntropyWithLogits": Sample(_PAIR),
    "SigmoidCrossEntropyWithLogitsGrad": Sample(_TRIPLE),
    "SigmoidCrossEntropyWithLogitsGradV2": Sample(_TRIPLE),
    "SigmoidCrossEntropyWithLogitsV2": Sample(_PAIR),
    "SmoothL1Loss": Sample(_PAIR),
    "SmoothL1LossGrad": Sample(_TRIPLE),
    "SmoothL1LossGradV2": Sample(_TRIPLE),
    "SmoothL1LossV2": Sample(_PAIR),
    "SoftMarginLoss": Sample(_PAIR),
    "SoftMarginLossGrad": Sample(_TRIPLE),
}
