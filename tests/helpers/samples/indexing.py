"""Samples of operators that pick elements by index."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples import Sample, data, fixed, host

_INDICES = fixed([2, 0], np.int32)

SAMPLES = {
    "Gather": Sample([data(3, 4), _INDICES]),
    "GatherV2": Sample([data(3, 4), _INDICES, host([1], np.int32)]),
    "GatherV2D": Sample([data(3, 4), _INDICES], {"axis": 1}),
    "GatherNd": Sample([data(3, 4), fixed([[2, 3], [0, 1]], np.int32)]),
    "GatherElements": Sample([data(3, 4), fixed([[2, 0, 1, 0]], np.int32)]),
    "GatherD": Sample([data(3, 4), host(1, np.int32), fixed([[2, -1], [1, 0], [3, 3]], np.int32)]),
    "OneHotD": Sample([fixed([0, 2, 5], np.int32), data(low=1, high=1), data(low=0, high=0)], {"depth": 3}),
    "NonZero": Sample([data(3, 4, low=-1, high=1)]),
    "Where": Sample([data(3, 4, low=-1, high=1)]),
}
