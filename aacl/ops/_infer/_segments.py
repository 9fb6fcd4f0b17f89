"""Outputs of operators that reduce rows by segment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.ops._infer._dims import FREE, Dim, Shape
from aacl.ops._infer._requirements import require_rank
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin")
def unsorted(call: Call) -> Sequence[Output]:
    """``num_segments`` rows; the ids' dims are the first ones of ``x``."""
    return [_unsorted(call, call.integer(2))]


@rule("UnsortedSegmentSumD", "UnsortedSegmentProdD", "UnsortedSegmentMaxD", "UnsortedSegmentMinD")
def unsorted_attribute(call: Call) -> Sequence[Output]:
    """As UnsortedSegmentSum, with an attribute."""
    return [_unsorted(call, call.attributes["num_segments"])]


@rule("SegmentSum", "SegmentMax")
def sorted_(call: Call) -> Sequence[Output]:
    """As many rows as the last id says, plus one."""
    require_rank(call, 1, 1)
    shape = call.shape(0)
    _require_rows(call, shape, call.shape(1), 1)
    return [_by_ids(call, shape, call.integers(1))]


@rule("SegmentMaxD")
def sorted_attribute(call: Call) -> Sequence[Output]:
    """As SegmentMax, with an attribute."""
    shape, ids = call.shape(0), call.attributes["segment_ids"]
    if shape is not None and (not shape or not shape[0].meets(Dim(len(ids), len(ids)))):
        raise call.error(f"{len(ids)} segment_ids do not fit {call.titled(0)}: one for each row")
    return [_by_ids(call, shape, ids)]


@rule("SparseSegmentSum", "SparseSegmentMean")
def sparse(call: Call) -> Sequence[Output]:
    """As SegmentSum of the rows that the indices pick."""
    _require_pairs(call)
    return [_by_ids(call, call.shape(0), call.integers(2))]


@rule("SparseSegmentSumGrad", "SparseSegmentMeanGrad")
def sparse_grad(call: Call) -> Sequence[Output]:
    """As many rows as the fourth input says."""
    _require_pairs(call)
    shape, count = call.shape(0), call.integer(3)
    if count is not None and count < 0:
        raise call.error(f"output_dim0 is {count}; it must not be negative")
    if shape is None:
        return [call.like(0, None)]
    return [call.like(0, (FREE if count is None else Dim(count, count), *shape[1:]))]


def _unsorted(call: Call, count: int | None) -> Output:
    shape, ids = call.shape(0), call.shape(1)
    if count is not None and count < 0:
        raise call.error(f"num_segments is {count}; it must not be negative")
    if shape is None or ids is None:
        return call.like(0, None)
    if len(ids) > len(shape) or any(not a.meets(b) for a, b in zip(ids, shape, strict=False)):
        raise call.mismatch(0, 1, "do not fit: the ids' dims are the first ones of x")
    return call.like(0, (FREE if count is None else Dim(count, count), *shape[len(ids) :]))


def _by_ids(call: Call, shape: Shape, ids: Sequence[int] | None) -> Output:
    if shape is None:
        return call.like(0, None)
    if ids is None:
        return call.like(0, (FREE, *shape[1:]))
    if any(later < earlier for earlier, later in zip((0, *ids), ids, strict=False)):
        raise call.error(f"segment ids {tuple(ids)} must be from 0 and never fall")
    count = ids[-1] + 1 if ids else 0
    return call.like(0, (Dim(count, count), *shape[1:]))


def _require_pairs(call: Call) -> None:
    """Check that there is one index for each id."""
    shape = call.shape(0)
    if shape is not None and not shape:
        raise call.error(f"{call.titled(0)} needs one dim at least")
    for index in (1, 2):
        require_rank(call, index, 1)
    indices, ids = call.shape(1), call.shape(2)
    if indices is not None and ids is not None and not indices[0].meets(ids[0]):
        raise call.mismatch(1, 2, "must have one length")


def _require_rows(call: Call, shape: Shape, ids: Shape, index: int) -> None:
    if shape is not None and not shape:
        raise call.error(f"{call.titled(0)} needs one dim at least")
    if shape is not None and ids is not None and not shape[0].meets(ids[0]):
        raise call.mismatch(0, index, "do not fit: one id for each row")
