"""Samples of matrix products."""

from __future__ import annotations

from tests.helpers.samples import Sample, data

SAMPLES = {
    **{name: Sample([data(2, 3), data(3, 4), data(4)]) for name in ("MatMul", "MatMulV2", "MatMulV3")},
    "BatchMatMul": Sample([data(2, 2, 3), data(2, 3, 4)]),
    "BatchMatMulV2": Sample([data(2, 2, 3), data(2, 3, 4)]),
    "BiasAdd": Sample([data(2, 3, 4), data(4)]),
    "Dot": Sample([data(5), data(5, high=3)]),
}
