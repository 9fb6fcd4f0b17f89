"""Samples of normalisations over channels, groups of them, or listed axes."""

from __future__ import annotations

from tests.helpers.samples import Sample, data

__all__ = ("SAMPLES",)

_PICTURE = data(2, 4, 3, 2)
_SCALE, _SHIFT = data(4, low=0.5), data(4)
_GROUPS = {"num_groups": 2, "data_format": "NCHW"}

SAMPLES = {
    "GroupNorm": Sample([_PICTURE, _SCALE, _SHIFT], _GROUPS),
    "GroupNormRelu": Sample([_PICTURE, _SCALE, _SHIFT], {"num_groups": 2}),
    "GroupNormSilu": Sample([_PICTURE, _SCALE, _SHIFT], {"num_groups": 2}),
    "GroupNormV2": Sample([_PICTURE, _SCALE, _SHIFT], _GROUPS),
    "InstanceNorm": Sample([_PICTURE, _SCALE, _SHIFT], {"data_format": "NCHW"}),
    "L2Normalize": Sample([data(2, 3)], {"axis": [1]}),
    "LRN": Sample([_PICTURE], {"depth_radius": 1}),
    "MVN": Sample([_PICTURE]),
    "MVNV2": Sample([_PICTURE]),
    "Renorm": Sample([data(3, 4)], {"p": 2.0, "dim": 0, "maxnorm": 1.5}),
    "Scale": Sample([_PICTURE, _SCALE, _SHIFT]),
}
