"""Random numbers and choices, and dropout."""

from __future__ import annotations

import numpy as np

from aacl.dtypes import DataType
from tests.helpers.samples._sample import Operand, Sample, data, fixed, host

_SHAPE = host([2, 3], np.int32)
_SEED = fixed([3, 4], np.int64)
_KEY = [fixed([3], np.uint64), fixed([5, 0], np.uint64), fixed(1, np.int32)]
_CHANCES = data(2, 3, low=0.1, high=0.9)
_OFFSETS = [fixed([3], np.int64), fixed([0], np.int64)]


def _one(value: float) -> Operand:
    return data(low=value, high=value)


SAMPLES = {
    "Bernoulli": Sample([data(2, 3), fixed(0.5, np.float32)], {"seed": 5}),
    "DropOutDoMask": Sample([data(2, 3), fixed([5] + [0] * 15, np.uint8), _one(0.5)]),
    "DropOutDoMaskV3": Sample([data(2, 3), fixed([[1, 0, 1], [0, 1, 1]], np.uint8), _one(0.5)]),
    "DropOutDoMaskV3D": Sample([data(2, 3), fixed([[1, 0, 1], [0, 1, 1]], np.uint8)], {"keep_prob": 0.5}),
    "DropOutGenMask": Sample([_SHAPE, fixed(0.5, np.float32)], {"seed": 5}),
    "DropOutGenMaskV3": Sample([_SHAPE, fixed(0.5, np.float32)], {"seed": 5}),
    "DropOutGenMaskV4": Sample([_SHAPE, fixed(0.5, np.float32)], {"seed": 5}),
    "Dropout": Sample([data(2, 3)]),
    "DropoutV2": Sample([data(2, 3), fixed([5, 6], np.float32)], {"p": 0.5}),
    "Exponential": Sample([data(2, 3)], {"seed": 5}),
    "Geometric": Sample([data(2, 3)], {"p": 0.5, "seed": 5}),
    "Multinomial": Sample([data(2, 3), host(4, np.int32)], {"seed": 5}),
    "MultinomialFuss": Sample([data(2, 3)], {"dtype": 6, "sample_size": 4, "seed": 5.0}),
    "MultinomialWithReplacement": Sample([_CHANCES, *_OFFSETS], {"numsamples": 2}),
    "Normal": Sample([data(2, 3), _CHANCES], is_random=True),
    "ParameterizedTruncatedNormal": Sample([_SHAPE, *map(_one, (0, 1, -1, 2))], {"seed": 5}),
    "Poisson": Sample([_CHANCES], {"seed": 5}),
    "RandomChoiceWithMask": Sample([fixed([[1, 0, 1], [0, 1, 1]], np.bool_)], {"count": 2, "seed": 5}),
    "RandomGamma": Sample([_SHAPE, data(2, low=0.5)], {"seed": 5}),
    "RandomPoisson": Sample([_SHAPE, data(2, low=0.5)], {"seed": 5}),
    "RandomShuffle": Sample([data(4, 3)], {"seed": 5}),
    "RandomStandardNormal": Sample([_SHAPE], {"dtype": DataType.FLOAT, "seed": 5}),
    "RandomUniform": Sample([_SHAPE], {"dtype": DataType.FLOAT, "seed": 5}),
    "RandomUniformInt": Sample([_SHAPE, _one(-2), _one(5)], {"seed": 5}),
    "Randperm": Sample([], {"n": 5}, is_random=True),
    "StatelessBernoulli": Sample([_SHAPE, _one(0.5), *_OFFSETS]),
    "StatelessBernoulliV2": Sample([_CHANCES, *_OFFSETS]),
    "StatelessDropOutGenMask": Sample([_SHAPE, fixed(0.5, np.float32), fixed(3, np.int64), fixed(4, np.int64)]),
    "StatelessMultinomial": Sample([data(2, 3), host(4, np.int32), _SEED]),
    "StatelessParameterizedTruncatedNormal": Sample([_SHAPE, _SEED, *map(_one, (0, 1, -1, 2))]),
    "StatelessRandomBinomial": Sample([_SHAPE, _SEED, _one(4), _one(1)]),
    "StatelessRandomGammaV2": Sample([_SHAPE, _SEED, data(3, low=0.5)]),
    "StatelessRandomGetAlg": Sample([]),
    "StatelessRandomGetKeyCounter": Sample([_SEED]),
    "StatelessRandomGetKeyCounterAlg": Sample([_SEED]),
    "StatelessRandomNormalV2": Sample([_SHAPE, *_KEY]),
    "StatelessRandomPoisson": Sample([_SHAPE, _SEED, data(3, low=0.5)], {"dtype": DataType.INT32}),
    "StatelessRandomUniformFullInt": Sample([_SHAPE, _SEED]),
    "StatelessRandomUniformFullIntV2": Sample([_SHAPE, *_KEY]),
    "StatelessRandomUniformInt": Sample([_SHAPE, _SEED, _one(-2), _one(5)]),
    "StatelessRandomUniformIntV2": Sample([_SHAPE, *_KEY, _one(1), _one(5)]),
    "StatelessRandomUniformV2": Sample([_SHAPE, *_KEY]),
    "StatelessRandperm": Sample([host(5), *_OFFSETS]),
    "StatelessTruncatedNormalV2": Sample([_SHAPE, *_KEY]),
    "TruncatedNormal": Sample([_SHAPE], {"seed": 5}),
    "Uniform": Sample([data(2, 3)], is_random=True),
}
