"""Outputs of searches in sorted sequences, and of histograms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._agreement import require_equal_dtypes
from aacl.ops._infer._asked import asked_dtype
from aacl.ops._infer._dims import FREE, Dim, Shape, product
from aacl.ops._infer._requirements import require_ones, require_rank
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("Bucketize")
def bucketize(call: Call) -> Sequence[Output]:
    """As the input, of the dtype asked for."""
    return [Output(asked_dtype(call, "dtype"), call.shape(0))]


@rule("SearchSorted")
def search(call: Call) -> Sequence[Output]:
    """As the values; the sequence is one for all, or has their leading dims."""
    require_equal_dtypes(call, (0, 1))
    sequence, values = call.shape(0), call.shape(1)
    if sequence is not None and not sequence:
        raise call.error(f"{call.titled(0)} needs one dim at least")
    if sequence is not None and values is not None and len(sequence) > 1 and not _same_rows(sequence, values):
        raise call.mismatch(0, 1, "must agree in all dims but the last, unless the sequence has one dim")
    if call.has(2) and sequence is not None:
        sorter = call.shape(2)
        if sorter is not None and (len(sorter) != len(sequence) or not all(map(Dim.meets, sorter, sequence))):
            raise call.mismatch(0, 2, "must have one shape")
    return [Output(asked_dtype(call, "dtype"), values)]


@rule("LowerBound", "UpperBound")
def bound(call: Call) -> Sequence[Output]:
    """As the values, row by row."""
    require_equal_dtypes(call, (0, 1))
    for index in (0, 1):
        require_rank(call, index, 2)
    sequence, values = call.shape(0), call.shape(1)
    if sequence is not None and values is not None and not _same_rows(sequence, values):
        raise call.mismatch(0, 1, "must have one number of rows")
    return [Output(asked_dtype(call, "out_type"), values)]


@rule("Histogram")
def histogram(call: Call) -> Sequence[Output]:
    """``bins`` counts of the input's dtype, float for half precision."""
    return [Output(call.result(call.desc(0).dtype), _bins(call, call.attributes["bins"]))]


@rule("HistogramV2")
def histogram_of_range(call: Call) -> Sequence[Output]:
    """``bins`` int32 counts."""
    require_ones(call, "min", "max")
    return [Output(DataType.INT32, _bins(call, call.attributes["bins"]))]


@rule("HistogramFixedWidth")
def fixed_width(call: Call) -> Sequence[Output]:
    """``nbins`` int32 counts."""
    _check_range(call)
    count = call.integer(2)
    return [Output(asked_dtype(call, "dtype"), (FREE,) if count is None else _bins(call, count))]


@rule("HistogramFixedWidthD")
def fixed_width_attribute(call: Call) -> Sequence[Output]:
    """As HistogramFixedWidth, with an attribute."""
    _check_range(call)
    return [Output(asked_dtype(call, "dtype"), _bins(call, call.attributes["nbins"]))]


@rule("Bincount")
def bincount(call: Call) -> Sequence[Output]:
    """``size`` counts of the weights' dtype."""
    _check_weights(call)
    return [Output(call.desc(2).dtype, (_size(call),))]


@rule("DenseBincount")
def dense_bincount(call: Call) -> Sequence[Output]:
    """``size`` counts, for each row if there are rows."""
    shape = call.shape(0)
    if shape is not None and len(shape) not in (1, 2):
        raise call.error(f"{call.titled(0)} must have one or 2 dims")
    _check_weights(call)
    return [Output(call.desc(2).dtype, None if shape is None else (*shape[:-1], _size(call)))]


def _check_weights(call: Call) -> None:
    """Refuse weights that are neither none nor one for each number."""
    numbers, weights = call.shape(0), call.shape(2)
    if numbers is None or weights is None or product(weights).least == 0 or call.attributes.get("binary_output"):
        return
    is_flat = call.schema.op_type == "Bincount"
    if is_flat and product(weights).meets(product(numbers)):
        return
    if not is_flat and len(weights) == len(numbers) and all(map(Dim.meets, weights, numbers)):
        return
    raise call.mismatch(0, 2, "do not fit: there is one weight for each number, or none at all")


def _size(call: Call) -> Dim:
    size = call.integer(1)
    if size is not None and size < 0:
        raise call.error(f"size is {size}; it must not be negative")
    return FREE if size is None else Dim(size, size)


def _bins(call: Call, count: int) -> Shape:
    if count < 1:
        raise call.error(f"{count} bins are asked for; there must be one at least")
    return (Dim(count, count),)


def _check_range(call: Call) -> None:
    require_equal_dtypes(call, (0, 1))
    shape = call.shape(1)
    if shape is not None and (len(shape) != 1 or not shape[0].meets(Dim(2, 2))):
        raise call.error(f"{call.titled(1)} must hold two numbers")


def _same_rows(left: tuple[Dim, ...], right: tuple[Dim, ...]) -> bool:
    return len(left) == len(right) and all(a.meets(b) for a, b in zip(left[:-1], right[:-1], strict=True))
