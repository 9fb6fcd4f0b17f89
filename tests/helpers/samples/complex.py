"""Samples of operators on complex numbers."""

from __future__ import annotations

from tests.helpers.samples import Sample, data

SAMPLES = {
    "Complex": Sample([data(2, 3), data(2, 3, high=3)]),
    **{name: Sample([data(2, 3)]) for name in ("Real", "Imag", "Conj", "ComplexAbs", "Angle", "AngleV2")},
}
