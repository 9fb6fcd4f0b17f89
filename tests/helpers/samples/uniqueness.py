"""Samples of operators that find, search or count elements."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples import Sample, data, fixed, host

_X = data(9, low=-1.4, high=1.4)
_EDGES = fixed([[1, 3, 5], [2, 4, 6]], np.float32)
_WANTED = fixed([[3, 9], [0, 4]], np.float32)

SAMPLES = {
    "Unique": Sample([_X]),
    "UniqueExt2": Sample([data(4, 2, low=-0.6, high=0.6), host([0], np.int32)]),
    "UniqueWithCounts": Sample([_X], {"out_idx": "INT64"}),
    "UniqueWithCountsAndSorting": Sample([_X], {"return_inverse": True, "return_counts": True}),
    "UniqueV2": Sample([_X], {"return_idx": True, "return_inverse": True, "return_counts": True}),
    "UniqueConsecutive": Sample([_X], {"return_idx": True, "return_counts": True}),
    "ListDiff": Sample([_X, data(3, low=-1, high=1)]),
    "NonZeroWithValue": Sample([data(3, 4, low=-1, high=1)]),
    "Bucketize": Sample([data(3, 4)], {"boundaries": [-1.0, 0.0, 1.5]}),
    "SearchSorted": Sample([fixed([1, 3, 5], np.float32), _WANTED]),
    "LowerBound": Sample([_EDGES, _WANTED], {"out_type": "INT64"}),
    "UpperBound": Sample([_EDGES, _WANTED], {"out_type": "INT32"}),
    "Histogram": Sample([data(3, 4)], {"bins": 4, "min": -1, "max": 1}),
    "HistogramV2": Sample([data(3, 4), data(1, low=-1, high=-1), data(1, low=1, high=1)], {"bins": 4}),
    "HistogramFixedWidth": Sample([fixed([0.5, 3, 9], np.float32), fixed([1, 5], np.float32), host(3, np.int32)]),
    "HistogramFixedWidthD": Sample([fixed([0.5, 3, 9], np.float32), fixed([1, 5], np.float32)], {"nbins": 3}),
    "Bincount": Sample([fixed([0, 2, 2, 7], np.int32), host(4, np.int32), fixed([], np.int32)]),
    "DenseBincount": Sample(
        [fixed([[0, 2], [1, 1]], np.int32), host(3, np.int32), fixed([[1, 2], [3, 4]], np.float32)]
    ),
}
