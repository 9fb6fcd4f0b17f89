"""Samples of gradients of activations."""

from __future__ import annotations

from tests.helpers.samples import Sample, data, fixed

_PAIR = Sample([data(2, 3), data(2, 3, high=3)], loose=4)

SAMPLES = {
    **dict.fromkeys(("ReluGrad", "Relu6Grad", "HardShrinkGrad", "SoftShrinkGrad", "HardSigmoidGrad", "HardtanhGrad",
                     "EluGrad", "EluGradV2", "SeluGrad", "SoftplusGrad", "SoftplusV2Grad", "SoftsignGrad", "SiluGrad",
                     "FastGeluGrad", "MishGrad", "HardSwishGrad", "LogSigmoidGrad", "GeluGradV2"), _PAIR),
    "LeakyReluGrad": Sample([data(2, 3), data(2, 3, high=3)], {"negative_slope": 0.25}),
    "ThresholdGradV2D": Sample([data(2, 3), data(2, 3, high=3)], {"threshold": 0.5}),
    "SwishGrad": Sample([data(2, 3), data(2, 3, high=3), data(2, 3, high=4)], {"scale": 0.5}),
    "GeluGrad": Sample([data(2, 3), data(2, 3, high=3), data(2, 3, high=4)], loose=4),
    "ReluGradV2": Sample([data(2, 11), fixed([[0xA5, 3], [0x18, 4]], "uint8")]),
}  # fmt: skip
