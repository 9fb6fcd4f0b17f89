"""The quotient of integers that divides toward zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from aacl.abc import Array

__all__ = ("quotient", "truncated_quotient")


def truncated_quotient(x1: Array, x2: Array, out: Array | None = None) -> Array:
    """Divide integers toward zero; 0 where the divisor is 0."""
    return np.floor_divide(np.subtract(x1, np.fmod(x1, x2)), x2, out)


def quotient(x1: Array, x2: Array) -> Array:
    """Divide as Div does: integers toward zero, floats truly."""
    return truncated_quotient(x1, x2) if x1.dtype.kind in "iu" else np.divide(x1, x2)
