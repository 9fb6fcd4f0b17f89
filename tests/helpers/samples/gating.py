"""Samples of activations that cut an axis in halves."""

from __future__ import annotations

from tests.helpers.samples import Sample, data

SAMPLES = {
    "GLU": Sample([data(2, 6)]),
    "SwiGlu": Sample([data(2, 6)]),
    "GeGluV2": Sample([data(2, 6)], loose=4),
    "GLUGrad": Sample([data(2, 3), data(2, 6)]),
    "SwiGluGrad": Sample([data(2, 3), data(2, 6)]),
    "GeGluGradV2": Sample([data(2, 3), data(2, 6), data(2, 3, low=-0.1)], loose=4),
}
