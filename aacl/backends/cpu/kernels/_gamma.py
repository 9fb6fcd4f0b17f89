"""The gamma function's relatives in float64: its logarithm, that one's derivative, and the Hurwitz zeta function."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from aacl.abc import Array

__all__ = ("BERNOULLI", "digamma", "lgamma", "stirling_rest", "zeta")

BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
"""Bernoulli numbers B2, B4, ..."""
_SHIFT = 10
"""From this number on the asymptotic series are exact enough; smaller arguments are shifted by as much."""
_FARTHEST = 100_000
"""Steps that a negative second argument of zeta may be away from 0."""


def lgamma(x: Array) -> Array:
    """Return the logarithm of the absolute gamma function: infinite at 0 and negative integers.

    Near its zeros 1 and 2 the error is absolute, 1e-15.
    """
    reflected = x < 0.5
    y = np.where(reflected, 1 - x, x)
    shifted = y < _SHIFT
    product = np.where(shifted, y, 1.0)
    for step in range(1, _SHIFT):
        product = product * np.where(shifted, y + step, 1.0)
    far = np.where(shifted, y + _SHIFT, y)
    above = (far - 0.5) * np.log(far) - far + 0.5 * math.log(2 * math.pi) + stirling_rest(far) - np.log(product)
    sine = np.abs(np.sin(math.pi * (x - np.round(x))))
    result = np.where(reflected, math.log(math.pi) - np.log(sine) - above, above)
    return np.asarray(np.where(np.isinf(x), np.inf, result))


def stirling_rest(x: Array) -> Array:
    """Return what the logarithm of gamma has beyond Stirling's formula, from 10 on."""
    inverse, total = np.square(1 / x), np.zeros_like(x)
    for place in range(len(BERNOULLI), 0, -1):
        total = total * inverse + BERNOULLI[place - 1] / (2 * place * (2 * place - 1))
    return np.asarray(total / x)


def digamma(x: Array) -> Array:
    """Return the derivative of lgamma: -infinity at 0, NaN at negative integers (torch).

    Near its zeros the error is absolute, 1e-15.
    """
    reflected = x < 0.5
    y = np.where(reflected, 1 - x, x)
    shifted = y < _SHIFT
    away = np.zeros_like(y)
    for step in range(_SHIFT):
        away = away + 1 / (y + step)
    far = np.where(shifted, y + _SHIFT, y)
    inverse, total = np.square(1 / far), np.zeros_like(far)
    for place in range(len(BERNOULLI), 0, -1):
        total = total * inverse + BERNOULLI[place - 1] / (2 * place)
    above = np.log(far) - 0.5 / far - total * inverse - np.where(shifted, away, 0)
    turn = math.pi * (x - np.round(x))
    result = np.where(reflected, above - math.pi / np.tan(turn), above)
    poles = np.where(x == 0, np.copysign(np.inf, -x), np.nan)
    return np.asarray(np.where((x <= 0) & (x == np.round(x)), poles, result))


def zeta(x: Array, q: Array) -> Array:
    """Return ``sum((q + k) ** -x)`` over k from 0 on.

    Infinite where x is 1, or q is 0 or a negative integer; NaN where x is below 1, where q is negative and x is no
    integer, and where q is below -100,000. By the Euler-Maclaurin formula.
    """
    x, q = np.broadcast_arrays(x, q)
    total, place = np.zeros(x.shape), np.array(q)
    is_whole = np.floor(x) == x
    invalid = (x < 1) | np.isnan(x) | np.isnan(q) | ((q < 0) & ~is_whole) | (q < -_FARTHEST)
    place[invalid] = 1.0
    # The formula needs a start beyond the exponent; past 170 nothing but the terms before it is left.
    start = _SHIFT + np.clip(np.where(np.isnan(x), 1, x), 1, 170)
    while (near := place < start).any():
        total = total + np.where(near, np.power(np.where(near, place, 1.0), -x), 0)
        place = np.where(near, place + 1, place)
    tail = np.power(place, 1 - x) / (x - 1) + 0.5 * np.power(place, -x)
    factor = x * np.power(place, -x - 1)
    for index, number in enumerate(BERNOULLI, 1):
        tail = tail + number / math.factorial(2 * index) * factor
        factor = factor * (x + 2 * index - 1) * (x + 2 * index) / np.square(place)
    result = np.where((x == 1) | ((q <= 0) & (np.floor(q) == q)), np.inf, total + tail)
    result = np.where(np.isinf(x), np.where(q > 1, 0.0, np.where(q == 1, 1.0, np.inf)), result)
    return np.where(invalid, np.nan, result)
