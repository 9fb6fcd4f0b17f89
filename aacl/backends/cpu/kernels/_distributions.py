"""Distributions that NumPy's generators do not have, or not with a parameter an element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from aacl.abc import Array

__all__ = ("chosen", "truncated_normal", "without_replacement")


_FAR = 1e8
"""So far out in a tail float64 cannot tell its numbers from the bound."""


def truncated_normal(random: np.random.Generator, low: Array, high: Array) -> Array:
    """Return standard normal numbers within bounds, one for each pair of them.

    Rejection: from the normal itself where the bounds lie around 0, from the uniform or the exponential
    distribution where they lie in a tail (C. Robert, Simulation of truncated normal variables, 1995).

    Args:
        random: where the numbers come from.
        low: the bounds, float64; NaN gives NaN, and infinities on one side that infinity.
        high: of the same shape, above ``low``.
    """
    found = np.empty(low.shape)
    flat, least, most = found.reshape(-1), low.reshape(-1), high.reshape(-1)
    is_mirrored = most < -least  # work on the side where the interval reaches further above 0
    least, most = np.where(is_mirrored, -most, least), np.where(is_mirrored, -least, most)
    flat[...] = least
    rest = np.flatnonzero(least < _FAR)
    while rest.size:
        drawn, is_taken = _proposed(random, least[rest], most[rest])
        flat[rest[is_taken]] = drawn[is_taken]
        rest = rest[~is_taken]
    np.negative(flat, out=flat, where=is_mirrored)
    return found


def _proposed(random: np.random.Generator, low: Array, high: Array) -> tuple[Array, Array]:
    """Return one proposal an element and which to take."""
    count, chance = low.size, random.random(low.size)
    rate = (low + np.sqrt(low * low + 4)) / 2  # the best exponential for a tail
    width = high - low
    is_tail, is_narrow = low > 0, width < np.where(low > 0, 1 / rate, 1)
    flat = low + random.random(count) * np.where(is_narrow, width, 0)
    nearest = np.maximum(low, 0)
    tail = low + random.standard_exponential(count) / rate
    drawn = np.where(is_narrow, flat, np.where(is_tail, tail, random.standard_normal(count)))
    fits = np.where(is_narrow, np.exp((nearest * nearest - drawn * drawn) / 2), 1)
    fits = np.where(is_tail & ~is_narrow, np.exp(-((drawn - rate) ** 2) / 2), fits)
    return drawn, (drawn >= low) & (drawn <= high) & (chance <= fits)


def chosen(random: np.random.Generator, logits: Array, count: int) -> Array:
    """Return classes drawn from each row of logarithms of chances, ``[rows, count]``."""
    apart = logits.astype(np.float64)
    apart -= apart.max(1, keepdims=True, initial=-np.inf)
    sums = np.cumsum(np.exp(apart), 1)
    found = np.empty((len(sums), count), np.int64)
    for row, ends in enumerate(sums):
        places = np.searchsorted(ends, random.random(count) * ends[-1], side="right")
        found[row] = np.minimum(places, np.searchsorted(ends, ends[-1]))
    return found


def without_replacement(random: np.random.Generator, weights: Array, count: int) -> Array:
    """Return different classes drawn from each row of weights one after the other, ``[rows, count]``."""
    # The first of exponential clocks that run at the weights' rates to ring is each class with its chance.
    with np.errstate(divide="ignore", invalid="ignore"):
        rings: Any = random.standard_exponential(weights.shape) / weights.astype(np.float64)
    return np.argsort(rings, axis=1, kind="stable")[:, :count]
