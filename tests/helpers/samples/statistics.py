"""Samples of norms, variances and sums of squares."""

from __future__ import annotations

from tests.helpers.samples import Sample, data, host

__all__ = ("SAMPLES",)

_X = data(3, 4)
_POSITIVE = data(3, 4, low=0.5, high=3)

SAMPLES = {
    "EuclideanNorm": Sample([_X, host([1])]),
    "EuclideanNormD": Sample([_X], {"axes": [1]}),
    "FusedMulAddNL2loss": Sample([_X, data(3, 4, high=1), data(1)]),
    "L2Loss": Sample([_X]),
    "LpNorm": Sample([_X], {"axes": [1]}),
    "LpNormReduce": Sample([_X], {"axes": [1]}),
    "LpNormReduceV2": Sample([_X], {"axes": [1], "p": 1.5}),
    "LpNormUpdate": Sample([_POSITIVE]),
    "LpNormUpdateV2": Sample([_POSITIVE], {"p": 1.5}),
    "LpNormV2": Sample([_X], {"axes": [1], "p": 1.5}),
    "ReduceLogSum": Sample([_POSITIVE, host([1])]),
    "ReduceMeanVariance": Sample([_X], {"axes": [1]}),
    "ReduceNansum": Sample([_X, host([1])]),
    "ReduceStd": Sample([_X], {"dim": [1]}),
    "ReduceStdV2Update": Sample([_X, data(3, 1, high=1)], {"dim": [1]}),
    "ReduceStdWithMean": Sample([_X, data(3, 1, high=1)], {"dim": [1]}),
    "SquareSumAll": Sample([_X, data(2, 3)]),
    "SquareSumV1": Sample([_X], {"axis": [1]}),
}
