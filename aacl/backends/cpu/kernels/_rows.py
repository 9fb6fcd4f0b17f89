"""Combine rows of an array with updates, several of which may go to one row.

Updates of one row are combined first, in the order of the updates, and then with the row; factors and divisors come
to the row one after the other, lest their product overflow where the results do not. Half precision does both in
float32 and is rounded once. A plain update of a row that comes up several times leaves the last one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import ml_dtypes
import numpy as np

from aacl.backends.cpu.kernels._division import quotient
from aacl.backends.cpu.kernels._order import stable_order

if TYPE_CHECKING:
    from collections.abc import Callable

    from aacl.abc import Array

__all__ = ("COMBINATIONS", "Combination", "put_rows", "reduce_groups", "started")

# NumPy reduces groups column by column: that is slow for wide rows, which are taken in turns, row by row.
_NARROW = 32
_TURNS = 8

_HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


class Combination(NamedTuple):
    """How updates come to a row.

    Attributes:
        gather: joins the updates of one row; None where each comes to the row by itself, one after the other.
        apply: joins the row and an update.
    """

    gather: np.ufunc | None
    apply: Callable[[Array, Array], Array]


COMBINATIONS = {
    "Add": Combination(np.add, np.add),
    "Sub": Combination(np.add, np.subtract),
    "Mul": Combination(None, np.multiply),
    "Div": Combination(None, quotient),
    "Max": Combination(np.maximum, np.maximum),
    "Min": Combination(np.minimum, np.minimum),
}


def started(out: Array, source: Array, *others: Array) -> list[Array]:
    """Make an output start as an input; return the other inputs, copied where they lie in the output's memory."""
    apart = [other.copy() if np.may_share_memory(other, out) else other for other in others]
    # Memory that is shared is the same memory: then the output has these contents already.
    if not np.may_share_memory(out, source):
        np.copyto(out, source)
    return apart


def put_rows(out: Array, rows: Array, updates: Array, combination: Combination | None) -> None:
    """Combine rows with updates.

    Args:
        out: ``(rows, width)``; written.
        rows: row numbers, each within its range.
        updates: ``(numbers, width)``.
        combination: how; None puts the update in the row's place.
    """
    if not rows.size:
        return
    if combination is None:
        out[rows] = updates
        return
    apply = combination.apply
    # NumPy's own loop over indices is quick for single elements; it computes in the output's precision.
    if updates.shape[1] == 1 and isinstance(apply, np.ufunc) and out.dtype == updates.dtype not in _HALVES:
        apply.at(out.reshape(-1), rows, updates.reshape(-1))
        return
    order = stable_order(rows)
    ordered = rows[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    places = ordered[starts]
    kept = _wide(out[places])
    if combination.gather is None:
        groups = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(order))))
        _put_one_by_one(kept, groups, _wide(updates[order]), starts, combination)
    else:
        kept = combination.apply(kept, reduce_groups(combination.gather, updates, order, starts))
    out[places] = kept.astype(out.dtype, copy=False)


def reduce_groups(ufunc: np.ufunc, updates: Array, order: Array, starts: Array) -> Array:
    """Reduce each group of rows, half precision to float32.

    Args:
        ufunc: how.
        updates: the rows, ``(rows, width)``.
        order: their numbers, group by group.
        starts: where each group starts in ``order``.
    """
    if len(starts) == len(order):
        return _wide(updates[order])
    if updates.shape[1] <= _NARROW:
        ordered = _wide(updates[order])
        return ufunc.reduceat(ordered, starts, axis=0, dtype=ordered.dtype)
    counts = np.diff(np.append(starts, len(order)))
    total = _wide(updates[order[starts]])
    for turn in range(1, _TURNS):
        longer = np.flatnonzero(counts > turn)
        if not longer.size:
            return total
        total[longer] = ufunc(total[longer], _wide(updates[order[starts[longer] + turn]]))
    for group in np.flatnonzero(counts > _TURNS).tolist():
        rest = order[starts[group] + _TURNS : starts[group] + counts[group]]
        found = ufunc.reduce(_wide(updates[rest]), axis=0, dtype=total.dtype)
        ufunc(total[group], found, out=total[group])
    return total


def _wide(rows: Array) -> Array:
    return rows.astype(np.float32) if rows.dtype in _HALVES else rows


def _put_one_by_one(out: Array, rows: Array, updates: Array, starts: Array, combination: Combination) -> None:
    """Take the first update of every row, then the second ones, and so on."""
    counts = np.diff(np.append(starts, len(rows)))
    turns = np.arange(len(rows)) - np.repeat(starts, counts)
    by_turn = np.argsort(turns, kind="stable")
    for part in np.split(by_turn, np.cumsum(np.bincount(turns))[:-1]):
        places = rows[part]
        out[places] = combination.apply(out[places], updates[part])
