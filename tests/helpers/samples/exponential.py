"""Samples of powers, exponentials and logarithms."""

from __future__ import annotations

from tests.helpers.samples import Sample, data

SAMPLES = {
    "Exp": Sample([data(2, 3)]),
    "Log": Sample([data(2, 3, low=1, high=4)]),
    "Pow": Sample([data(2, 3, low=1, high=3), data(2, 3, low=0, high=2)]),
}
