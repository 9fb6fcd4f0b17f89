"""Embeddings and mixtures of experts."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples._sample import Sample, data, fixed

_EXPERTS = fixed([[1, 0], [0, 2], [2, 1]], np.int32)
_ROWS = fixed([[0, 3], [1, 4], [2, 5]], np.int32)

SAMPLES = {
    "EmbeddingBag": Sample([data(5, 3), fixed([[0, 1], [4, 4]], np.int32)]),
    "EmbeddingDenseGrad": Sample([data(4, 3), fixed([2, 0, 2, 1], np.int32)], {"num_weights": 5}),
    "MoeComputeExpertTokens": Sample([fixed([0, 0, 1, 3], np.int32)], {"num_experts": 4}),
    "MoeFinalizeRouting": Sample(
        [data(6, 4), data(3, 4), None, data(3, 4, low=-1), data(3, 2), fixed([5, 4, 3, 2, 1, 0], np.int32), _EXPERTS]
    ),
    "MoeGatingTopKSoftmax": Sample([data(3, 4)], {"k": 2}),
    "MoeInitRouting": Sample([data(3, 4), _ROWS, _EXPERTS], {"active_num": 3}),
}
