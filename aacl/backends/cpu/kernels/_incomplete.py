"""The incomplete gamma and beta functions, regularised, in float64."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._faddeeva import erfc
from aacl.backends.cpu.kernels._gamma import lgamma, stirling_rest

if TYPE_CHECKING:
    from collections.abc import Callable

    from aacl.abc import Array

__all__ = ("betainc", "igamma", "igammac")

_LARGE = 1e5
"""From this parameter on the uniform expansion is used: its error is below 1e-10 there, and the others are slow."""
_MOST = 20_000
_TINY = 1e-300
_ENOUGH = 5e-16
"""A factor this near to 1 ends a continued fraction."""


def igamma(a: Array, x: Array) -> Array:
    """Return P(a, x), the lower one; NaN unless a is positive and x not negative."""
    return _incomplete_gamma(a, x, is_lower=True)


def igammac(a: Array, x: Array) -> Array:
    """Return ``Q(a, x) = 1 - P(a, x)``, in full precision in its tail."""
    return _incomplete_gamma(a, x, is_lower=False)


def _incomplete_gamma(a: Array, x: Array, *, is_lower: bool) -> Array:
    a, x = np.broadcast_arrays(a, x)
    invalid = ~((a > 0) & (x >= 0)) | np.isinf(a)
    ends = (x == 0) | np.isinf(x)
    safe_a, safe_x = np.where(invalid | ends, 1.0, a), np.where(invalid | ends, 1.0, x)
    below = (safe_x <= 1) | (safe_x < safe_a)
    large = safe_a > _LARGE
    series, fraction = below & ~large, ~below & ~large
    lower, upper = np.zeros(a.shape), np.zeros(a.shape)
    for chosen, function, is_upper in ((series, _series, False), (fraction, _fraction, True), (large, _uniform, True)):
        if chosen.any():
            value = function(safe_a[chosen], safe_x[chosen])
            lower[chosen], upper[chosen] = (1 - value, value) if is_upper else (value, 1 - value)
    result = lower if is_lower else upper
    result = np.where(ends, np.where((x == 0) == is_lower, 0.0, 1.0), result)
    return np.where(
        invalid, np.where(np.isinf(a) & (x >= 0) & np.isfinite(x), 0.0 if is_lower else 1.0, np.nan), result
    )


def _prefix(a: Array, x: Array) -> Array:
    """Return ``x^a e^-x / gamma(a)``; of large parameters near x without the cancellation."""
    large = a >= 10
    far = np.where(large, a, 10.0)
    away = (x - far) / far
    near = far * (np.log1p(away) - away) + 0.5 * np.log(far / (2 * math.pi)) - stirling_rest(far)
    return np.asarray(np.exp(np.where(large, near, a * np.log(x) - x - lgamma(a))))


def _series(a: Array, x: Array) -> Array:
    term = total = 1 / a
    for step in range(1, _MOST):
        term = term * x / (a + step)
        total = total + term
        if (term <= total * 1e-17).all():
            break
    return np.asarray(total * _prefix(a, x))


def _fraction(a: Array, x: Array) -> Array:
    value = _continued(x + 1 - a, lambda step: -step * (step - a), lambda step: x + 2 * step + 1 - a)
    return np.asarray(_prefix(a, x) / value)


def _uniform(a: Array, x: Array) -> Array:
    """Return Temme's uniform expansion with one correction."""
    away = (x - a) / a
    bent = np.sign(away) * np.sqrt(np.maximum(2 * (away - np.log1p(away)), 0))
    close = np.abs(away) < 1e-3
    inner = np.where(close, 1.0, away), np.where(close, 1.0, bent)
    correction = np.where(close, -1 / 3 + bent / 12, 1 / inner[0] - 1 / inner[1])
    tail = 0.5 * erfc(bent * np.sqrt(a / 2))
    return np.asarray(tail + np.exp(-0.5 * a * np.square(bent)) / np.sqrt(2 * math.pi * a) * correction)


def betainc(a: Array, b: Array, x: Array) -> Array:
    """Return I_x(a, b); NaN unless a and b are positive and x lies in [0, 1]."""
    a, b, x = np.broadcast_arrays(a, b, x)
    invalid = ~((a > 0) & (b > 0) & (x >= 0) & (x <= 1))
    a, b, x = np.where(invalid, 1.0, a), np.where(invalid, 1.0, b), np.where(invalid, 0.5, x)
    swapped = x > (a + 1) / (a + b + 2)
    left, right = np.where(swapped, b, a), np.where(swapped, a, b)
    place = np.where(swapped, 1 - x, x)
    logs = lgamma(left + right) - lgamma(left) - lgamma(right)
    front = np.exp(logs + left * np.log(place) + right * np.log1p(-place)) / left
    value = front / _beta_fraction(left, right, place)
    result = np.where(swapped, 1 - value, value)
    result = np.where(x == 0, 0.0, np.where(x == 1, 1.0, result))
    return np.where(invalid, np.nan, result)


def _beta_fraction(a: Array, b: Array, x: Array) -> Array:
    def numerator(step: int) -> Array:
        half = step // 2
        if step % 2 == 0:
            return np.asarray(half * (b - half) * x / ((a + step - 1) * (a + step)))
        return np.asarray(-(a + half) * (a + b + half) * x / ((a + step - 1) * (a + step)))

    ones = np.ones_like(x)
    return _continued(ones, numerator, lambda _: ones)


def _continued(first: Array, numerator: Callable[[int], Array], denominator: Callable[[int], Array]) -> Array:
    """Return ``first + n1 / (d1 + n2 / (d2 + ...))``, by Lentz's method."""
    value = np.where(first == 0, _TINY, first)
    above, below = value, np.zeros_like(value)
    for step in range(1, _MOST):
        top, bottom = numerator(step), denominator(step)
        below = bottom + top * below
        below = 1 / np.where(below == 0, _TINY, below)
        above = bottom + top / above
        above = np.where(above == 0, _TINY, above)
        change = above * below
        value = value * change
        if (np.abs(change - 1) < _ENOUGH).all():
            break
    return value
