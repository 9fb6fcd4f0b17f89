"""Samples of special functions."""

from __future__ import annotations

from tests.helpers.samples import Sample, data

_POSITIVE = data(2, 3, low=0.5, high=4)

SAMPLES = {
    **{name: Sample([data(2, 3)], loose=2) for name in ("BesselI0e", "BesselI1e", "Dawsn", "Erfc", "FresnelCos",
                                                      "FresnelSin")},
    **{name: Sample([_POSITIVE], loose=2) for name in ("Digamma", "Expint", "Lgamma", "Spence")},
    "Erfinv": Sample([data(2, 3, low=-0.9, high=0.9)], loose=2),
    "Ndtri": Sample([data(2, 3, low=0.1, high=0.9)], loose=2),
    **{name: Sample([_POSITIVE, data(2, 3, low=0.5, high=5)]) for name in ("Igamma", "Igammac")},
    "Betainc": Sample([_POSITIVE, data(2, 3, low=0.5, high=5), data(2, 3, low=0, high=1)]),
    "Zeta": Sample([data(2, 3, low=1.5, high=4), _POSITIVE]),
}  # fmt: skip
