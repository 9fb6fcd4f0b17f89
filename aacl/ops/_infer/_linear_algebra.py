"""Outputs of decompositions, inverses and determinants of matrices, which are the last two dims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.ops._infer._agreement import require_equal_dtypes
from aacl.ops._infer._asked import asked_dtype
from aacl.ops._infer._dims import Dim, Shape, broadcast, fixed
from aacl.ops._infer._requirements import require_matrices, require_ones
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()


@rule("MatrixDeterminant")
def determinant(call: Call) -> Sequence[Output]:
    """One number a matrix."""
    return [_without_matrix(call, _square(call, 0))]


@rule("LogMatrixDeterminant")
def log_determinant(call: Call) -> Sequence[Output]:
    """Two numbers a matrix."""
    return [_without_matrix(call, _square(call, 0))] * 2


@rule("MatrixInverse", "Cholesky")
def like_square(call: Call) -> Sequence[Output]:
    """As the input, square matrices."""
    return [call.like(0, _square(call, 0))]


@rule("MatrixSolve")
def solve(call: Call) -> Sequence[Output]:
    """As the right-hand sides."""
    require_equal_dtypes(call, (0, 1))
    matrix, rhs = _square(call, 0), require_matrices(call, 1)
    if matrix is not None and rhs is not None:
        _require_rows(call, matrix, rhs)
        if len(matrix) != len(rhs) or not all(map(Dim.meets, matrix[:-2], rhs[:-2])):
            raise call.mismatch(0, 1, "must have the same leading dims")
    return [call.like(1, rhs)]


@rule("MatrixTriangularSolve")
def triangular_solve(call: Call) -> Sequence[Output]:
    """As the right-hand sides; the leading dims broadcast."""
    require_equal_dtypes(call, (0, 1))
    matrix, rhs = _square(call, 0), require_matrices(call, 1)
    if matrix is None or rhs is None:
        return [call.like(1, None)]
    _require_rows(call, matrix, rhs)
    return [call.like(1, (*_leading(call, matrix, rhs), *rhs[-2:]))]


@rule("MatrixSolveLs")
def least_squares(call: Call) -> Sequence[Output]:
    """``(n, k)`` of ``(m, n)`` and ``(m, k)``."""
    require_ones(call, "l2")
    require_equal_dtypes(call, (0, 1))
    matrix, rhs = require_matrices(call, 0), require_matrices(call, 1)
    if matrix is None or rhs is None:
        return [call.like(1, None)]
    _require_rows(call, matrix, rhs)
    return [call.like(1, (*_leading(call, matrix, rhs), matrix[-1], rhs[-1]))]


@rule("TridiagonalSolve")
def tridiagonal(call: Call) -> Sequence[Output]:
    """As the right-hand sides; three diagonals of their length."""
    require_equal_dtypes(call, (0, 1))
    diagonals, rhs = require_matrices(call, 0), require_matrices(call, 1)
    if diagonals is not None and rhs is not None:
        wanted = (*rhs[:-2], fixed(3)[0], rhs[-2])
        if len(diagonals) != len(wanted) or not all(map(Dim.meets, diagonals, wanted)):
            raise call.mismatch(0, 1, f"do not fit: the diagonals have shape {wanted}")
    return [call.like(1, rhs)]


@rule("Qr")
def qr(call: Call) -> Sequence[Output]:
    """Q and r, cut to the smaller side unless full matrices are asked for."""
    shape = require_matrices(call, 0)
    if shape is None:
        return [call.like(0, None), call.like(0, None, 1)]
    rows, columns = shape[-2:]
    inner = rows if call.attributes["full_matrices"] else _smaller(rows, columns)
    return [call.like(0, (*shape[:-1], inner)), call.like(0, (*shape[:-2], inner, columns), 1)]


@rule("Svd")
def svd(call: Call) -> Sequence[Output]:
    """Singular values, u and v; the latter two are empty where they are not asked for."""
    shape, dtype = require_matrices(call, 0), call.desc(0).dtype
    empty = Output(dtype, fixed(0))
    if shape is None:
        return [Output(dtype, None)] * 3 if call.attributes["compute_uv"] else [Output(dtype, None), empty, empty]
    rows, columns = shape[-2:]
    inner = _smaller(rows, columns)
    sigma = Output(dtype, (*shape[:-2], inner))
    if not call.attributes["compute_uv"]:
        return [sigma, empty, empty]
    is_full = call.attributes["full_matrices"]
    left, right = (rows, columns) if is_full else (inner, inner)
    return [sigma, Output(dtype, (*shape[:-2], rows, left)), Output(dtype, (*shape[:-2], columns, right))]


@rule("SelfAdjointEig")
def self_adjoint_eigen(call: Call) -> Sequence[Output]:
    """Values and vectors; the latter are empty where they are not asked for."""
    shape, dtype = _square(call, 0), call.desc(0).dtype
    values = Output(dtype, None if shape is None else shape[:-1])
    return [values, Output(dtype, shape if call.attributes["compute_v"] else fixed(0))]


@rule("Lu")
def lu(call: Call) -> Sequence[Output]:
    """Both factors in one matrix, and an order of rows."""
    shape = _square(call, 0)
    order = Output(asked_dtype(call, "output_idx_type", 1), None if shape is None else shape[:-1])
    return [call.like(0, shape), order]


def _square(call: Call, index: int) -> Shape:
    shape = require_matrices(call, index)
    if shape is None:
        return None
    side = shape[-2].meets(shape[-1])
    if side is None:
        raise call.error(f"{call.titled(index)} must hold square matrices")
    return (*shape[:-2], side, side)


def _require_rows(call: Call, matrix: tuple[Dim, ...], rhs: tuple[Dim, ...]) -> None:
    if not matrix[-2].meets(rhs[-2]):
        raise call.mismatch(0, 1, "must have one number of rows")


def _leading(call: Call, matrix: tuple[Dim, ...], rhs: tuple[Dim, ...]) -> tuple[Dim, ...]:
    lead = broadcast(matrix[:-2], rhs[:-2])
    if lead is None:
        raise call.mismatch(0, 1, "have leading dims that do not broadcast")
    return lead


def _without_matrix(call: Call, shape: Shape) -> Output:
    return Output(call.desc(0).dtype, None if shape is None else shape[:-2])


def _smaller(left: Dim, right: Dim) -> Dim:
    return Dim(min(left.least, right.least), min(left.most, right.most))
