"""Samples of activations that compare with a threshold."""

from __future__ import annotations

from tests.helpers.samples import Sample, data

SAMPLES = {
    "Threshold": Sample([data(2, 3)], {"threshold": 0.5}),
    "ThresholdV2": Sample([data(2, 3), data(1, low=1, high=1.5), data(1, low=2, high=2.5)]),
    "ThresholdV2D": Sample([data(2, 3)], {"threshold": 0.5, "value": 7.0}),
    "ThresholdedRelu": Sample([data(2, 3)], {"alpha": 0.5}),
    "HardShrink": Sample([data(2, 3)]),
    "SoftShrink": Sample([data(2, 3)]),
    "Shrink": Sample([data(2, 3)], {"bias": 0.25}),
    "Relu6D": Sample([data(2, 3, low=-9, high=9)], {"scale": 0.5}),
    "ReluV2": Sample([data(2, 19)]),
    "PRelu": Sample([data(2, 3, 4), data(3)]),
    "HardMax": Sample([data(2, 3)], {"axis": 0}),
}
