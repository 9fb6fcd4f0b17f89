"""Training steps."""

from __future__ import annotations

import numpy as np

from tests.helpers.samples._sample import Operand, Sample, data, fixed


def _slots(count: int) -> list[Operand]:
    """Variables and slots: the latter positive, as sums of squares are."""
    return [data(2, 3), *[data(2, 3, low=0.5 + place, high=4) for place in range(count - 1)]]


def _rates(count: int) -> list[Operand]:
    return [data(low=0.1 + place / 100, high=0.9) for place in range(count)]


_GRADIENT = data(2, 3, low=-1, high=1)

SAMPLES = {
    "ApplyAdaMax": Sample([*_slots(3), *_rates(5), _GRADIENT]),
    "ApplyAdaMaxD": Sample([*_slots(3), *_rates(5), _GRADIENT]),
    "ApplyAdadelta": Sample([*_slots(3), *_rates(3), _GRADIENT]),
    "ApplyAdadeltaD": Sample([*_slots(3), *_rates(3), _GRADIENT]),
    "ApplyAdagrad": Sample([*_slots(2), *_rates(1), _GRADIENT]),
    "ApplyAdagradD": Sample([*_slots(2), *_rates(1), _GRADIENT]),
    "ApplyAdagradDA": Sample([*_slots(3), _GRADIENT, *_rates(3), fixed(3, np.int32)]),
    "ApplyAdagradDAD": Sample([*_slots(3), _GRADIENT, *_rates(3), fixed(3, np.int32)]),
    "ApplyAdagradV2": Sample([*_slots(2), *_rates(2), _GRADIENT]),
    "ApplyAdagradV2D": Sample([*_slots(2), *_rates(1), _GRADIENT], {"epsilon": 0.1}),
    "ApplyAdam": Sample([*_slots(3), *_rates(6), _GRADIENT]),
    "ApplyAdamD": Sample([*_slots(3), *_rates(6), _GRADIENT]),
    "ApplyAdamW": Sample([*_slots(3), *_rates(7), _GRADIENT]),
    "ApplyAdamWithAmsgrad": Sample([*_slots(4), *_rates(6), _GRADIENT]),
    "ApplyAdamWithAmsgradD": Sample(
        [*_slots(4), *_rates(3), _GRADIENT], {"beta1": 0.5, "beta2": 0.75, "epsilon": 0.125}
    ),
    "ApplyAdamWithAmsgradV2": Sample([*_slots(4), *_rates(6), _GRADIENT]),
    "ApplyAddSign": Sample([*_slots(2), *_rates(4), _GRADIENT]),
    "ApplyAddSignD": Sample([*_slots(2), *_rates(4), _GRADIENT]),
    "ApplyCenteredRMSProp": Sample([*_slots(4), *_rates(4), _GRADIENT]),
    "ApplyCenteredRMSPropD": Sample([*_slots(4), *_rates(4), _GRADIENT]),
    "ApplyFtrl": Sample([*_slots(3), _GRADIENT, *_rates(3), data(low=-0.5, high=-0.25)]),
    "ApplyFtrlD": Sample([*_slots(3), _GRADIENT, *_rates(3), data(low=-0.5, high=-0.25)]),
    "ApplyFtrlV2": Sample([*_slots(3), _GRADIENT, *_rates(4), data(low=-0.5, high=-0.25)]),
    "ApplyFtrlV2D": Sample([*_slots(3), _GRADIENT, *_rates(4), data(low=-0.5, high=-0.25)]),
    "ApplyGradientDescent": Sample([*_slots(1), *_rates(1), _GRADIENT]),
    "ApplyKerasMomentum": Sample([*_slots(2), *_rates(1), _GRADIENT, *_rates(1)]),
    "ApplyKerasMomentumD": Sample([*_slots(2), *_rates(1), _GRADIENT, *_rates(1)]),
    "ApplyMomentum": Sample([*_slots(2), *_rates(1), _GRADIENT, *_rates(1)]),
    "ApplyMomentumD": Sample([*_slots(2), *_rates(1), _GRADIENT, *_rates(1)]),
    "ApplyPowerSign": Sample([*_slots(2), *_rates(4), _GRADIENT]),
    "ApplyPowerSignD": Sample([*_slots(2), *_rates(4), _GRADIENT]),
    "ApplyProximalAdagrad": Sample([*_slots(2), *_rates(3), _GRADIENT]),
    "ApplyProximalAdagradD": Sample([*_slots(2), *_rates(3), _GRADIENT]),
    "ApplyProximalGradientDescent": Sample([*_slots(1), *_rates(3), _GRADIENT]),
    "ApplyRMSProp": Sample([*_slots(3), *_rates(4), _GRADIENT]),
    "ApplyRMSPropD": Sample([*_slots(3), *_rates(1), _GRADIENT], {"rho": 0.5, "momentum": 0.25, "epsilon": 0.125}),
    "FusedMulApplyKerasMomentum": Sample([*_slots(2), *_rates(1), _GRADIENT, *_rates(2)]),
    "FusedMulApplyMomentum": Sample([*_slots(2), *_rates(1), _GRADIENT, *_rates(2)]),
    "SGD": Sample(
        [data(2, 3), _GRADIENT, *_rates(1), data(2, 3, low=0.5, high=4), *_rates(1), data(2, 3, low=-1, high=2)]
    ),
}
