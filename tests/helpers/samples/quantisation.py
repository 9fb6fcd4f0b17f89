"""Quantisation, for real and for show."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples._sample import Sample, data, fixed

_SCALES = fixed([0.5, 0.25, 2], np.float32)
_WORDS = fixed(np.array([0.5, 0.25, 2], np.float32).view(np.uint32), np.uint64)

SAMPLES = {
    "AscendAntiQuant": Sample([data(2, 3)], {"scale": 0.5, "offset": 1.0}),
    "AscendAntiQuantV2": Sample([data(2, 3), _SCALES]),
    "AscendDequant": Sample([data(2, 3), _WORDS]),
    "AscendQuant": Sample([data(2, 3)], {"scale": 20.0, "offset": 1.0}),
    "AscendQuantV2": Sample([data(2, 3), data(3, low=8, high=20)]),
    "AscendRequant": Sample([data(2, 3), _WORDS]),
    "DynamicQuant": Sample([data(2, 3)]),
    "DynamicQuantV2": Sample([data(2, 3)]),
    "FakeQuantAffineCachemask": Sample(
        [data(2, 3), data(3, low=0.1, high=0.5), fixed([1, 0, 2], np.int32)],
        {"axis": 1, "quant_min": -8, "quant_max": 7},
    ),
    "FakeQuantWithMinMaxArgs": Sample([data(2, 3)]),
    "FakeQuantWithMinMaxArgsGradient": Sample([data(2, 3, low=-1), data(2, 3)], {"min": -1.0, "max": 1.0}),
    "FakeQuantWithMinMaxVars": Sample([data(2, 3), data(low=-1, high=-0.5), data(low=0.5, high=1)]),
    "FakeQuantWithMinMaxVarsGradient": Sample(
        [data(2, 3, low=-1), data(2, 3), data(low=-1, high=-0.5), data(low=0.5, high=1)]
    ),
    "FakeQuantWithMinMaxVarsPerChannel": Sample([data(2, 3), data(3, low=-1, high=-0.5), data(3, low=0.5, high=1)]),
    "FakeQuantWithMinMaxVarsPerChannelGradient": Sample(
        [data(2, 3, low=-1), data(2, 3), data(3, low=-1, high=-0.5), data(3, low=0.5, high=1)]
    ),
    "Quantize": Sample([data(2, 3), _SCALES, fixed([1, 0, 2], np.int32)], {"dtype": "torch.qint8"}),
    "TransQuantParamV2": Sample([_SCALES, fixed([1, -2, 3], np.float32)]),
}
