"""Operators that find the distinct elements, or those of another tensor.

Where nothing else is said the distinct elements come in the order of their first occurrence. Every NaN is an
element of its own. The number of results depends on the values: see `aacl.backends.cpu.kernels._leading`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from aacl.backends.cpu.kernels._leading import leading
from aacl.backends.cpu.kernels._order import stable_order
from aacl.backends.cpu.kernels._places import axis_of
from aacl.backends.cpu.kernels._precision import HALVES
from aacl.backends.cpu.kernels._registry import elements, given, integers, kernel, prepared
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()

_NO_AXIS = 1000
"""What UniqueConsecutive and RepeatInterleave take for no axis."""
_NO_AXIS_V2 = -1000


class _Distinct(NamedTuple):
    """The distinct rows of an array: the place of each one's first occurrence, each row's number, the counts."""

    firsts: Array
    numbers: Array
    counts: Array


def _distinct(rows: Array, in_order: bool) -> _Distinct:
    """Find the distinct rows.

    Args:
        rows: elements, or rows of several.
        in_order: whether they are sorted; otherwise they come as they first occur.
    """
    order = _order(rows)
    ordered = rows[order]
    is_new = np.ones(len(rows), np.bool_)
    changed = ordered[1:] != ordered[:-1]
    is_new[1:] = changed if rows.ndim == 1 else changed.any(1)
    starts = np.flatnonzero(is_new)
    numbers = np.empty(len(rows), np.int64)
    numbers[order] = np.cumsum(is_new) - 1
    # A stable order: the first of each run is the first that occurs.
    firsts, counts = order[starts], np.diff(np.append(starts, len(rows)))
    if in_order:
        return _Distinct(firsts, numbers, counts)
    places = np.argsort(firsts, kind="stable")
    renumbered = np.empty(len(places), np.int64)
    renumbered[places] = np.arange(len(places))
    return _Distinct(firsts[places], renumbered[numbers], counts[places])


def _order(rows: Array) -> Array:
    """Return the stable order of rows, their first column deciding first."""
    if rows.ndim == 1:
        return stable_order(rows)
    if not rows.shape[1]:
        return np.arange(len(rows))
    return np.lexsort(rows.T[::-1])


@kernel("Unique")
def _unique(request: KernelRequest) -> Kernel:
    """The distinct elements, and for each element its number among them."""

    def body(x: Array, y: Array, idx: Array) -> tuple[tuple[int, ...], ...]:
        found = _distinct(x, False)
        return leading([x[found.firsts], found.numbers], [y, idx])

    return prepared(request, body, 20 * elements(given(request, 0)), returns_shapes=True)


@kernel("UniqueWithCounts")
def _unique_with_counts(request: KernelRequest) -> Kernel:
    """As Unique, and how often each one occurs."""

    def body(x: Array, y: Array, idx: Array, count: Array) -> tuple[tuple[int, ...], ...]:
        found = _distinct(x, False)
        return leading([x[found.firsts], found.numbers, found.counts], [y, idx, count])

    return prepared(request, body, 20 * elements(given(request, 0)), returns_shapes=True)


@kernel("UniqueExt2")
def _unique_along(request: KernelRequest) -> Kernel:
    """The distinct slices along the axis that the second input holds; none for a vector."""

    def body(x: Array, axis: Array, y: Array, idx: Array) -> tuple[tuple[int, ...], ...]:
        places = integers(axis)
        if len(places) > 1 or (not places and x.ndim != 1):
            raise InvalidArgument(
                f"operator UniqueExt2: axis {places} must be one number for an input of {x.ndim} dims"
            )
        along = axis_of(request, places[0] if places else 0, x.ndim)
        found = _distinct(_slices(x, along), False)
        return leading([np.take(x, found.firsts, along), found.numbers], [y, idx])

    return prepared(request, body, 20 * elements(given(request, 0)), returns_shapes=True)


def _slices(x: Array, axis: int) -> Array:
    """Return the slices along an axis as rows."""
    first = np.moveaxis(x, axis, 0)
    return first.reshape(len(first), math.prod(first.shape[1:])) if x.ndim > 1 else x


@kernel("UniqueWithCountsAndSorting")
def _unique_sorted(request: KernelRequest) -> Kernel:
    """The distinct elements of the flattened input, sorted if asked; numbers and counts where asked, else empty."""
    attributes = request.attributes

    def body(x: Array, y: Array, indices: Array, counts: Array) -> tuple[tuple[int, ...], ...]:
        flat = x.reshape(-1)
        found = _distinct(flat, attributes["sorted"])
        numbers = found.numbers.reshape(x.shape) if attributes["return_inverse"] else found.numbers[:0]
        times = found.counts if attributes["return_counts"] else found.counts[:0]
        return leading([flat[found.firsts], numbers, times], [y, indices, counts])

    return prepared(request, body, 20 * elements(given(request, 0)), returns_shapes=True)


@kernel("UniqueV2")
def _unique_v2(request: KernelRequest) -> Kernel:
    """As NumPy's unique: first places, numbers and counts where asked, else empty; -1000 flattens."""
    attributes, info = request.attributes, given(request, 0)
    axis = attributes["axis"]
    along = 0 if axis == _NO_AXIS_V2 else axis_of(request, axis, len(info.shape))

    def body(x: Array, y: Array, idx: Array, inverse: Array, count: Array) -> tuple[tuple[int, ...], ...]:
        source = x.reshape(-1) if axis == _NO_AXIS_V2 else x
        found = _distinct(_slices(source, along), bool(attributes["sorted"]))
        firsts = found.firsts if attributes["return_idx"] else found.firsts[:0]
        numbers = found.numbers if attributes["return_inverse"] else found.numbers[:0]
        times = found.counts if attributes["return_counts"] else found.counts[:0]
        return leading([np.take(source, found.firsts, along), firsts, numbers, times], [y, idx, inverse, count])

    return prepared(request, body, 20 * elements(info), returns_shapes=True)


@kernel("UniqueConsecutive")
def _unique_consecutive(request: KernelRequest) -> Kernel:
    """The first of each run of equal elements, or slices along ``axis``; 1000 flattens."""
    attributes, info = request.attributes, given(request, 0)
    axis = attributes["axis"]
    along = 0 if axis == _NO_AXIS else axis_of(request, axis, len(info.shape))

    def body(x: Array, y: Array, idx: Array, count: Array) -> tuple[tuple[int, ...], ...]:
        source = x.reshape(-1) if axis == _NO_AXIS else x
        rows = _slices(source, along)
        is_new = np.ones(len(rows), np.bool_)
        changed = rows[1:] != rows[:-1]
        is_new[1:] = changed if rows.ndim == 1 else changed.any(1)
        starts = np.flatnonzero(is_new)
        numbers = np.cumsum(is_new) - 1
        numbers = numbers.reshape(x.shape) if axis == _NO_AXIS else numbers
        times = np.diff(np.append(starts, len(rows)))
        return leading(
            [
                np.take(source, starts, along),
                numbers if attributes["return_idx"] else starts[:0],
                times if attributes["return_counts"] else starts[:0],
            ],
            [y, idx, count],
        )

    return prepared(request, body, 3 * elements(info), returns_shapes=True)


@kernel("ListDiff")
def _list_diff(request: KernelRequest) -> Kernel:
    """The elements of the first list that the second one has not, in their order, and their places."""
    is_half = given(request, 0).dtype in HALVES

    def body(x: Array, y: Array, out: Array, idx: Array) -> tuple[tuple[int, ...], ...]:
        left, right = (part.astype(np.float32) if is_half else part for part in (x, y))
        places = np.flatnonzero(~np.isin(left, right))
        return leading([x[places], places], [out, idx])

    return prepared(request, body, 20 * elements(given(request, 0)), returns_shapes=True)


@kernel("NonZeroWithValue")
def _non_zero_with_value(request: KernelRequest) -> Kernel:
    """The elements that are not 0, their coordinates as NonZero gives them, and how many there are."""
    transpose = request.attributes["transpose"]

    def body(x: Array, value: Array, index: Array, count: Array) -> tuple[tuple[int, ...], ...]:
        rows = np.argwhere(x)
        found = x[x != 0]
        return leading([found, rows.T if transpose else rows, np.array([len(rows)])], [value, index, count])

    return prepared(request, body, 5 * elements(given(request, 0)), returns_shapes=True)
