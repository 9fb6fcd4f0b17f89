"""Outputs of operators on triangles and diagonals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._agreement import require_equal_dtypes
from aacl.ops._infer._dims import FREE, Dim, Shape, fixed, product
from aacl.ops._infer._requirements import require_matrices, require_ones
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("MatrixBandPart", "FillDiagonal")
def like_matrix(call: Call) -> Sequence[Output]:
    """As the input, which has 2 dims at least."""
    require_matrices(call, 0)
    require_ones(call, "num_lower", "num_upper")
    return [call.like(0, call.shape(0))]


@rule("Diag", "DiagD")
def diag(call: Call) -> Sequence[Output]:
    """The dims twice."""
    shape = call.shape(0)
    return [Output(call.desc(0).dtype, None if shape is None else shape * 2)]


@rule("DiagPart", "DiagPartD")
def diag_part(call: Call) -> Sequence[Output]:
    """The first half of the dims, which the second half repeats."""
    shape = call.shape(0)
    if shape is None:
        return [Output(call.desc(0).dtype, None)]
    half = len(shape) // 2
    met = [a.meets(b) for a, b in zip(shape[:half], shape[half:], strict=False)]
    if len(shape) % 2 or not shape or None in met:
        raise call.error(f"{call.titled(0)} must be some dims twice")
    return [Output(call.desc(0).dtype, tuple(dim for dim in met if dim is not None))]


@rule("DiagV2")
def diag_offset(call: Call) -> Sequence[Output]:
    """A square matrix of a vector; the diagonal of a matrix."""
    shape, offset = call.shape(0), call.attributes["diagonal"]
    if shape is None:
        return [Output(call.desc(0).dtype, None)]
    if len(shape) not in (1, 2):
        raise call.error(f"{call.titled(0)} must have one or 2 dims")
    if len(shape) == 1:
        side = shape[0].shifted(abs(offset))
        return [Output(call.desc(0).dtype, (side, side))]
    return [Output(call.desc(0).dtype, (_diagonal(shape, offset),))]


@rule("DiagFlat")
def diag_flat(call: Call) -> Sequence[Output]:
    """A square matrix of all elements."""
    shape = call.shape(0)
    side = FREE if shape is None else product(shape).shifted(abs(call.attributes["diagonal"]))
    return [Output(call.desc(0).dtype, (side, side))]


@rule("Trace")
def trace(call: Call) -> Sequence[Output]:
    """One element; integers and bool sum up in int64."""
    shape, dtype = call.shape(0), call.desc(0).dtype
    if shape is not None and len(shape) != 2:
        raise call.error(f"{call.titled(0)} must have 2 dims")
    return [Output(dtype if dtype in call.schema.outputs[0].dtypes else DataType.INT64, ())]


@rule("MatrixDiag", "MatrixDiagD")
def matrix_diag(call: Call) -> Sequence[Output]:
    """The last dim twice."""
    shape = call.shape(0)
    if shape is not None and not shape:
        raise call.error(f"{call.titled(0)} needs one dim at least")
    return [Output(call.desc(0).dtype, None if shape is None else (*shape, shape[-1]))]


@rule("MatrixDiagPart", "MatrixDiagPartD")
def matrix_diag_part(call: Call) -> Sequence[Output]:
    """The smaller of the last two dims in their place."""
    shape = require_matrices(call, 0)
    return [Output(call.desc(0).dtype, None if shape is None else (*shape[:-2], _diagonal(shape, 0)))]


@rule("MatrixDiagPartV2", "MatrixDiagPartV3")
def matrix_diag_part_banded(call: Call) -> Sequence[Output]:
    """The packed diagonals of each matrix."""
    require_ones(call, "padding_value")
    shape, band = require_matrices(call, 0), _band(call, 1)
    if shape is None or band is None:
        return [Output(call.desc(0).dtype, None)]
    return [Output(call.desc(0).dtype, _packed(call, shape, *band))]


@rule("MatrixDiagV2", "MatrixDiagV3")
def matrix_diag_banded(call: Call) -> Sequence[Output]:
    """Matrices of the sizes asked for, or as small as the diagonals allow."""
    require_ones(call, "padding_value")
    shape, band = call.shape(0), _band(call, 1)
    sizes = call.integer(2), call.integer(3)
    if shape is None or band is None or None in sizes:
        return [Output(call.desc(0).dtype, None)]
    low, high = band
    lead = shape[:-1] if low == high else shape[:-2]
    count = high - low + 1
    if len(shape) < (1 if low == high else 2) or (count > 1 and not shape[-2].meets(Dim(count, count))):
        raise call.error(f"{call.titled(0)} does not hold the {count} diagonals {low} to {high}")
    rows, columns = (_asked(size) for size in sizes)
    longest = shape[-1]
    rows, columns = _completed(rows, columns, longest, low, high)
    for side, least in ((rows, longest.shifted(max(-high, 0))), (columns, longest.shifted(max(low, 0)))):
        if side.most < least.least:
            raise call.error(
                f"diagonals {low} to {high} of {call.titled(0)} do not fit {rows} rows and {columns} columns"
            )
    return [Output(call.desc(0).dtype, (*lead, rows, columns))]


@rule("MatrixSetDiag", "MatrixSetDiagD")
def matrix_set_diag(call: Call) -> Sequence[Output]:
    """As the input; the diagonal is as long as the smaller of its last two dims."""
    require_equal_dtypes(call, (0, 1))
    shape, diagonal = require_matrices(call, 0), call.shape(1)
    if shape is not None:
        _require(call, 1, diagonal, (*shape[:-2], _diagonal(shape, 0)))
    return [call.like(0, shape)]


@rule("MatrixSetDiagV2", "MatrixSetDiagV3")
def matrix_set_diag_banded(call: Call) -> Sequence[Output]:
    """As the input; the diagonals come packed."""
    require_equal_dtypes(call, (0, 1))
    shape, band = require_matrices(call, 0), _band(call, 2)
    if shape is not None and band is not None:
        _require(call, 1, call.shape(1), _packed(call, shape, *band))
    return [call.like(0, shape)]


def _band(call: Call, index: int) -> tuple[int, int] | None:
    """Return the lowest and the highest diagonal that a value input names."""
    numbers = call.integers(index)
    if numbers is None:
        return None
    if len(numbers) not in (1, 2) or numbers[0] > numbers[-1]:
        raise call.error(f"k {numbers} is one diagonal, or the lowest and the highest")
    return numbers[0], numbers[-1]


def _diagonal(shape: tuple[Dim, ...], offset: int) -> Dim:
    """Return the length of a diagonal of the last two dims."""
    rows, columns = shape[-2].shifted(min(offset, 0)), shape[-1].shifted(-max(offset, 0))
    return Dim(min(rows.least, columns.least), min(rows.most, columns.most))


def _packed(call: Call, shape: tuple[Dim, ...], low: int, high: int) -> tuple[Dim, ...]:
    if (low, high) != (0, 0) and not -shape[-2].most < low <= high < shape[-1].most:
        raise call.error(f"diagonals {low} to {high} lie outside the matrices of {call.titled(0)}")
    lengths = [_diagonal(shape, d) for d in range(low, high + 1)]
    width = Dim(max(length.least for length in lengths), max(length.most for length in lengths))
    return (*shape[:-2], *(fixed(len(lengths)) if low < high else ()), width)


def _asked(size: int | None) -> Dim | None:
    return None if size is None or size < 0 else Dim(size, size)


def _completed(rows: Dim | None, columns: Dim | None, longest: Dim, low: int, high: int) -> tuple[Dim, Dim]:
    """Fill in the sizes that were not asked for: a square, or what the longest diagonal needs."""
    least_rows, least_columns = longest.shifted(max(-high, 0)), longest.shifted(max(low, 0))
    if rows is None and columns is None:
        side = Dim(max(least_rows.least, least_columns.least), max(least_rows.most, least_columns.most))
        return side, side
    return least_rows if rows is None else rows, least_columns if columns is None else columns


def _require(call: Call, index: int, found: Shape, wanted: tuple[Dim, ...]) -> None:
    if found is not None and (len(found) != len(wanted) or not all(map(Dim.meets, found, wanted))):
        raise call.error(f"{call.titled(index)} must have shape {wanted}")
