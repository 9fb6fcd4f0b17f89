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
    "ApplyAdaMaxD": Sample([*_slots(3), *_rates(5), _GRADIENT]),
    "ApplyAdadeltaD": Sample([*_slots(3), *_rates(3), _GRADIENT]),
    "ApplyAdagradD": Sample([*_slots(2), *_rates(1), _GRADIENT]),
    "ApplyAdagradDAD": Sample([*_slots(3), _GRADIENT, *_rates(3), fixed(3, np.int32)]),
    "ApplyAdagradV2D": Sample([*_slots(2), *_rates(1), _GRADIENT], {"epsilon": 0.1}),
    "ApplyAdamD": Sample([*_slots(3), *_rates(6), _GRADIENT]),
    "ApplyAdamW": Sample([*_slots(3), *_rates(7), _GRADIENT]),
    "ApplyAdamWithAmsgradD": Sample(
        [*_slots(4), *_rates(3), _GRADIENT], {"beta1": 0.5, "beta2": 0.75, "epsilon": 0.125}
    ),
    "ApplyAdamWithAmsgradV2": Sample([*_slots(4), *_rates(6), _GRADIENT]),
    "ApplyAddSignD": Sample([*_slots(2), *_rates(4), _GRADIENT]),
    "ApplyCenteredRMSPropD": Sample([*_slots(4), *_rates(4), _GRADIENT]),
    "ApplyFtrlD": Sample([*_slots(3), _GRADIENT, *_rates(3), data(low=-0.5, high=-0.25)]),
    "ApplyFtrlV2D": Sample([*_slots(3), _GRADIENT, *_rates(4), data(low=-0.5, high=-0.25)]),
    "ApplyGradientDescent": Sample([*_slots(1), *_rates(1), _GRADIENT]),
    "ApplyKerasMomentumD": Sample([*_slots(2), *_rates(1), _GRADIENT, *_rates(1)]),
    "ApplyMomentumD": Sample([*_slots(2), *_rates(1), _GRADIENT, *_rates(1)]),
    "ApplyPowerSignD": Sample([*_slots(2), *_rates(4), _GRADIENT]),
    "ApplyProximalAdagradD": Sample([*_slots(2), *_rates(3), _GRADIENT]),
    "ApplyProximalGradientDescent": Sample([*_slots(1), *_rates(3), _GRADIENT]),
    "ApplyRMSPropD": Sample([*_slots(3), *_rates(1), _GRADIENT], {"rho": 0.5, "momentum": 0.25, "epsilon": 0.125}),
    "FusedMulApplyKerasMomentum": Sample([*_slots(2), *_rates(1), _GRADIENT, *_rates(2)]),
    "FusedMulApplyMomentum": Sample([*_slots(2), *_rates(1), _GRADIENT, *_rates(2)]),
}
