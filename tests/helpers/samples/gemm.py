"""The product that BLAS knows as gemm."""

from __future__ import annotations

from tests.helpers.samples import Sample, data

SAMPLES = {
    "GEMM": Sample([data(2, 3), data(3, 4), data(2, 4), data(1, low=1, high=2), data(1, low=1, high=2)]),
}
