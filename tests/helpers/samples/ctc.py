"""Connectionist temporal classification."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples._sample import Sample, data, fixed

_CHANCES = data(4, 2, 3, low=-2, high=-0.5)
_TARGETS = fixed([[1, 2], [2, 2]], np.int64)
_LENGTHS = [fixed([4, 3], np.int64), fixed([2, 1], np.int64)]

SAMPLES = {
    "CTCGreedyDecoder": Sample([_CHANCES, fixed([4, 2], np.int32)]),
    "CTCLossV2": Sample([_CHANCES, _TARGETS, *_LENGTHS]),
    "CTCLossV2Grad": Sample([data(2), _CHANCES, _TARGETS, *_LENGTHS, data(2, low=1), data(2, 4, 5)]),
}
