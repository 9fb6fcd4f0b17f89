"""Inverses of the error function and of the normal distribution, in float64.

A closed approximation within 2e-3 (Winitzki's), then Halley steps on the error functions themselves.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._faddeeva import erf_near, erfc

if TYPE_CHECKING:
    from aacl.abc import Array

__all__ = ("erfinv", "ndtri")

_NEAR_STEPS, _TAIL_STEPS = 2, 3
_A = 0.147


def erfinv(y: Array) -> Array:
    """Return the inverse of erf: infinite at -1 and 1, NaN beyond."""
    small = np.abs(y) < 0.5
    return np.asarray(np.where(small, _near(np.where(small, y, 0)), np.copysign(_tail(1 - np.abs(y)), y)))


def ndtri(p: Array) -> Array:
    """Return the normal distribution's quantile: infinite at 0 and 1, NaN beyond."""
    upper = p > 0.5
    middle = np.abs(p - 0.5) < 0.25
    inner = math.sqrt(2) * _near(np.where(middle, 2 * p - 1, 0))
    outer = math.sqrt(2) * _tail(2 * np.where(upper, 1 - p, p))
    return np.asarray(np.where(middle, inner, np.where(upper, outer, -outer)))


def _start(product: Array) -> Array:
    """Return about the inverse of erf at y, given ``1 - y^2``."""
    log = np.log(product)
    half = 2 / (math.pi * _A) + log / 2
    return np.asarray(np.sqrt(np.sqrt(np.square(half) - log / _A) - half))


def _near(y: Array) -> Array:
    """Return the inverse of erf, for numbers that are not close to 1."""
    x = np.copysign(_start(1 - np.square(y)), y)
    for _ in range(_NEAR_STEPS):
        step = (erf_near(x) - y) * (math.sqrt(math.pi) / 2) * np.exp(np.square(x))
        x = x - step / (1 + x * step)
    return x


def _tail(q: Array) -> Array:
    """Return the inverse of erfc, for numbers up to 1."""
    x = _start(np.clip(q * (2 - q), 1e-320, 1))
    for _ in range(_TAIL_STEPS):
        with_tail = erfc(x)
        step = (with_tail - q) * (math.sqrt(math.pi) / 2) * np.exp(np.square(x))
        x = x + step / (1 - x * step)
    x = np.where(q == 0, np.inf, x)
    return np.asarray(np.where((q < 0) | np.isnan(q), np.nan, x))
