"""Resampling along one axis: each result is a weighted sum of a few elements, its *taps*.

Resizing works axis by axis, and its gradient is the transposed sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from aacl.backends.cpu.kernels._weighted import weighted

if TYPE_CHECKING:
    from aacl.abc import Array

__all__ = ("Taps", "area", "cubic", "linear", "nearest", "resampled", "spread")


class Taps(NamedTuple):
    """What each result of an axis is made of.

    Attributes:
        length: of the axis that is read.
        places: ``[results, taps]``, within that axis.
        weights: as many, float64; None where each result is one element.
        missing: which results lie outside and are a number of their own; None for no such thing.
    """

    length: int
    places: Array
    weights: Array | None = None
    missing: Array | None = None


def nearest(places: Array, length: int) -> Taps:
    """Return single taps; places outside are those at the edge."""
    return Taps(length, np.clip(places, 0, max(length - 1, 0)).astype(np.intp)[:, None])


def linear(positions: Array, length: int) -> Taps:
    """Return pairs of neighbours; positions outside are those at the edge."""
    inside = np.clip(positions, 0, max(length - 1, 0))
    lower = np.floor(inside)
    share = inside - lower
    places = np.stack([lower, np.minimum(lower + 1, max(length - 1, 0))], 1)
    return Taps(length, places.astype(np.intp), np.stack([1 - share, share], 1))


def cubic(positions: Array, length: int, a: float, excludes: bool) -> Taps:
    """Return four neighbours weighted by the cubic convolution kernel with coefficient ``a``.

    Args:
        positions: where the results lie in the axis.
        length: of the axis.
        a: the coefficient of the outer parts.
        excludes: whether neighbours outside weigh nothing and the others make up for them; else the edge is repeated.
    """
    base = np.floor(positions)
    share = (positions - base)[:, None]
    distance = np.abs(share - np.array([-1, 0, 1, 2]))
    inner = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    outer = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    weights = np.where(distance <= 1, inner, np.where(distance < 2, outer, 0))
    places = base[:, None] + np.array([-1, 0, 1, 2])
    if excludes:
        weights = np.where((places < 0) | (places >= length), 0, weights)
        weights = weights / weights.sum(1, keepdims=True)
    return Taps(length, np.clip(places, 0, max(length - 1, 0)).astype(np.intp), weights)


def area(count: int, length: int, scale: float) -> Taps:
    """Return what lies between ``i * scale`` and ``(i + 1) * scale``, each element by the part of it that does."""
    starts = np.arange(count) * scale
    ends = np.minimum(starts + scale, length)
    first = np.floor(starts)
    width = max(int(np.ceil(ends - first).max(initial=1)), 1)
    places = first[:, None] + np.arange(width)
    shares = np.minimum(ends[:, None], places + 1) - np.maximum(starts[:, None], places)
    weights = np.clip(shares, 0, None)
    total = weights.sum(1, keepdims=True)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return Taps(length, np.clip(places, 0, max(length - 1, 0)).astype(np.intp), weights)


def resampled(x: Array, axis: int, taps: Taps, outside: float = 0) -> Array:
    """Return the results along an axis, in x's dtype."""
    if taps.weights is None:
        found = x.take(taps.places[:, 0], axis)
    else:
        weights = _weights(taps.weights, x, axis)
        found = x.take(taps.places[:, 0], axis)
        np.multiply(found, weights[0], found)
        for place, weight in zip(taps.places.T[1:], weights[1:], strict=True):
            part = x.take(place, axis)
            np.add(found, np.multiply(part, weight, part), found)
    if taps.missing is not None:
        found[(slice(None),) * axis + (taps.missing,)] = outside
    return found


def _weights(weights: Array, x: Array, axis: int) -> list[Array]:
    shape = (-1,) + (1,) * (x.ndim - axis - 1)
    return [column.astype(x.dtype).reshape(shape) for column in weights.T]


def spread(slope: Array, axis: int, taps: Taps) -> Array:
    """Return the transposed of `resampled`: what each element of the axis gets from all the results that it is in."""
    matrix = np.zeros((slope.shape[axis], taps.length), slope.dtype)
    rows = np.arange(slope.shape[axis])[:, None]
    np.add.at(matrix, (rows, taps.places), 1 if taps.weights is None else taps.weights.astype(slope.dtype))
    if taps.missing is not None:
        matrix[taps.missing] = 0
    return np.moveaxis(weighted(np.moveaxis(slope, axis, -1), matrix), -1, axis)
