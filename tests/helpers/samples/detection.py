"""Samples of operators on boxes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.helpers.samples import Sample, data, fixed, host
from tests.helpers.samples._sample import Operand

__all__ = ("SAMPLES",)


def _boxes(*rows: Sequence[float], turned: bool = False) -> Operand:
    """Return boxes that take the dtype under test."""
    array = np.array(rows, np.float64)
    return Operand(array.T.copy() if turned else array)


_FIRST = ([0.0, 0, 10, 8], [2, 2, 6, 9], [5, 5, 9, 9])
_SECOND = ([1.0, 1, 9, 9], [5, 4, 12, 8])
_SIZES = fixed([[8, 16, 3], [4, 2, 3]], np.int32)

SAMPLES = {
    "BoundingBoxDecode": Sample([_boxes(*_FIRST), data(3, 4, low=-0.5, high=0.5)], {"max_shape": [20, 30]}),
    "BoundingBoxEncode": Sample([_boxes(*_FIRST), _boxes(*_FIRST[::-1])]),
    "CIoU": Sample([_boxes(*_FIRST, turned=True), _boxes(*_SECOND, turned=True)], {"atan_sub_flag": True}),
    "CheckValid": Sample([_boxes(*_FIRST), Operand(np.array([9.0, 8, 1]))]),
    "ClipBoxes": Sample([_boxes(*_FIRST), host([6, 8], np.int32)]),
    "ClipBoxesD": Sample([_boxes(*_FIRST)], {"img_size": [6, 8]}),
    "DIoU": Sample([_boxes(*_FIRST, turned=True), _boxes(*_SECOND, turned=True)]),
    "GIoU": Sample([_boxes(*_FIRST, turned=True), _boxes(*_SECOND, turned=True)]),
    "Iou": Sample([_boxes(*_FIRST), _boxes(*_SECOND)]),
    "NormalizeBBox": Sample([data(2, 3, 4, low=0, high=8), _SIZES]),
    "PtIou": Sample([_boxes(*_FIRST), _boxes(*_SECOND)]),
    "ToAbsoluteBBox": Sample([data(2, 3, 4, low=0, high=1), _SIZES]),
}
