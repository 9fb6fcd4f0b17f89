"""Gradients of convolutions as matrix products, one for each element of the window.

Arrays are in the order N, C, spatial axes; a filter is ``(O, C / groups, *spatial)``. Everything is
of one dtype, in which products and sums are exact enough for the result.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._windows import taps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.abc import Array
    from aacl.backends.cpu.kernels._windows import Axis

__all__ = ("add_gradient_of_input", "gradient_of_filter")


def add_gradient_of_input(total: Array, filters: Array, outer: Array, axes: Sequence[Axis], groups: int) -> None:
    """Add to ``total`` (N, C, ...) what a convolution with these filters would hand back of ``outer`` (N, O, ...)."""
    count, channels = outer.shape[:2]
    dense = np.ascontiguousarray(outer).reshape(count, groups, channels // groups, math.prod(outer.shape[2:]))
    for tap in taps(axes):
        weights = filters[tap.offsets].reshape(groups, channels // groups, -1).swapaxes(1, 2)
        part = np.matmul(weights, dense).reshape(total.shape[:2] + outer.shape[2:])
        total[tap.places] += part[tap.windows]


def gradient_of_filter(shape: tuple[int, ...], x: Array, outer: Array, axes: Sequence[Axis], groups: int) -> Array:
    """Return the gradient (O, C / groups, ...) of a convolution's filters, of a shape."""
    found = np.zeros(shape, x.dtype)
    for tap in taps(axes) if x.size and outer.size else ():
        left = _rows(outer[tap.windows], groups)
        right = _rows(x[tap.places], groups).swapaxes(1, 2)
        found[tap.offsets] = np.matmul(left, right).reshape(shape[:2])
    return found


def _rows(array: Array, groups: int) -> Array:
    """Return ``(groups, channels of a group, everything else)``."""
    turned = array.swapaxes(0, 1)
    return turned.reshape(groups, turned.shape[0] // groups, -1)
