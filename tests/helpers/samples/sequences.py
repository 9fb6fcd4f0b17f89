"""Samples of numbers in steps, constants, shapes as numbers, and views."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples import Sample, data, fixed, host

_NUMBER = host(5, np.int32)
_ENDS = [fixed(0.5, np.float32), fixed(2, np.float32)]
_SHAPES = [host([3, 1]), host([2, 3, 1])]

SAMPLES = {
    "LinSpace": Sample([*_ENDS, _NUMBER]),
    "LinSpaceD": Sample([fixed(np.arange(5), np.float32), *_ENDS, _NUMBER]),
    "LogSpaceD": Sample([data(4)], {"start": 0.0, "end": 2.0, "steps": 4, "dtype": 0}),
    "RangeD": Sample([data(4)], {"start": 1.0, "limit": 8.0, "delta": 2.0}),
    "FillV2": Sample([host([2, 3])], {"value": 1.5}),
    "FillV2D": Sample([], {"dims": [2, 3], "value": 1.5}),
    "ShapeN": Sample([data(2, 3), data(4)]),
    "ConcatOffset": Sample([host(1, np.int32), host([2, 3], np.int32), host([2, 4], np.int32)], {"N": 2}),
    "ConcatOffsetD": Sample([host([2, 3], np.int32), host([2, 4], np.int32)], {"concat_dim": 1, "N": 2}),
    "BroadcastArgs": Sample(_SHAPES),
    "BroadcastGradientArgs": Sample(_SHAPES),
    "IdentityN": Sample([data(2, 3), data(4)]),
    "Bitcast": Sample([fixed([[1.0, -2.0]], np.float32)], {"type": "UINT16"}),
    "EnsureShape": Sample([data(2, 3)], {"shape": [-1, 3]}),
    "GuaranteeConst": Sample([data(2, 3)]),
    "PlaceholderWithDefault": Sample([data(2, 3)], {"shape": [2, 3]}),
    "PreventGradient": Sample([data(2, 3)]),
    "SqueezeV2": Sample([data(2, 1, 3)], {"axis": [1]}),
    "SqueezeV3": Sample([data(2, 1, 3), host([1])]),
    "UnsqueezeV2": Sample([data(2, 3)], {"axis": [1]}),
    "UnsqueezeV3": Sample([data(2, 3), host([0, -1])]),
    "TransShape": Sample([data(2, 3)], {"outShape": [3, 2]}),
}
