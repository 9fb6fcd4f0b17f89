"""Samples of non-maximum suppression."""

from __future__ import annotations

import numpy as np

from aacl.dtypes import DataType
from tests.helpers.samples import Sample, fixed, host
from tests.helpers.samples._sample import Operand

__all__ = ("SAMPLES",)

_BOXES = Operand(np.array([[0.0, 0, 4, 4], [0, 1, 4, 5], [8, 8, 12, 12], [0, 0, 4, 4.5]]))
_SCORES = Operand(np.array([0.5, 0.75, 0.25, 0.625]))
_TWO, _HALF, _LEAST = host([2], np.int32), Operand(np.array([0.5])), Operand(np.array([0.125]))
_OVERLAPS = fixed([[1, 0.75, 0], [0.75, 1, 0], [0, 0, 1]], np.float32)
_PICTURES = [Operand(_BOXES.array[None]), Operand(_SCORES.array[None, None])]
_THRESHOLDS = [fixed([0.5], np.float32), fixed([0.125], np.float32)]
_SCORED = Operand(np.concatenate([_BOXES.array, _SCORES.array[:, None], np.zeros((4, 3))], 1))

SAMPLES = {
    "NMSWithMask": Sample([_SCORED]),
    "NonMaxSuppression": Sample([_BOXES, _SCORES, _TWO]),
    "NonMaxSuppressionV2": Sample([_BOXES, _SCORES, _TWO, _HALF]),
    "NonMaxSuppressionV3": Sample([_BOXES, _SCORES, _TWO, _HALF, _LEAST]),
    "NonMaxSuppressionV4": Sample([_BOXES, _SCORES, _TWO, _HALF, _LEAST]),
    "NonMaxSuppressionV5": Sample(
        [_BOXES, _SCORES, _TWO, _HALF, _LEAST, Operand(np.array([0.5]))], {"T": DataType.FLOAT}
    ),
    "NonMaxSuppressionV6": Sample([*_PICTURES, _TWO, *_THRESHOLDS]),
    "NonMaxSuppressionV7": Sample([*_PICTURES, _TWO, *_THRESHOLDS]),
    "NonMaxSuppressionWithOverlaps": Sample([_OVERLAPS, fixed([0.5, 0.75, 0.25], np.float32), _TWO, *_THRESHOLDS]),
}
