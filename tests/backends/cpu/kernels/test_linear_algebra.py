"""Decompositions, by the equations that define them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from aacl.abc import Array
from aacl.errors import InvalidArgument, UnsupportedDataType

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


def _numbered(*shape: int, dtype: Any = np.float32) -> Array:
    return np.arange(1, math.prod(shape) + 1).reshape(shape).astype(dtype)


KINDS = [np.float32, np.float64, np.complex64, np.complex128]


def _matrix(shape: tuple[int, ...], kind: Any, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    found = rng.uniform(-1, 1, shape)
    if np.dtype(kind).kind == "c":
        found = found + 1j * rng.uniform(-1, 1, shape)
    return found.astype(kind)


def _positive(size: int, kind: Any) -> Array:
    half = _matrix((2, size, size), kind)
    return (half @ np.conj(half.swapaxes(-1, -2)) + size * np.eye(size)).astype(kind)


def _near(found: Array, exact: Any, kind: Any) -> None:
    real = np.finfo(np.dtype(kind)).eps
    np.testing.assert_allclose(found, exact, rtol=200 * real, atol=200 * real)


def _determinant(matrix: Any) -> Any:
    """Expand along the first row."""
    if not len(matrix):
        return 1
    return sum((-1) ** j * matrix[0][j] * _determinant([row[:j] + row[j + 1 :] for row in matrix[1:]])
               for j in range(len(matrix)))  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [0, 1, 4])
def test_determinants(run: Run, kind: Any, size: int) -> None:
    """By expansion; the logarithm's sign is the phase of a complex one."""
    x = _matrix((2, size, size), kind)
    exact = np.array([_determinant(matrix) for matrix in x.astype(np.complex128).tolist()])
    real = exact if np.dtype(kind).kind == "c" else exact.real
    _near(run("MatrixDeterminant", [x])[0], real, kind)
    sign, logarithm = run("LogMatrixDeterminant", [x])
    _near(sign * np.exp(logarithm), real, kind)
    _near(abs(sign), np.ones(2), kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("adjoint", [True, False])
def test_solving(run: Run, kind: Any, adjoint: bool) -> None:
    """What is found solves the equations, of the matrix or its conjugate transpose."""
    matrix, rhs = _positive(4, kind) + _matrix((2, 4, 4), kind, 1) / 4, _matrix((2, 4, 3), kind, 2)
    used = np.conj(matrix.swapaxes(-1, -2)) if adjoint else matrix
    (found,) = run("MatrixSolve", [matrix, rhs], {"adjoint": adjoint})
    _near(used @ found, rhs, kind)
    (inverse,) = run("MatrixInverse", [matrix], {"adjoint": adjoint})
    _near(used @ inverse, np.broadcast_to(np.eye(4), (2, 4, 4)), kind)
    for lower in (True, False):
        half = np.tril(matrix) if lower else np.triu(matrix)
        used = np.conj(half.swapaxes(-1, -2)) if adjoint else half
        (found,) = run("MatrixTriangularSolve", [matrix, rhs[0]], {"lower": lower, "adjoint": adjoint})
        _near(used @ found, np.broadcast_to(rhs[0], found.shape), kind)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_least_squares(run: Run, kind: Any) -> None:
    """The gradient of the objective vanishes, with and without a weight; few equations get the least solution."""
    for shape in ((5, 3), (3, 5)):
        matrix, rhs = _matrix(shape, kind), _matrix((shape[0], 2), kind, 1)
        for weight in (0.0, 0.5):
            (x,) = run("MatrixSolveLs", [matrix, rhs, np.float64(weight)])
            _near(matrix.T @ (matrix @ x - rhs) + weight * x, np.zeros(x.shape), kind)
            # A solution of least norm lies in the space of the rows.
            _near(np.linalg.pinv(matrix) @ (matrix @ x), x, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_tridiagonal(run: Run, kind: Any) -> None:
    """Three diagonals times the solution."""
    diagonals, rhs = _matrix((3, 4), kind) + np.array([[0], [3], [0]], kind), _matrix((4, 2), kind, 1)
    (x,) = run("TridiagonalSolve", [diagonals, rhs])
    upper, main, lower = diagonals
    exact = main[:, None] * x
    exact[:-1] += upper[:-1, None] * x[1:]
    exact[1:] += lower[1:, None] * x[:-1]
    _near(exact, rhs, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_factors(run: Run, kind: Any) -> None:
    """The factors multiply to the input, and have the form that each decomposition promises."""
    x = _positive(4, kind)
    (lower,) = run("Cholesky", [x])
    _near(lower @ np.conj(lower.swapaxes(-1, -2)), x, kind)
    assert (np.triu(lower, 1) == 0).all()
    values, vectors = run("SelfAdjointEig", [x])
    _near(x @ vectors, vectors * values[:, None, :], kind)
    assert (np.diff(values.real) >= 0).all()
    general = _matrix((2, 4, 4), kind, 3)
    lu, order = run("Lu", [general], {"output_idx_type": "INT64"})
    _near((np.tril(lu, -1) + np.eye(4)) @ np.triu(lu), np.take_along_axis(general, order[..., None], 1), kind)
    assert (abs(np.tril(lu, -1)) <= 1.0001).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 3, 3)])
def test_orthogonal_factors(run: Run, kind: Any, full: bool, shape: tuple[int, ...]) -> None:
    """q, u and v are orthonormal; the products are the input."""
    x = _matrix(shape, kind)
    q, r = run("Qr", [x], {"full_matrices": full})
    sigma, u, v = run("Svd", [x], {"full_matrices": full})
    _near(q @ r, x, kind)
    assert (np.tril(r, -1) == 0).all()
    inner = min(shape[-2:])
    _near(u[..., :inner] * sigma[..., None, :] @ np.conj(v[..., :inner].swapaxes(-1, -2)), x, kind)
    assert (np.diff(sigma.real) <= 0).all()
    for factor in (q, u, v):
        size = factor.shape[-1]
        unit = np.conj(factor.swapaxes(-1, -2)) @ factor
        _near(unit, np.broadcast_to(np.eye(size), unit.shape), kind)


def test_halves(run: Run) -> None:
    """Half precision goes through float32."""
    x = _positive(3, np.float32)[0].astype(np.float16)
    (lower,) = run("Cholesky", [x])
    q, r = run("Qr", [x])
    for left, right in ((lower, lower.T), (q, r)):
        np.testing.assert_allclose(left.astype(float) @ right.astype(float), x.astype(float), rtol=5e-3, atol=5e-3)


def test_what_is_not_asked_for_is_empty(run: Run) -> None:
    """Vectors cost most of the work."""
    x = _positive(3, np.float64)
    sigma, u, v = run("Svd", [x], {"compute_uv": False})
    values, vectors = run("SelfAdjointEig", [x], {"compute_v": False})
    assert [each.size for each in (u, v, vectors)] == [0, 0, 0]
    _near(np.sort(sigma), values, np.float64)


def test_failures_name_the_operator(run: Run) -> None:
    """Singular, not positive, not square."""
    zeros = np.zeros((2, 2), np.float32)
    for op_type, inputs in (("MatrixInverse", [zeros]), ("MatrixSolve", [zeros, zeros])):
        with pytest.raises(ValueError, match=f"operator {op_type}: Singular matrix"):
            run(op_type, inputs)
    with pytest.raises(ValueError, match="operator Cholesky: Matrix is not positive definite"):
        run("Cholesky", [-np.eye(2, dtype=np.float32)])
    for number in (np.inf, -np.inf, np.nan):  # LAPACK goes on for ever with an infinity
        x = np.where(np.eye(4, 3) > 0, np.float32(number), np.float32(1))
        with pytest.raises(ValueError, match="operator Svd: Infinity or NaN"):
            run("Svd", [x])
        with pytest.raises(ValueError, match="operator MatrixSolveLs: Infinity or NaN"):
            run("MatrixSolveLs", [x, np.ones((4, 1), np.float32), np.float64(0)])
    with pytest.raises(InvalidArgument, match="operator Lu: a matrix of the input is singular"):
        run("Lu", [zeros], {"output_idx_type": "INT32"})
    with pytest.raises(InvalidArgument, match=r"input x of shape \(2, 3\) must hold square matrices"):
        run("Cholesky", [np.zeros((2, 3), np.float32)])
    with pytest.raises(InvalidArgument, match="must have one number of rows"):
        run("MatrixSolve", [zeros, np.zeros((3, 2), np.float32)])
    with pytest.raises(UnsupportedDataType, match="COMPLEX64"):
        run("MatrixSolveLs", [zeros.astype(np.complex64), zeros.astype(np.complex64), np.float64(0)])


@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0)])
def test_factors_of_nothing(run: Run, shape: tuple[int, ...]) -> None:
    """No matrices, or matrices of no elements, have factors of as many."""
    lu, order = run("Lu", [np.zeros(shape, np.float32)], {"output_idx_type": "INT32"})

    assert lu.shape == shape
    assert order.shape == shape[:-1]
