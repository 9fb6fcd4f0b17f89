"""Samples of tensors made from shapes and numbers, and of facts about tensors."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples import Sample, data, fixed, host

SAMPLES = {
    "Fill": Sample([host([2, 3]), data()]),
    "FillD": Sample([data()], {"dims": [2, 3]}),
    "Fills": Sample([data(2, 3)], {"value": 2.5}),
    "OnesLike": Sample([data(2, 3)]),
    "ZerosLike": Sample([data(2, 3)]),
    "Range": Sample([host(1, np.int32), host(9, np.int32), host(2, np.int32)]),
    "Rank": Sample([data(2, 3)]),
    "Shape": Sample([data(2, 3)]),
    "Size": Sample([data(2, 3)]),
    "OneHot": Sample([fixed([0, 2, 1], np.int32), host([3], np.int32), data(1, low=1, high=2), data(1, low=0, high=0)]),
}
