"""Samples of sorting, of the places of extremes, and of running totals."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples import Sample, data, fixed, host

_K = host(2, np.int32)
_SCORES = fixed([[0.1, 0.7, 0.2], [0.5, 0.1, 0.4]], np.float32)
_TARGETS = fixed([1, 1], np.int32)
_AXIS = host([1], np.int32)

SAMPLES = {
    "TopK": Sample([data(3, 5), _K]),
    "TopKV2": Sample([data(3, 5), _K], {"largest": False}),
    "TopKD": Sample([data(3, 5), fixed(np.arange(10), np.float16)], {"k": 2}),
    "TopKV2D": Sample([data(3, 5), _K, fixed(np.arange(10), np.float16)]),
    "Sort": Sample([data(3, 5)], {"descending": True}),
    "SortV2": Sample([data(3, 5)], {"axis": 0}),
    "ArgMaxWithValue": Sample([data(3, 5)], {"dimension": 1}),
    "ArgMinWithValue": Sample([data(3, 5)], {"dimension": 0, "keep_dims": True}),
    "NthElement": Sample([data(3, 5), host(1, np.int32)]),
    "InTopK": Sample([_SCORES, _TARGETS, _K]),
    "InTopKD": Sample([_SCORES, _TARGETS], {"k": 1}),
    "InTopKExt2": Sample([_SCORES, _TARGETS, _K]),
    "InTopKV2": Sample([_SCORES, _TARGETS, _K]),
    "Cumsum": Sample([data(3, 4), _AXIS], {"reverse": True}),
    "CumsumD": Sample([data(3, 4)], {"axis": 0}),
    "Cumprod": Sample([data(3, 4), _AXIS], {"exclusive": True}),
    "CumprodD": Sample([data(3, 4)], {"axis": -1}),
    "Cummax": Sample([data(3, 4)], {"dim": 1}),
    "Cummin": Sample([data(3, 4)], {"axis": 0}),
    "CumulativeLogsumexp": Sample([data(3, 4), _AXIS]),
    "CumulativeLogsumexpD": Sample([data(3, 4)], {"axis": 0, "reverse": True}),
}
