"""Reductions of rows that belong together.

The unsorted forms drop rows with a negative id and refuse one beyond the number of segments; an empty segment
holds 0 for sums, 1 for products, the dtype's least value for maxima, its greatest for minima. The sorted
forms need ids that never fall, and an empty segment holds 0. The sparse forms take the rows by index first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from aacl.backends.cpu.kernels._places import check_indices
from aacl.backends.cpu.kernels._precision import REALS, compute_dtype
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared, refuse_dtype, require_shape
from aacl.backends.cpu.kernels._rows import COMBINATIONS, put_rows, reduce_groups
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()

_NAMES = {"Sum": "Add", "Prod": "Mul", "Max": "Max", "Min": "Min"}


@kernel(*(f"UnsortedSegment{name}" for name in _NAMES))
def _unsorted(request: KernelRequest) -> Kernel:
    inner = _unsorted_body(request)

    def body(x: Array, ids: Array, count: Array, out: Array) -> None:
        require_shape(request.op_type, (int(count.reshape(())), *out.shape[1:]), out)
        inner(x, ids, out)

    return prepared(request, quiet(body, 4), 4 * elements(given(request, 0)))


@kernel(*(f"UnsortedSegment{name}D" for name in _NAMES))
def _unsorted_attribute(request: KernelRequest) -> Kernel:
    return prepared(request, quiet(_unsorted_body(request), 3), 4 * elements(given(request, 0)))


def _unsorted_body(request: KernelRequest) -> Body:
    name = request.op_type.removeprefix("UnsortedSegment").removesuffix("D")
    info, places = given(request, 0), given(request, 1).shape
    if info.dtype not in REALS and name in ("Max", "Min"):
        raise refuse_dtype(request, "real dtypes")
    if info.dtype != request.outputs[0].dtype:
        raise refuse_dtype(request, "an output of the input's dtype")
    if info.shape[: len(places)] != places:
        raise InvalidArgument(f"operator {request.op_type}: ids {places} are not the first dims of {info.shape}")
    width = math.prod(info.shape[len(places) :])
    empty, combination = _empty(info.dtype.numpy_dtype, name), COMBINATIONS[_NAMES[name]]

    def body(x: Array, ids: Array, out: Array) -> None:
        rows = ids.reshape(-1)
        check_indices(np.maximum(rows, 0) if rows.size else rows, max(out.shape[0], 1), 0)
        kept = (rows >= 0) & (rows < out.shape[0])
        out[...] = empty
        updates = x.reshape(rows.size, width)
        if not kept.all():
            rows, updates = rows[kept], updates[kept]
        put_rows(out.reshape(out.shape[0], width), rows, updates, combination)

    return body


def _empty(dtype: np.dtype[Any], name: str) -> Any:
    if name in ("Sum", "Prod"):
        return int(name == "Prod")
    limits: Any = np.iinfo(dtype) if dtype.kind in "iu" else ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return limits.min if name == "Max" else limits.max


@kernel("SegmentSum", "SegmentMax")
def _sorted(request: KernelRequest) -> Kernel:
    return prepared(request, quiet(_sorted_body(request), 3), elements(given(request, 0)))


@kernel("SegmentMaxD")
def _sorted_attribute(request: KernelRequest) -> Kernel:
    ids, inner = np.array(request.attributes["segment_ids"], np.int64), _sorted_body(request)
    _require_sorted(request.op_type, ids)
    return prepared(request, quiet(lambda x, out: inner(x, ids, out), 2), elements(given(request, 0)))


def _sorted_body(request: KernelRequest) -> Body:
    ufunc = np.add if request.op_type == "SegmentSum" else np.maximum
    if given(request, 0).dtype not in REALS and ufunc is np.maximum:
        raise refuse_dtype(request, "real dtypes")

    def body(x: Array, ids: Array, out: Array) -> None:
        _require_sorted(request.op_type, ids)
        require_shape(request.op_type, (int(ids[-1]) + 1 if ids.size else 0, *out.shape[1:]), out)
        _reduce_sorted(ufunc, x, ids, out)

    return body


def _require_sorted(op_type: str, ids: Array) -> None:
    if ids.size and (ids[0] < 0 or (np.diff(ids) < 0).any()):
        raise ValueError(f"operator {op_type}: segment ids must be from 0 and never fall; they are {ids.tolist()[:20]}")


def _reduce_sorted(ufunc: np.ufunc, rows: Array, ids: Array, out: Array) -> None:
    out.fill(0)
    if not ids.size:
        return
    starts = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1])))
    updates = rows.reshape(ids.size, math.prod(rows.shape[1:]))
    found = reduce_groups(ufunc, updates, np.arange(ids.size), starts)
    out[ids[starts]] = found.reshape(len(starts), *out.shape[1:]).astype(out.dtype, copy=False)


@kernel("SparseSegmentSum", "SparseSegmentMean")
def _sparse(request: KernelRequest) -> Kernel:
    """Rows by index, then as SegmentSum; the mean divides by the number of rows."""
    length = given(request, 0).shape[0]
    wide = compute_dtype(given(request, 0).dtype)

    def body(x: Array, indices: Array, ids: Array, out: Array) -> None:
        check_indices(indices, length, 0)
        _require_sorted(request.op_type, ids)
        require_shape(request.op_type, (int(ids[-1]) + 1 if ids.size else 0, *out.shape[1:]), out)
        total = np.zeros(out.shape, wide)
        _reduce_sorted(np.add, x[indices], ids, total)
        if request.op_type == "SparseSegmentMean":
            np.divide(total, _by_row(np.maximum(np.bincount(ids, minlength=len(out)), 1), total), total)
        np.copyto(out, total, casting="same_kind")

    return prepared(request, quiet(body, 4), 2 * elements(given(request, 0)))


@kernel("SparseSegmentSumGrad", "SparseSegmentMeanGrad")
def _sparse_grad(request: KernelRequest) -> Kernel:
    """Each row's gradient goes back to where it was taken from, divided by its segment's length for the mean."""
    length = given(request, 0).shape[0]
    wide = compute_dtype(given(request, 0).dtype)

    def body(grad: Array, indices: Array, ids: Array, count: Array, out: Array) -> None:
        require_shape(request.op_type, (int(count.reshape(())), *out.shape[1:]), out)
        check_indices(ids, length, 0)
        check_indices(indices, len(out), 0)
        updates = grad[ids].astype(wide)
        if request.op_type == "SparseSegmentMeanGrad":
            counts = np.bincount(ids, minlength=length)[ids]
            updates = np.divide(updates, _by_row(counts, updates)).astype(wide, copy=False)
        out.fill(0)
        width = math.prod(out.shape[1:])
        put_rows(out.reshape(len(out), width), indices, updates.reshape(indices.size, width), COMBINATIONS["Add"])

    return prepared(request, quiet(body, 5), 4 * elements(given(request, 0)))


def _by_row(counts: Array, rows: Array) -> Array:
    return counts.astype(rows.dtype).reshape((-1,) + (1,) * (rows.ndim - 1))
