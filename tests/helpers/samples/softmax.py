"""Samples of softmax and its kin."""

from __future__ import annotations

from tests.helpers.samples import Sample, data

SAMPLES = {name: Sample([data(2, 3)]) for name in ("Softmax", "SoftmaxV2", "LogSoftmax", "LogSoftmaxV2")}
