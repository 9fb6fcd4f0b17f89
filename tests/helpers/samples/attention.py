"""Attention, masked softmax and rotary embedding."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples._sample import Sample, data, fixed

_QUERY, _KEY, _VALUE = data(1, 3, 4), data(1, 5, 4), data(1, 5, 4, low=-1)
_ABSENT = [None] * 12
_FACTORS = [data(1, 3, 1, 4, low=-1, high=1), data(1, 3, 1, 4, low=-0.5, high=1)]

SAMPLES = {
    "ApplyRotaryPosEmb": Sample([data(1, 3, 2, 4), data(1, 3, 1, 4), *_FACTORS]),
    "FlashAttentionScore": Sample([_QUERY, _KEY, _VALUE], {"head_num": 2, "input_layout": "BSH"}),
    "IncreFlashAttention": Sample([data(1, 1, 4), _KEY, _VALUE, *_ABSENT], {"num_heads": 2}),
    "MaskedSoftmaxWithRelPosBias": Sample([data(2, 2, 3, 3), data(2, 3, 3), data(2, 3, 3, low=-1)]),
    "PromptFlashAttention": Sample([_QUERY, _KEY, _VALUE], {"num_heads": 2}),
    "RotaryMul": Sample([data(1, 3, 2, 4), *_FACTORS]),
    "RotaryMulGrad": Sample([data(1, 3, 2, 4), *_FACTORS, data(1, 3, 2, 4, low=-1)]),
    "RotaryPositionEmbedding": Sample([data(1, 3, 2, 4), *_FACTORS], {"mode": 1}),
    "RotaryPositionEmbeddingGrad": Sample([data(1, 3, 2, 4), *_FACTORS, data(1, 3, 2, 4, low=-1)]),
    "ScaledMaskedSoftmax": Sample([data(1, 2, 3, 3), fixed(np.eye(3)[None, None], np.bool_)]),
    "ScaledMaskedSoftmaxGrad": Sample([data(1, 2, 3, 3), data(1, 2, 3, 3, low=0.1, high=1)]),
}
