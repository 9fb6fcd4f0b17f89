"""Recurrent layers and cells."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples._sample import Sample, data, fixed

_SEQUENCE = data(3, 2, 4)
_NUMBERS = np.linspace(-1, 1, 54).reshape(3, 2, 9)

SAMPLES = {
    "BasicLSTMCell": Sample([data(2, 4), data(2, 3), data(2, 3, low=-1), data(7, 12), data(12)]),
    "CommonGRU": Sample([_SEQUENCE, data(1, 9, 4), data(1, 9, 3)], {"hidden_size": 3}, loose=4),
    "CommonLSTM": Sample([_SEQUENCE, data(1, 12, 4), data(1, 12, 3)], {"hidden_size": 3}, loose=4),
    "DynamicGRUV2": Sample([_SEQUENCE, data(4, 9), data(3, 9), data(9), data(9, low=-1)]),
    "DynamicGRUV2Hidden": Sample([fixed(_NUMBERS, np.float32), fixed(_NUMBERS[:, 0], np.float16), data(9)]),
    "DynamicRNN": Sample([_SEQUENCE, data(7, 12), data(12)], loose=4),
    "DynamicRNNV2": Sample([_SEQUENCE, data(4, 12), data(3, 12), data(12)], loose=4),
}
