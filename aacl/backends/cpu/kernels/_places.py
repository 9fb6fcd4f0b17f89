"""Axes and indices: counted from the front, and checked before anything is written."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, KernelRequest

__all__ = ("axis_of", "check_indices", "element_places", "row_places")


def axis_of(request: KernelRequest, axis: int, rank: int, name: str = "axis") -> int:
    """Return an axis counted from the front.

    Raises:
        InvalidArgument: it lies outside the rank.
    """
    if not -rank <= axis < rank:
        raise InvalidArgument(f"operator {request.op_type}: {name} {axis} lies outside [{-rank}, {rank})")
    return axis % rank


def check_indices(indices: Array, length: int, axis: int, allows_negative: bool = False) -> None:
    """Refuse indices outside an axis.

    Raises:
        IndexError: one lies outside; the text names it, the axis and its length.
    """
    if not indices.size:
        return
    least, most = int(indices.min()), int(indices.max())
    lowest = -length if allows_negative else 0
    if least < lowest or most >= length:
        wrong = least if least < lowest else most
        raise IndexError(f"index {wrong} lies outside [{lowest}, {length}) along axis {axis}")


def row_places(indices: Array, lengths: tuple[int, ...]) -> Array:
    """Return the row number of each index tuple, the rows being those of an array that starts with these dims.

    Args:
        indices: tuples along the last dim.
        lengths: the dims that they address.

    Raises:
        IndexError: an index lies outside its axis.
    """
    rows = np.zeros(indices.shape[:-1], np.int64)
    for axis, length in enumerate(lengths):
        check_indices(indices[..., axis], length, axis)
        rows *= length
        rows += indices[..., axis]
    return rows.reshape(-1)


def element_places(indices: Array, shape: tuple[int, ...], axis: int) -> Array:
    """Return the flat number of each element that an index picks, its own coordinates standing for the other axes.

    Negative indices count from the end; they were checked before.
    """
    places = np.where(indices < 0, indices + shape[axis], indices).astype(np.int64) * math.prod(shape[axis + 1 :])
    for other, size in enumerate(indices.shape):
        if other != axis:
            steps = np.arange(size, dtype=np.int64) * math.prod(shape[other + 1 :])
            places += steps.reshape((-1,) + (1,) * (indices.ndim - 1 - other))
    return places.reshape(-1)
