"""Means and variances over axes, and arrays brought to mean 0 and variance 1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from aacl.backends.cpu.kernels._sums import summed

if TYPE_CHECKING:
    from aacl.abc import Array
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ("Moments", "by_rows", "mean", "mean_square", "normalise", "variance")

_BLOCK = 1 << 17
"""Elements worked on at a time: few enough to stay in the cache, so many that the calls cost little."""


class Moments(NamedTuple):
    """What a normalisation found; each has 1 on the axes that it went over."""

    mean: Array
    variance: Array
    root: Array
    """``1 / sqrt(variance + epsilon)``"""


def mean(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the mean with 1 on the axes; NaN over no elements, where `numpy.mean` warns."""
    total = summed(x, axes, keepdims=True)
    np.divide(total, math.prod(x.shape[axis] for axis in axes), total)
    return total


def mean_square(x: Array, axes: tuple[int, ...]) -> Array:
    """Return the mean of the squares with 1 on the axes; along the last axis no squares are stored."""
    if axes != (-1,):
        return mean(np.multiply(x, x), axes)
    total: Array = np.vecdot(x, x)[..., None]
    np.divide(total, x.shape[-1], total)
    return total


def variance(x: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the mean and the biased variance with 1 on the axes."""
    centre = mean(x, axes)
    apart = np.subtract(x, centre)
    return centre, mean(np.multiply(apart, apart, apart), axes)


def normalise(x: Array, axes: tuple[int, ...], epsilon: float, out: Array) -> Moments:
    """Write ``(x - mean) / sqrt(variance + epsilon)``; the variance is the biased one.

    Args:
        x: floats of at least single precision.
        axes: what is normalised jointly.
        epsilon: added to the variance.
        out: as ``x``, in the same memory if need be.
    """
    centre = mean(x, axes)
    np.subtract(x, centre, out)
    spread = mean_square(out, axes)
    root = np.add(spread, epsilon, dtype=spread.dtype)
    np.divide(1, np.sqrt(root, root), root)
    np.multiply(out, root, out)
    return Moments(centre, spread, root)


def by_rows(body: Body, shape: tuple[int, ...], lead: int) -> Body:
    """Return a body that hands another one some rows of every array at a time, so that they stay in the cache.

    Arrays of the tensor's rank are cut along their first ``lead`` axes; those of a lower rank belong to every row.

    Args:
        body: takes arrays whose leading axes are one, and counts its axes from the end.
        shape: of the tensor.
        lead: how many axes a row is addressed with.
    """
    outer, inner, rank = math.prod(shape[:lead]), math.prod(shape[lead:]), len(shape)
    if outer < 2 or outer * inner <= 2 * _BLOCK:
        return body
    step = max(_BLOCK // inner, 1)

    def run(*arrays: Array | None) -> None:
        if not all(array is None or array.flags.c_contiguous for array in arrays):
            body(*arrays)
            return
        is_cut = [array is not None and array.ndim == rank for array in arrays]
        flat = [
            array.reshape(outer, *array.shape[lead:]) if array is not None and cut else array
            for array, cut in zip(arrays, is_cut, strict=True)
        ]
        for start in range(0, outer, step):
            part = slice(start, start + step)
            body(*[a[part] if a is not None and cut else a for a, cut in zip(flat, is_cut, strict=True)])

    return run
