"""Sums over axes, quickly and as exactly as NumPy's pairwise ones.

NumPy adds pairwise along the last axis only, and without the processor's vectors. `numpy.einsum` uses them, but adds
one after the other; in runs of a few hundred elements, whose sums are then added pairwise, it is twice as quick and
errs no more. Along the other axes NumPy adds one row after the other, so that the error grows with their number and a
float32 sum of ones ends at 2^24; here the rows are added in runs, and the sums of the runs in the same way again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from aacl.abc import Array

__all__ = ("sum_over", "summed")

_RUN = 256
"""Elements that are added one after the other, a vector of them at a time."""
_MANY = 4096
"""Elements from which it pays."""
_WIDE = 2048
"""Elements that a row should have, lest NumPy's work per row outweigh the sums."""


def summed(x: Array, axes: tuple[int, ...] | int | None, *, keepdims: bool = False) -> Array:
    """Return the sums over some axes, which may count from the end; None for all.

    Floats and complex numbers keep their dtype; other dtypes become what `numpy.add.reduce` makes of them.
    """
    if x.dtype.kind not in "fc":
        return np.asarray(np.sum(x, axes, keepdims=keepdims))
    given = range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    places = tuple(sorted(axis % x.ndim for axis in given))
    sizes = [1 if axis in places else size for axis, size in enumerate(x.shape) if keepdims or axis not in places]
    out = np.empty(sizes, x.dtype)
    sum_over(x, places, keepdims, out)
    return out


def sum_over(x: Array, axes: tuple[int, ...], keep: bool, out: Array) -> None:
    """Write the sums over some axes, accumulated in the dtype of ``out``.

    Args:
        x: any dtype that NumPy can add in that of ``out``.
        axes: sorted, from 0 on.
        keep: whether ``out`` has the axes still, each of size 1.
        out: of the shape that the sum has.
    """
    count = math.prod(x.shape[axis] for axis in axes)
    is_small = x.size < _MANY or count < 2 or (count <= _RUN and x.size < 8 * _MANY and axes[-1] < x.ndim - 1)
    if is_small or x.dtype != out.dtype or out.dtype.kind not in "fc":
        np.add.reduce(x, axis=axes, dtype=out.dtype, keepdims=keep, out=out)
        return
    sizes = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    sums = out if out.flags.c_contiguous else np.empty(out.shape, out.dtype)
    _sum_groups(x, axes, sums.reshape(sizes))
    if sums is not out:
        np.copyto(out, sums)


def _sum_groups(x: Array, axes: tuple[int, ...], out: Array) -> None:
    """Sum over the last axes that lie together, then over those before them.

    Args:
        x: anything.
        axes: sorted, from 0 on.
        out: as ``x`` with 1 on the axes.
    """
    first = last = axes[-1]
    while first - 1 in axes:
        first -= 1
    rest = axes[: len(axes) - (last + 1 - first)]
    around = (math.prod(x.shape[:first]), math.prod(x.shape[last + 1 :]))
    sizes = (*x.shape[:first], *out.shape[first : last + 1], *x.shape[last + 1 :])
    is_done = all(x.shape[axis] == 1 for axis in rest)
    sums = out if is_done else np.empty(sizes, x.dtype)
    _sum_middle(x.reshape(around[0], -1, around[1]), sums.reshape(around))
    if not is_done:
        _sum_groups(sums, rest, out)


def _sum_middle(x: Array, out: Array) -> None:
    """Sum over the middle one of three axes."""
    before, length, behind = x.shape
    if behind == 1 and x.flags.c_contiguous and x.dtype in (np.float32, np.float64):
        _sum_rows(x[:, :, 0], out[:, 0])
    elif behind * 8 <= _WIDE and length * behind >= 4 * _WIDE and x[:1].flags.c_contiguous:
        _sum_narrow(x, out)
    elif length <= _RUN:
        np.add.reduce(x, 1, out=out)
    else:
        runs = length // _RUN
        sums = np.add.reduce(x[:, : runs * _RUN].reshape(before, runs, _RUN, behind), 2)
        _add_rest(x[:, runs * _RUN :], sums)
        _sum_middle(sums, out)


def _sum_narrow(x: Array, out: Array) -> None:
    """Sum short rows, several side by side as one long one."""
    before, length, behind = x.shape
    side = _WIDE // behind
    rows = length // side
    sums = np.empty((before, side, behind), x.dtype)
    wide = x[:, : rows * side].reshape(before, rows, side * behind)
    _sum_middle(wide, sums.reshape(before, side * behind))
    _add_rest(x[:, rows * side :], sums)
    while side > 1:
        half = side // 2
        np.add(sums[:, :half], sums[:, side - half : side], sums[:, :half])
        side -= half
    np.copyto(out, sums[:, 0])


def _add_rest(rest: Array, sums: Array) -> None:
    """Add rows, fewer than make a run or a long row, to the first sums."""
    places = sums.shape[1]
    for start in range(0, rest.shape[1], places):
        part = rest[:, start : start + places]
        np.add(sums[:, : part.shape[1]], part, sums[:, : part.shape[1]])


def _sum_rows(x: Array, out: Array) -> None:
    rows, length = x.shape
    if length <= _RUN:
        np.einsum("ij->i", x, out=out)
        return
    runs, rest = divmod(length, _RUN)
    sums = np.empty((rows, runs + bool(rest)), x.dtype)
    np.einsum("ijk->ij", x[:, : length - rest].reshape(rows, runs, _RUN), out=sums[:, :runs])
    if rest:
        np.einsum("ij->i", x[:, length - rest :], out=sums[:, runs])
    np.add.reduce(sums, 1, out=out)
