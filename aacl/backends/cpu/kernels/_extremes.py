"""NumPy's maximum and minimum with the output third, which they themselves take by keyword only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from aacl.abc import Array

__all__ = ("maximum", "minimum")


def maximum(left: Array, right: Array | float, out: Array) -> Array:
    """Write the greater of each pair; NaN wins."""
    return np.maximum(left, right, out=out)


def minimum(left: Array, right: Array | float, out: Array) -> Array:
    """Write the smaller of each pair; NaN wins."""
    return np.minimum(left, right, out=out)
