"""The logistic function as a value of several kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from aacl.abc import Array

__all__ = ("sigmoid",)


def sigmoid(x: Array, out: Array | None = None) -> Array:
    """Return ``1 / (1 + e^-x)``, in an array of its own unless there is an output, which may be x."""
    result = np.negative(x, np.empty_like(x) if out is None else out)
    np.exp(result, result)
    np.add(result, 1, result)
    np.reciprocal(result, result)
    return result
