"""The Gaussian error linear unit's gate and slope, exact and in the tanh form."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._erf import erf

if TYPE_CHECKING:
    from aacl.abc import Array

__all__ = ("gate", "slope")


def gate(x: Array, is_tanh: bool) -> Array:
    """Return what gelu multiplies x by: the normal distribution's probability below x, or the tanh form of it."""
    if is_tanh:
        result = _inner(x)
        np.tanh(result, result)
    else:
        result = np.multiply(x, math.sqrt(0.5), np.empty_like(x))  # an array for a 0-d input too
        erf(result, result)
    np.add(result, 1, result)
    np.multiply(result, 0.5, result)
    return result


def slope(x: Array, is_tanh: bool) -> Array:
    """Return the derivative of gelu."""
    if not is_tanh:
        # Where the density is 0 already, an infinite x would make it NaN.
        density = np.exp(np.square(x) * -0.5) / math.sqrt(2 * math.pi)
        return np.asarray(gate(x, False) + np.where(np.isinf(x), 0, x) * density)
    bent = np.tanh(_inner(x))
    inner_slope = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * np.square(x))
    near = 0.5 * np.where(np.isinf(x), 0, x * inner_slope) * (1 - np.square(bent))
    return np.asarray(0.5 * (1 + bent) + near)


def _inner(x: Array) -> Array:
    """Return ``sqrt(2 / pi) * (x + 0.044715 * x^3)``."""
    inner = np.multiply(x, x, np.empty_like(x))
    np.multiply(inner, 0.044715, inner)
    np.add(inner, 1, inner)
    np.multiply(inner, x, inner)
    np.multiply(inner, math.sqrt(2 / math.pi), inner)
    return inner
