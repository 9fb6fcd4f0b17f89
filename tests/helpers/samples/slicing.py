"""Samples of operators that cut, join and pad."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples import Sample, data, host

_PADDED = [data(2, 3), host([[1, 0], [0, 2]])]
_PARTS = [data(2, 3), data(2, 1)]

SAMPLES = {
    "Concat": Sample([host(1, np.int32), *_PARTS], {"N": 2}),
    "ConcatD": Sample(_PARTS, {"concat_dim": 1, "N": 2}),
    "ConcatV2": Sample([*_PARTS, host(1, np.int32)], {"N": 2}),
    "ConcatV2D": Sample(_PARTS, {"concat_dim": 1, "N": 2}),
    "Pack": Sample([data(2, 3), data(2, 3, high=3)], {"axis": 1, "N": 2}),
    "Unpack": Sample([data(2, 3)], {"num": 2}),
    "Split": Sample([host(1, np.int32), data(2, 4)], {"num_split": 2}),
    "SplitD": Sample([data(2, 4)], {"split_dim": 1, "num_split": 2}),
    "SplitV": Sample([data(2, 4), host([1, 3]), host([1], np.int32)], {"num_split": 2}),
    "SplitVD": Sample([data(2, 4)], {"size_splits": [1, 3], "split_dim": 1, "num_split": 2}),
    "Slice": Sample([data(3, 4), host([1, 0]), host([2, 3])]),
    "SliceD": Sample([data(3, 4)], {"offsets": [1, 0], "size": [2, 3]}),
    "StridedSlice": Sample([data(3, 4), host([2, 0]), host([0, 4]), host([-1, 2])]),
    "StridedSliceD": Sample([data(3, 4)], {"begin": [2, 0], "end": [0, 4], "strides": [-1, 2]}),
    "Pad": Sample(_PADDED),
    "PadD": Sample([data(2, 3)], {"paddings": [[1, 0], [0, 2]]}),
    "PadV2": Sample([*_PADDED, data(low=1, high=1)]),
    "PadV3": Sample(_PADDED, {"mode": "edge"}),
    "MirrorPad": Sample(_PADDED, {"mode": "REFLECT"}),
}
