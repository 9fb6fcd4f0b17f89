"""Reading a picture at places that a grid names: what each place is made of, and how it changes with the place.

The rules are those of torch's grid_sample.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aacl.abc import Array

__all__ = ("INTERPOLATIONS", "PADDINGS", "Corner", "corners")

INTERPOLATIONS = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
_CUBIC = -0.75


class _Tap(NamedTuple):
    """Along one axis: an element, -1 where there is none, its weight, and the weight's change with the grid."""

    place: Array
    weight: Array
    slope: Array


class Corner(NamedTuple):
    """One element that each place is made of.

    Attributes:
        place: its index in the flattened picture; 0 where there is none.
        is_inside: whether there is one.
        weight: how much of it.
        slopes: for each number of a grid place, how much the weight changes with it.
    """

    place: Array
    is_inside: Array
    weight: Array
    slopes: tuple[Array, ...]


def corners(
    grid: Array, sizes: Sequence[int], interpolation: str, padding: str, aligns: bool, *, slopes: bool = False
) -> Iterator[Corner]:
    """Yield the elements that all places of a grid are made of.

    Args:
        grid: ``[..., count]`` with the number for the last axis of the picture first.
        sizes: of the picture's axes.
        interpolation: one of `INTERPOLATIONS`.
        padding: one of `PADDINGS`.
        aligns: whether -1 and 1 are the centres of the corner elements, else their outer edges.
        slopes: whether the weights' changes are asked for.
    """
    count = len(sizes)
    make = {"bilinear": _linear, "nearest": _nearest, "bicubic": _cubic}[interpolation]
    along = [make(grid[..., count - 1 - axis], size, padding, aligns) for axis, size in enumerate(sizes)]
    for taps in itertools.product(*along):
        flat, is_inside = np.zeros(taps[0].place.shape, np.intp), np.ones(taps[0].place.shape, np.bool_)
        for tap, size in zip(taps, sizes, strict=True):
            flat = flat * size + tap.place
            is_inside &= tap.place >= 0
        weight = _product([tap.weight for tap in taps])
        changes = [
            _product([tap.slope if axis == other else tap.weight for other, tap in enumerate(taps)])
            for axis in range(count if slopes else 0)
        ]
        yield Corner(np.where(is_inside, flat, 0), is_inside, weight, tuple(reversed(changes)))


def _product(factors: Sequence[Array]) -> Array:
    found = factors[0]
    for factor in factors[1:]:
        found = found * factor
    return found


def _unnormalised(numbers: Array, size: int, aligns: bool) -> tuple[Array, float]:
    """Return positions in elements, and their change with the numbers; what is no number lies outside."""
    factor = (size - 1) / 2 if aligns else size / 2
    positions = (numbers + 1) * factor - (0 if aligns else 0.5)
    return np.where(np.isnan(positions), -2, positions).astype(numbers.dtype, copy=False), factor


def _padded(positions: Array, size: int, padding: str, aligns: bool) -> tuple[Array, Array]:
    """Return the positions that are read, and the sign of their change: 0 where they are held at the edge."""
    sign = np.ones_like(positions)
    if padding == "zeros":
        # Far outside is as far as just outside, and fits an integer.
        return np.clip(positions, -4, size + 3), sign
    if padding == "reflection":
        positions, sign = _reflected(positions, size, aligns)
    sign = np.where((positions <= 0) | (positions >= size - 1), 0, sign).astype(positions.dtype, copy=False)
    return np.clip(positions, 0, size - 1), sign


def _reflected(positions: Array, size: int, aligns: bool) -> tuple[Array, Array]:
    low, span = (0.0, size - 1.0) if aligns else (-0.5, float(size))
    if span == 0:
        return np.zeros_like(positions), np.zeros_like(positions)
    sign = np.where(positions < low, -1, 1)
    distance = np.abs(np.where(np.isfinite(positions), positions, low) - low)
    extra, flips = np.fmod(distance, span), np.floor(distance / span)
    is_even = np.fmod(flips, 2) == 0
    found = np.where(is_even, extra + low, span - extra + low)
    return found.astype(positions.dtype, copy=False), np.where(is_even, sign, -sign).astype(positions.dtype)


def _inside(places: Array, size: int) -> Array:
    """Return places as integers, -1 for all that are outside."""
    whole = places.astype(np.intp)
    return np.where((whole >= 0) & (whole < size), whole, -1)


def _linear(numbers: Array, size: int, padding: str, aligns: bool) -> list[_Tap]:
    positions, factor = _unnormalised(numbers, size, aligns)
    positions, sign = _padded(positions, size, padding, aligns)
    low = np.floor(positions)
    share, change = positions - low, sign * positions.dtype.type(factor)
    return [_Tap(_inside(low, size), 1 - share, -change), _Tap(_inside(low + 1, size), share, change)]


def _nearest(numbers: Array, size: int, padding: str, aligns: bool) -> list[_Tap]:
    positions, _ = _unnormalised(numbers, size, aligns)
    positions, sign = _padded(positions, size, padding, aligns)
    return [_Tap(_inside(np.rint(positions), size), np.ones_like(positions), np.zeros_like(sign))]


def _cubic(numbers: Array, size: int, padding: str, aligns: bool) -> list[_Tap]:
    """Each of the four elements is padded by itself."""
    positions, factor = _unnormalised(numbers, size, aligns)
    limit = 4.0 * (size + 2)
    positions = np.clip(positions, -limit, limit) if padding == "zeros" else np.where(
        np.isfinite(positions), positions, 0
    )  # fmt: skip
    low = np.floor(positions)
    share = positions - low
    taps = []
    for step in range(-1, 3):
        place, _ = _padded(low + step, size, padding, aligns)
        distance = np.abs(share - step)
        way = np.where(share >= step, 1, -1) * factor
        if step in (0, 1):
            weight = ((_CUBIC + 2) * distance - (_CUBIC + 3)) * distance * distance + 1
            change = (3 * (_CUBIC + 2) * distance - 2 * (_CUBIC + 3)) * distance
        else:
            weight = ((_CUBIC * distance - 5 * _CUBIC) * distance + 8 * _CUBIC) * distance - 4 * _CUBIC
            change = (3 * _CUBIC * distance - 10 * _CUBIC) * distance + 8 * _CUBIC
        taps.append(_Tap(_inside(place, size), weight, (change * way).astype(share.dtype, copy=False)))
    return taps
