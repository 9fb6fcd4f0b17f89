"""Functions of ``e^x`` in float32 without the loss of digits near 0, from those that NumPy has vector loops for.

NumPy computes ``expm1``, ``log1p`` and ``logaddexp`` one by one in the C library, five to ten times as slow as
``tanh``, ``exp`` and ``log``. Other dtypes than float32 have no such loops either way, and keep NumPy's functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from aacl.abc import Array

__all__ = ("negative_expm1", "softplus")


def negative_expm1(x: Array) -> Array:
    """Return ``e^x - 1`` of numbers that are not above 0; float32 within 2 units in the last place.

    That is ``2 t / (1 - t)`` with ``t = tanh(x / 2)``, whose divisor lies between 1 and 2, so that nothing cancels.
    """
    if x.dtype != np.float32:
        return np.asarray(np.expm1(x))
    half = np.multiply(x, np.float32(0.5), np.empty_like(x))
    np.tanh(half, half)
    below = np.subtract(np.float32(1), half)
    np.add(half, half, half)
    np.divide(half, below, half)
    return half


def softplus(x: Array, out: Array | None = None) -> Array:
    """Return ``log(1 + e^x)`` without overflow, in an array of its own unless there is an output, which may be x.

    For float32 ``max(x, 0) + log(1 + u)`` with ``u = e^-|x|``, within 4 units in the last place. What the sum ``v``
    of 1 and u loses of u, the factor ``u / (v - 1)`` gives back; where nothing is left of u, it is the logarithm.
    """
    if x.dtype != np.float32:
        return np.asarray(np.logaddexp(0, x, out))
    power, total, found = (np.empty_like(x) for _ in range(3))
    np.negative(np.abs(x, power), power)
    np.exp(power, power)
    np.add(power, np.float32(1), total)
    np.log(total, found)
    np.subtract(total, np.float32(1), total)
    lost = np.equal(total, 0)
    np.divide(power, total, total)
    np.multiply(found, total, found)
    np.copyto(found, power, where=lost)
    return np.asarray(np.add(np.maximum(x, 0), found, out))
