"""Weighted sums as matrix products, for operators whose results read a few elements each.

A plain product multiplies every element by the weights of all results: what is infinite or NaN would spoil
also those that do not read it, as infinity times 0 is NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from aacl.abc import Array

__all__ = ("weighted",)


def weighted(x: Array, weights: Array) -> Array:
    """Return ``x @ weights``, to which an element that weighs 0 gives nothing, be it infinite or NaN.

    Args:
        x: ``[..., n, k]`` floats.
        weights: ``[k, m]``, finite.
    """
    found: Array = x @ weights
    if np.isfinite(found).all() or np.isfinite(x).all():
        return found
    found = np.where(np.isfinite(x), x, 0) @ weights
    rises, falls, counts = weights > 0, weights < 0, weights != 0
    upward = (np.isposinf(x) @ rises) | (np.isneginf(x) @ falls)
    downward = (np.isneginf(x) @ rises) | (np.isposinf(x) @ falls)
    found[upward] = np.inf
    found[downward] = -np.inf
    found[(upward & downward) | (np.isnan(x) @ counts)] = np.nan
    return found
