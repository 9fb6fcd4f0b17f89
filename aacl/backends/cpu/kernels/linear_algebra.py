"""Decompositions, inverses and determinants of matrices, which are the last two dims.

LAPACK does the work, in float32 for float32 and half precision, else in the dtype's own precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._precision import compute_dtype
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, kernel, prepared, refuse_dtype
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.abc import Array, Kernel, KernelRequest
    from aacl.backends.cpu.kernels._registry import Body

__all__ = ()


def _made(request: KernelRequest, body: Body) -> Kernel:
    """Return a kernel of cubic cost whose failures name the operator."""

    def run(*arrays: Array) -> None:
        try:
            body(*arrays)
        except np.linalg.LinAlgError as failure:
            raise ValueError(f"operator {request.op_type}: {failure}, in a matrix of the input") from failure

    shape = given(request, 0).shape
    work = 2 * elements(given(request, 0)) * max(shape[-2:], default=1)
    return prepared(request, quiet(run, len(request.inputs) + len(request.outputs)), work)


def _require_finite(matrices: Array) -> None:
    """Refuse infinities, with which LAPACK's singular values go on for ever, and NaN.

    Raises:
        LinAlgError: there is one.
    """
    if not np.isfinite(matrices).all():
        raise np.linalg.LinAlgError("Infinity or NaN")


@kernel("MatrixDeterminant")
def _determinant(request: KernelRequest) -> Kernel:
    return _made(request, lambda x, out: np.copyto(out, np.linalg.det(x)))


@kernel("LogMatrixDeterminant")
def _log_determinant(request: KernelRequest) -> Kernel:
    """The sign, or the phase of a complex one, and the logarithm of the absolute value."""

    def body(x: Array, sign: Array, out: Array) -> None:
        found = np.linalg.slogdet(x)
        np.copyto(sign, found[0])
        np.copyto(out, found[1])

    return _made(request, body)


@kernel("MatrixInverse")
def _inverse(request: KernelRequest) -> Kernel:
    """``adjoint`` inverts the conjugate transpose."""
    is_adjoint = request.attributes["adjoint"]
    return _made(request, lambda x, out: np.copyto(out, np.linalg.inv(_adjoint(x) if is_adjoint else x)))


@kernel("MatrixSolve")
def _solve(request: KernelRequest) -> Kernel:
    """``adjoint`` solves with the conjugate transpose."""
    is_adjoint = request.attributes["adjoint"]

    def body(matrix: Array, rhs: Array, out: Array) -> None:
        np.copyto(out, np.linalg.solve(_adjoint(matrix) if is_adjoint else matrix, rhs))

    return _made(request, body)


@kernel("MatrixTriangularSolve")
def _triangular_solve(request: KernelRequest) -> Kernel:
    """Only the triangle that ``lower`` names is read; leading dims broadcast."""
    is_lower, is_adjoint = request.attributes["lower"], request.attributes["adjoint"]

    def body(matrix: Array, rhs: Array, out: Array) -> None:
        half = np.tril(matrix) if is_lower else np.triu(matrix)
        np.copyto(out, np.linalg.solve(_adjoint(half) if is_adjoint else half, rhs))

    return _made(request, body)


@kernel("MatrixSolveLs")
def _least_squares(request: KernelRequest) -> Kernel:
    """The least squares solution with ``l2`` times the squared norm added; of several the one of least norm."""
    if given(request, 0).dtype is not request.outputs[0].dtype:
        raise refuse_dtype(request, "FLOAT and DOUBLE")

    def body(matrix: Array, rhs: Array, l2: Array, out: Array) -> None:
        weight = float(l2.reshape(()))
        if not weight:
            _require_finite(matrix)
            np.copyto(out, np.matmul(np.linalg.pinv(matrix), rhs))
            return
        adjoint = _adjoint(matrix)
        square = np.matmul(adjoint, matrix) + (weight * np.eye(matrix.shape[-1])).astype(matrix.dtype)
        np.copyto(out, np.linalg.solve(square, np.matmul(adjoint, rhs)))

    return _made(request, body)


@kernel("TridiagonalSolve")
def _tridiagonal(request: KernelRequest) -> Kernel:
    """The three rows of ``diagonals`` are the upper one, which ends early, the main one, and the lower one."""

    def body(diagonals: Array, rhs: Array, out: Array) -> None:
        size = rhs.shape[-2]
        matrix = np.zeros((*diagonals.shape[:-2], size, size), diagonals.dtype)
        places = np.arange(size)
        matrix[..., places, places] = diagonals[..., 1, :]
        matrix[..., places[:-1], places[1:]] = diagonals[..., 0, :-1]
        matrix[..., places[1:], places[:-1]] = diagonals[..., 2, 1:]
        np.copyto(out, np.linalg.solve(matrix, rhs))

    return _made(request, body)


def _adjoint(matrix: Array) -> Array:
    return np.conj(np.swapaxes(matrix, -1, -2))


@kernel("Cholesky")
def _cholesky(request: KernelRequest) -> Kernel:
    """The lower factor; only the lower triangle is read."""
    dtype = compute_dtype(given(request, 0).dtype)

    def body(x: Array, out: Array) -> None:
        np.copyto(out, np.linalg.cholesky(x.astype(dtype, copy=False)), casting="same_kind")

    return _made(request, body)


@kernel("Qr")
def _qr(request: KernelRequest) -> Kernel:
    """With ``full_matrices`` q is square."""
    dtype = compute_dtype(given(request, 0).dtype)
    is_full = request.attributes["full_matrices"]

    def body(x: Array, q: Array, r: Array) -> None:
        found = np.linalg.qr(x.astype(dtype, copy=False), "complete" if is_full else "reduced")
        np.copyto(q, found[0], casting="same_kind")
        np.copyto(r, found[1], casting="same_kind")

    return _made(request, body)


@kernel("Svd")
def _svd(request: KernelRequest) -> Kernel:
    """Singular values from the greatest, u and v with ``x = u * sigma * v^H``; u and v are empty if not asked for."""
    has_vectors, is_full = request.attributes["compute_uv"], request.attributes["full_matrices"]

    def body(x: Array, sigma: Array, u: Array, v: Array) -> None:
        _require_finite(x)
        if not has_vectors:
            np.copyto(sigma, np.linalg.svd(x, compute_uv=False))
            return
        left, values, right = np.linalg.svd(x, full_matrices=is_full)
        np.copyto(sigma, values)
        np.copyto(u, left)
        np.copyto(v, _adjoint(right))

    return _made(request, body)


@kernel("SelfAdjointEig")
def _self_adjoint_eigen(request: KernelRequest) -> Kernel:
    """Eigenvalues from the least; only the lower triangle is read. The vectors are empty if not asked for."""
    has_vectors = request.attributes["compute_v"]

    def body(x: Array, values: Array, vectors: Array) -> None:
        if not has_vectors:
            np.copyto(values, np.linalg.eigvalsh(x))
            return
        found = np.linalg.eigh(x)
        np.copyto(values, found[0])
        np.copyto(vectors, found[1])

    return _made(request, body)


@kernel("Lu")
def _lu(request: KernelRequest) -> Kernel:
    """Both factors in one matrix, and the order of rows: ``x[p] = L @ U`` with ones on L's diagonal."""

    def body(x: Array, lu: Array, order: Array) -> None:
        size = x.shape[-1]
        np.copyto(lu, x)
        if not lu.size:
            return
        for matrix, rows in zip(lu.reshape(-1, size, size), order.reshape(-1, size), strict=True):
            rows[...] = np.arange(size)
            _factor(matrix, rows)

    return _made(request, body)


def _factor(matrix: Array, rows: Array) -> None:
    """Factor one matrix in place, with the greatest element of each column as its pivot."""
    for step in range(len(matrix)):
        pivot = step + int(np.argmax(np.abs(matrix[step:, step])))
        if not matrix[pivot, step]:
            raise InvalidArgument("operator Lu: a matrix of the input is singular")
        if pivot != step:
            matrix[[step, pivot]] = matrix[[pivot, step]]
            rows[[step, pivot]] = rows[[pivot, step]]
        below = matrix[step + 1 :, step]
        below /= matrix[step, step]
        matrix[step + 1 :, step + 1 :] -= np.multiply.outer(below, matrix[step, step + 1 :])
