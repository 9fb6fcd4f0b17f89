"""Samples of comparisons and selections."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples import Sample, data, fixed

_PAIR = Sample([data(2, 3), data(2, 3, low=-1, high=1)])
_MASK = fixed([[True, False, True], [False, False, True]], np.bool_)

SAMPLES = {
    **dict.fromkeys(("Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual", "LogicalAnd", "LogicalOr", "ApproximateEqual", "IsClose", "TensorEqual"), _PAIR),
    **{name: Sample([data(2, 3)]) for name in ("LogicalNot", "IsNan", "IsInf", "IsFinite", "IsPosInf", "IsNegInf")},
    **{name: Sample([_MASK, data(2, 3), data(2, 3, high=3)]) for name in ("Select", "SelectV2")},
}  # fmt: skip
