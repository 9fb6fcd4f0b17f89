"""Samples of divisions."""

from __future__ import annotations

from tests.helpers.samples import Sample, data

SAMPLES = {
    **{name: Sample([data(2, 3, low=-9, high=9), data(2, 3, low=1, high=3)])
       for name in ("Div", "RealDiv", "FloorDiv", "TruncateDiv", "FloorMod", "DivNoNan")},
    "Reciprocal": Sample([data(2, 3, low=1, high=3)]),
    "Rsqrt": Sample([data(2, 3, low=1, high=3)]),
}  # fmt: skip
