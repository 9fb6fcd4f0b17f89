"""Samples of reductions."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples import Sample, data, host

_KINDS = ("Sum", "Mean", "Max", "Min", "Prod", "All", "Any")

SAMPLES = {
    **{f"Reduce{kind}": Sample([data(2, 3, 2), host([1])]) for kind in (*_KINDS, "LogSumExp")},
    **{f"Reduce{kind}D": Sample([data(2, 3, 2)], {"axes": [1]}) for kind in _KINDS},
    **{name: Sample([data(2, 3), host([1], np.int32)]) for name in ("ArgMax", "ArgMaxV2", "ArgMin")},
    **{name: Sample([data(2, 3)], {"dimension": 1}) for name in ("ArgMaxD", "ArgMinD")},
}
