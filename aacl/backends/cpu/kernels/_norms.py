"""Norms over axes, and sums over neighbours along an axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._sums import summed

if TYPE_CHECKING:
    from aacl.abc import Array

__all__ = ("p_norm", "window_sum")


def p_norm(x: Array, p: float, axes: tuple[int, ...]) -> Array:
    """Return the p-norm with 1 on the axes; infinite p is the maximum, 0 over nothing."""
    size = np.absolute(x)
    if math.isinf(p):
        return np.maximum.reduce(size, axes, keepdims=True, initial=0)
    if p == 2:
        return np.sqrt(summed(np.multiply(size, size, size), axes, keepdims=True))
    total = summed(size if p == 1 else np.power(size, p, size), axes, keepdims=True)
    return total if p == 1 else np.power(total, 1 / p, dtype=total.dtype)


def window_sum(x: Array, axis: int, radius: int) -> Array:
    """Return at each place of an axis the sum of the places at most a radius away."""
    total, line = x.copy(), np.moveaxis(x, axis, 0)
    into = np.moveaxis(total, axis, 0)
    for distance in range(1, min(radius, line.shape[0] - 1) + 1):
        into[distance:] += line[:-distance]
        into[:-distance] += line[distance:]
    return total
