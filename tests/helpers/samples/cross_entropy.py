"""Losses over classes."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples._sample import Sample, data, fixed

_LABELS = fixed([2, 0], np.int32)

SAMPLES = {
    "NLLLoss": Sample([data(2, 3), _LABELS, data(3, low=0.5)]),
    "NLLLossGrad": Sample([data(2, 3), data(), _LABELS, data(3, low=0.5), data(low=1)]),
    "SoftmaxCrossEntropyLoss": Sample([data(2, 3), _LABELS]),
    "SoftmaxCrossEntropyWithLogits": Sample([data(2, 3), data(2, 3, low=0, high=1)]),
    "SparseSoftmaxCrossEntropyWithLogits": Sample([data(2, 3), _LABELS]),
}
