"""Samples of operators that reduce rows by segment."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples import Sample, data, fixed, host

# No segment is empty: what it would hold is a limit of the dtype.
_UNSORTED = [data(5, 3), fixed([2, 0, -1, 2, 1], np.int32)]
_NAMES = ("Sum", "Prod", "Max", "Min")
_IDS = host([0, 0, 2, 2], np.int32)
_PICKED = [data(5, 3), fixed([4, 0, 0, 3], np.int32), _IDS]
_SPREAD = [data(3, 2), fixed([4, 0, 0, 3], np.int32), fixed([0, 0, 2, 2], np.int32), host(5, np.int32)]

SAMPLES = {
    **{f"UnsortedSegment{name}": Sample([*_UNSORTED, host(3, np.int32)]) for name in _NAMES},
    **{f"UnsortedSegment{name}D": Sample(_UNSORTED, {"num_segments": 3}) for name in _NAMES},
    "SegmentSum": Sample([data(4, 3), _IDS]),
    "SegmentMax": Sample([data(4, 3), _IDS]),
    "SegmentMaxD": Sample([data(4, 3)], {"segment_ids": [0, 0, 2, 2]}),
    "SparseSegmentSum": Sample(_PICKED),
    "SparseSegmentMean": Sample(_PICKED),
    "SparseSegmentSumGrad": Sample(_SPREAD),
    "SparseSegmentMeanGrad": Sample(_SPREAD),
}
