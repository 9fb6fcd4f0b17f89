"""Sorting, and the places of the greatest and smallest.

NaN counts as greater than every number. Among equal values the lower index comes first, ascending or
descending. Half precision is compared in float32, which holds its values exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._order import picked, stable_order
from aacl.backends.cpu.kernels._places import axis_of
from aacl.backends.cpu.kernels._precision import HALVES, REALS
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared, refuse_dtype, with_integers
from aacl.backends.cpu.kernels._split import ranges, spread_rows
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()

# What a comparison sort costs an element, in plain operations.
_SORT = 20


@kernel("TopK", "TopKV2", "TopKV2D")
def _top_k(request: KernelRequest) -> Kernel:
    """The k greatest (or smallest) along ``dim``, in order even where ``sorted`` is false."""

    def make(k: tuple[int, ...]) -> Body:
        inner = _top(request, k[0])
        return lambda x, *others: inner(x, others[-2], others[-1])

    return prepared(request, with_integers(request, (1,), make), _SORT * elements(given(request, 0)))


@kernel("TopKD")
def _top_k_attribute(request: KernelRequest) -> Kernel:
    """As TopK; the helper sequence is not read."""
    inner = _top(request, request.attributes["k"])
    return prepared(request, lambda x, _, values, places: inner(x, values, places), _SORT * elements(given(request, 0)))


def _top(request: KernelRequest, k: int) -> Body:
    info = given(request, 0)
    if info.dtype not in REALS:
        raise refuse_dtype(request, "real dtypes")
    axis = axis_of(request, request.attributes["dim"], len(info.shape), "dim")
    if not 0 <= k <= info.shape[axis] or request.outputs[0].shape[axis] != k:
        raise InvalidArgument(
            f"operator {request.op_type}: k is {k}; dim {axis} of the input has {info.shape[axis]} elements, "
            f"of the output {request.outputs[0].shape[axis]}"
        )
    largest, is_half = request.attributes["largest"], info.dtype in HALVES

    def body(x: Array, values: Array, places: Array) -> None:
        if not values.size:
            return
        rows = np.moveaxis(x.astype(np.float32) if is_half else x, axis, -1)
        found = np.moveaxis(_chosen(rows, k, largest), -1, axis)
        np.copyto(values, picked(x, found, axis))
        np.copyto(places, found, casting="same_kind")

    return _in_parts(request, body, axis)


def _in_parts(request: KernelRequest, body: Body, axis: int) -> Body:
    """Return a body that works along an axis on parts of the first one, where that is another axis."""
    info = given(request, 0)
    nbytes = elements(info) * info.dtype.itemsize
    return spread_rows(request, body, ranges(info.shape[0], nbytes, _SORT * elements(info))) if axis else body


def _chosen(rows: Array, k: int, largest: bool) -> Array:
    """Return the places of the k first in order along the last axis."""
    length = rows.shape[-1]
    if k * 4 < length:
        ends = np.partition(rows, length - k if largest else k - 1, axis=-1)
        edge = ends[..., length - k :] if largest else ends[..., :k]
        if rows.dtype.kind != "f" or not np.isnan(edge).any():
            return _within(rows, edge[..., :1] if largest else edge[..., -1:], k, largest)
    return stable_order(rows, descending=largest)[..., :k]


def _within(rows: Array, edge: Array, k: int, largest: bool) -> Array:
    """Return the places of the k first, the last of which in order has the value ``edge``."""
    better = rows > edge if largest else rows < edge
    level = rows == edge
    room = k - np.count_nonzero(better, axis=-1, keepdims=True)
    if (np.count_nonzero(level, axis=-1, keepdims=True) > room).any():
        level &= np.cumsum(level, axis=-1) <= room
    places = np.nonzero(better | level)[-1].reshape(*rows.shape[:-1], k)
    order = stable_order(picked(rows, places, -1), descending=largest)
    return picked(places, order, -1)


@kernel("Sort")
def _sort(request: KernelRequest) -> Kernel:
    """Values and int32 places; always stable."""
    info = given(request, 0)
    axis = axis_of(request, request.attributes["axis"], max(len(info.shape), 1))
    descending, is_half = request.attributes["descending"], info.dtype in HALVES

    def body(x: Array, values: Array, places: Array) -> None:
        if not x.ndim:
            np.copyto(values, x)
            places[...] = 0
            return
        rows = np.moveaxis(x.astype(np.float32) if is_half else x, axis, -1)
        found = np.moveaxis(stable_order(rows, descending=descending), -1, axis)
        np.copyto(values, picked(x, found, axis))
        np.copyto(places, found, casting="same_kind")

    return prepared(request, _in_parts(request, body, axis), _SORT * elements(info))


@kernel("SortV2")
def _sort_values(request: KernelRequest) -> Kernel:
    """Values alone."""
    info = given(request, 0)
    axis = axis_of(request, request.attributes["axis"], max(len(info.shape), 1))
    descending, is_half = request.attributes["descending"], info.dtype in HALVES

    def body(x: Array, out: Array) -> None:
        if not x.ndim:
            np.copyto(out, x)
            return
        ordered = np.sort(x.astype(np.float32) if is_half else x, axis)
        np.copyto(out, np.flip(ordered, axis) if descending else ordered, casting="same_kind")

    return prepared(request, _in_parts(request, body, axis), _SORT * elements(info))


@kernel("ArgMaxWithValue", "ArgMinWithValue")
def _extreme_with_value(request: KernelRequest) -> Kernel:
    """The place of the first extreme, then its value; NaN counts as one."""
    info = given(request, 0)
    axis = axis_of(request, request.attributes["dimension"], max(len(info.shape), 1), "dimension")
    if info.shape and not info.shape[axis]:
        raise InvalidArgument(f"operator {request.op_type}: dimension {axis} of shape {info.shape} is empty")
    find = np.argmax if request.op_type == "ArgMaxWithValue" else np.argmin
    is_half = info.dtype in HALVES

    def body(x: Array, places: Array, values: Array) -> None:
        rows = x.reshape(1) if not x.ndim else x
        found = np.expand_dims(find(rows.astype(np.float32) if is_half else rows, axis), axis)
        np.copyto(places, found.reshape(places.shape), casting="same_kind")
        np.copyto(values, np.take_along_axis(rows, found, axis).reshape(values.shape))

    return prepared(request, body, elements(info))


@kernel("NthElement")
def _nth_element(request: KernelRequest) -> Kernel:
    """The n-th smallest along the last axis, counted from 0; with ``reverse`` the n-th greatest."""
    info = given(request, 0)
    length = info.shape[-1]
    is_half = info.dtype in HALVES

    def make(n: tuple[int, ...]) -> Body:
        if not 0 <= n[0] < length:
            raise InvalidArgument(f"operator NthElement: n is {n[0]}; the last dim of {info.shape} needs more than n")
        place = length - 1 - n[0] if request.attributes["reverse"] else n[0]

        def body(x: Array, _: Array, out: Array) -> None:
            rows = x.astype(np.float32) if is_half else x
            np.copyto(out, np.partition(rows, place, axis=-1)[..., place], casting="same_kind")

        return body

    return prepared(request, with_integers(request, (1,), make), 3 * elements(info))


@kernel("InTopK", "InTopKExt2", "InTopKV2")
def _in_top_k(request: KernelRequest) -> Kernel:
    def make(k: tuple[int, ...]) -> Body:
        inner = _among(k[0])
        return lambda predictions, targets, _, out: inner(predictions, targets, out)

    return prepared(request, with_integers(request, (2,), make), 2 * elements(given(request, 0)))


@kernel("InTopKD")
def _in_top_k_attribute(request: KernelRequest) -> Kernel:
    return prepared(request, _among(request.attributes["k"]), 2 * elements(given(request, 0)))


def _among(k: int) -> Body:
    """Return TensorFlow's in_top_k: fewer than k classes beat the target's prediction, and all is finite.

    A target that is no class is not among them.
    """

    def body(predictions: Array, targets: Array, out: Array) -> None:
        classes = predictions.shape[1]
        if not classes:
            out[...] = False
            return
        own = np.take_along_axis(predictions, np.clip(targets, 0, classes - 1)[:, None], 1)
        beaten = np.count_nonzero(predictions > own, axis=1) < k
        known = (targets >= 0) & (targets < classes) & np.isfinite(predictions).all(1)
        np.logical_and(beaten, known, out)

    return body
