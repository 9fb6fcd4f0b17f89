"""Which features are nearest to a query. Pure.

A query comes as a table of 32 rows of 256 float32: what each value of each of a feature's first 32 bytes adds to its
distance. The last 4 bytes of a feature have no row and add nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from acl.fv._limits import CODE_NBYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import aacl
    from acl.fv._library import Library, Piece, RepoRange

__all__ = ("Ranked", "distances", "nearest", "rank")

_VALUES = 256
_ROWS = np.arange(CODE_NBYTES, dtype=np.intp) * _VALUES
_STEP = 4096  # features at a time: what is gathered for them stays in the cache


class Ranked(NamedTuple):
    """The nearest features, the nearest first: as many ids, offsets and distances."""

    id0: aacl.abc.Array
    id1: aacl.abc.Array
    offset: aacl.abc.Array
    distance: aacl.abc.Array


def distances(tables: aacl.abc.Array, features: aacl.abc.Array) -> aacl.abc.Array:
    """Return each feature's distance from each query: float32 sums of 32 entries of the query's table."""
    places = features[:, :CODE_NBYTES] + _ROWS
    with np.errstate(all="ignore"):  # a table may hold what is no number
        return np.stack([table.reshape(-1).take(places).sum(1) for table in tables])


def nearest(found: aacl.abc.Array, count: int) -> aacl.abc.Array:
    """Return the places of the smallest distances, ascending; the first of equal ones first, what is no number last."""
    if count < len(found):
        farthest = np.partition(found, count - 1)[count - 1]
        among = np.flatnonzero(~(found > farthest))  # all that are equal to it too: which of these is decided below
        return among[np.argsort(found[among], kind="stable")[:count]]
    return np.argsort(found, kind="stable")


def rank(library: Library, span: RepoRange, tables: aacl.abc.Array, count: int) -> list[Ranked]:
    """Return the features of a range that are nearest to each query; equally near ones by ids and offset."""
    pieces = [*library.within(span)]
    if not pieces:
        none = np.empty(0, np.uint32)
        return [Ranked(none, none, none, np.empty(0, np.float32))] * len(tables)
    ends = np.cumsum([len(piece.offsets) for piece in pieces])
    ids = np.array([piece.key for piece in pieces], np.uint32)
    offsets = np.concatenate([piece.offsets for piece in pieces])
    every = np.concatenate([distances(tables, features) for features in _batches(pieces)], axis=1)
    ranked = []
    for found in every:
        places = nearest(found, count)
        owners = ids[np.searchsorted(ends, places, side="right")]
        ranked.append(Ranked(owners[:, 0], owners[:, 1], offsets[places].astype(np.uint32), found[places]))
    return ranked


def _batches(pieces: Iterable[Piece]) -> Iterator[aacl.abc.Array]:
    """Return the features of pieces one after another, small ones together."""
    waiting: list[aacl.abc.Array] = []
    rows = 0
    for piece in pieces:
        if rows and rows + len(piece.features) > _STEP:
            yield _joined(waiting)
            waiting, rows = [], 0
        waiting.append(piece.features)
        rows += len(piece.features)
    yield _joined(waiting)


def _joined(parts: Sequence[aacl.abc.Array]) -> aacl.abc.Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
