"""Triangles and diagonals of matrices.

The matrices are the last two dims. A diagonal ``k`` above 0 lies above the main one. In the banded forms (V2, V3)
``k`` is one diagonal or the lowest and the highest of several, which come packed with the highest first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from aacl.backends.cpu.kernels._precision import INTEGERS
from aacl.backends.cpu.kernels._quiet import quiet
from aacl.backends.cpu.kernels._registry import elements, given, integers, kernel, prepared
from aacl.backends.cpu.kernels._rows import started
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aacl.abc import Array, Kernel, KernelRequest

__all__ = ()

_ALIGNMENTS = ("LEFT_LEFT", "LEFT_RIGHT", "RIGHT_LEFT", "RIGHT_RIGHT")


@kernel("Tril", "Triu")
def _triangle(request: KernelRequest) -> Kernel:
    """The lower or upper triangle with diagonal ``diagonal``, 0 elsewhere."""
    rows, columns = _matrix(request)
    steps = np.arange(columns) - np.arange(rows)[:, None]
    offset = request.attributes["diagonal"]
    outside = steps > offset if request.op_type == "Tril" else steps < offset

    def body(x: Array, out: Array) -> None:
        started(out, x)
        np.copyto(out, np.zeros((), out.dtype), where=outside)

    return prepared(request, body, in_place=True)


@kernel("MatrixBandPart")
def _band(request: KernelRequest) -> Kernel:
    """The main diagonal with so many below and above it; a negative number keeps all."""
    rows, columns = _matrix(request)
    steps = np.arange(columns) - np.arange(rows)[:, None]

    def body(x: Array, lower: Array, upper: Array, out: Array) -> None:
        below, above = int(lower.reshape(())), int(upper.reshape(()))
        outside = ((below >= 0) & (-steps > below)) | ((above >= 0) & (steps > above))
        started(out, x)
        np.copyto(out, np.zeros((), out.dtype), where=outside)

    return prepared(request, body, in_place=True)


def _matrix(request: KernelRequest) -> tuple[int, int]:
    shape = given(request, 0).shape
    if len(shape) < 2:
        raise InvalidArgument(f"operator {request.op_type}: input shape {shape} needs 2 dims at least")
    return shape[-2], shape[-1]


@kernel("Eye")
def _eye(request: KernelRequest) -> Kernel:
    """Ones on the main diagonal of every matrix."""
    count = min(request.outputs[0].shape[-2:])

    def body(out: Array) -> None:
        out.fill(0)
        places = np.arange(count)
        out[..., places, places] = 1

    return prepared(request, body)


@kernel("Diag", "DiagD")
def _diag(request: KernelRequest) -> Kernel:
    """A tensor of twice the rank with the elements on its diagonal."""

    def body(x: Array, *others: Array) -> None:
        out = others[-1]
        out.fill(0)
        _square(out, x.size)[...] = x.reshape(-1)

    return prepared(request, body)


@kernel("DiagPart", "DiagPartD")
def _diag_part(request: KernelRequest) -> Kernel:
    """The diagonal of a tensor whose dims come twice."""
    shape = given(request, 0).shape
    if len(shape) % 2 or shape[: len(shape) // 2] != shape[len(shape) // 2 :]:
        raise InvalidArgument(f"operator {request.op_type}: shape {shape} is not some dims twice")

    def body(x: Array, *others: Array) -> None:
        others[-1].reshape(-1)[...] = _square(x, others[-1].size)

    return prepared(request, body)


def _square(array: Array, size: int) -> Array:
    """Return the diagonal of a tensor seen as a square matrix; writes go to it."""
    return array.reshape(-1)[:: size + 1]


@kernel("DiagV2", "DiagFlat")
def _diag_offset(request: KernelRequest) -> Kernel:
    """As torch.diag and diagflat: a matrix with the elements on a diagonal, or the diagonal of a matrix."""
    offset, rank = request.attributes["diagonal"], len(given(request, 0).shape)
    is_part = request.op_type == "DiagV2" and rank == 2

    def body(x: Array, out: Array) -> None:
        if is_part:
            np.copyto(out, np.diagonal(x, offset))
            return
        out.fill(0)
        places = np.arange(x.size)
        out[places + max(-offset, 0), places + max(offset, 0)] = x.reshape(-1)

    return prepared(request, body)


@kernel("FillDiagonal")
def _fill_diagonal(request: KernelRequest) -> Kernel:
    """As torch's fill_diagonal: ``wrap`` goes on after a tall matrix's last column."""
    value, wrap = request.attributes["fill_value"], request.attributes["wrap"]
    filling, shape = _fitting(request, value), given(request, 0).shape
    if len(shape) > 2 and len(set(shape)) > 1:
        raise InvalidArgument(f"operator FillDiagonal: shape {shape} of more than two dims must have equal ones")

    def body(x: Array, out: Array) -> None:
        started(out, x)
        if out.size:
            np.fill_diagonal(out, filling, wrap)

    return prepared(request, body, in_place=True)


def _fitting(request: KernelRequest, value: float) -> Array:
    """Return a number in the dtype of the output; one that it cannot hold is refused."""
    dtype = request.outputs[0].dtype
    with np.errstate(all="ignore"):
        found = np.asarray(value).astype(dtype.numpy_dtype)
    is_whole = dtype in INTEGERS
    fits = abs(float(found) - value) < 1 if is_whole else bool(np.isfinite(found)) or not math.isfinite(value)
    if not fits:
        raise InvalidArgument(f"operator {request.op_type}: fill_value {value} lies outside the range of {dtype.name}")
    return found


@kernel("Trace")
def _trace(request: KernelRequest) -> Kernel:
    """The sum of the main diagonal; half precision sums in float32."""
    dtype = request.outputs[0].dtype.numpy_dtype
    wide = dtype if dtype.kind in "iuc" or dtype.itemsize > 4 else np.dtype(np.float32)

    def body(x: Array, out: Array) -> None:
        np.copyto(out, np.diagonal(x).astype(wide).sum(dtype=wide), casting="same_kind")

    return prepared(request, quiet(body, 2), elements(given(request, 0)))


class _Band(NamedTuple):
    """Which diagonals, and how the shorter ones lie in their packed rows."""

    low: int
    high: int
    align: str

    def width(self, rows: int, columns: int) -> int:
        """Return the length of the longest diagonal."""
        return max(_length(d, rows, columns) for d in range(self.low, self.high + 1))

    def diagonals(self, rows: int, columns: int) -> Iterator[tuple[int, slice, Array, Array]]:
        """Yield each diagonal's packed row, its part of it, and the rows and columns of its elements."""
        width = self.width(rows, columns)
        for d in range(self.high, self.low - 1, -1):
            length = _length(d, rows, columns)
            upper, lower = self.align.split("_")
            is_right = (upper if d >= 0 else lower) == "RIGHT"
            start = width - length if is_right else 0
            steps = np.arange(length)
            yield self.high - d, slice(start, start + length), steps + max(-d, 0), steps + max(d, 0)


def _length(diagonal: int, rows: int, columns: int) -> int:
    return max(min(rows + min(diagonal, 0), columns - max(diagonal, 0)), 0)


def _align(request: KernelRequest) -> str:
    """Return how V3 packs; V2 packs to the left."""
    align: str = request.attributes.get("align", "LEFT_LEFT")
    if align not in _ALIGNMENTS:
        raise InvalidArgument(f"operator {request.op_type}: align is {align!r}; it is one of {', '.join(_ALIGNMENTS)}")
    return align


def _read(op_type: str, k: Array, align: str, rows: int, columns: int) -> _Band:
    numbers = integers(k)
    if len(numbers) not in (1, 2) or numbers[0] > numbers[-1]:
        raise InvalidArgument(f"operator {op_type}: k {numbers} is one diagonal, or the lowest and the highest")
    low, high = numbers[0], numbers[-1]
    if (low, high) != (0, 0) and not -rows < low <= high < columns:
        raise InvalidArgument(f"operator {op_type}: diagonals {low} to {high} lie outside a matrix of {rows}x{columns}")
    return _Band(low, high, align)


def _packed(op_type: str, array: Array, band: _Band, matrix: tuple[int, ...]) -> Array:
    """Return packed diagonals with a dim for the diagonals, which one alone lacks.

    Raises:
        InvalidArgument: they are not those of the matrices' shape.
    """
    count, width = band.high - band.low + 1, band.width(*matrix[-2:])
    wanted = (*matrix[:-2], *((count,) if count > 1 else ()), width)
    if array.shape != wanted:
        raise InvalidArgument(f"operator {op_type}: diagonals {array.shape} of matrices {matrix} must be {wanted}")
    return array if count > 1 else array[..., None, :]


@kernel("MatrixDiag", "MatrixDiagD")
def _matrix_diag(request: KernelRequest) -> Kernel:
    def body(x: Array, *others: Array) -> None:
        out = others[-1]
        out.fill(0)
        places = np.arange(x.shape[-1])
        out[..., places, places] = x

    return prepared(request, body)


@kernel("MatrixDiagV2", "MatrixDiagV3")
def _matrix_diag_banded(request: KernelRequest) -> Kernel:
    """Matrices of the padding value with the packed diagonals in them."""
    align = _align(request)

    def body(x: Array, k: Array, num_rows: Array, num_columns: Array, padding: Array, out: Array) -> None:
        rows, columns = out.shape[-2:]
        for asked, found in ((num_rows, rows), (num_columns, columns)):
            if int(asked.reshape(())) not in (-1, found):
                raise ValueError(
                    f"operator {request.op_type}: {asked} rows or columns asked for; the output is {out.shape}"
                )
        band = _read(request.op_type, k, align, rows, columns)
        packed = _packed(request.op_type, x, band, out.shape)
        out[...] = padding.reshape(())
        for row, part, down, right in band.diagonals(rows, columns):
            out[..., down, right] = packed[..., row, part]

    return prepared(request, body)


@kernel("MatrixDiagPart", "MatrixDiagPartD")
def _matrix_diag_part(request: KernelRequest) -> Kernel:
    _matrix(request)
    return prepared(request, lambda x, *others: np.copyto(others[-1], np.diagonal(x, 0, -2, -1)))


@kernel("MatrixDiagPartV2", "MatrixDiagPartV3")
def _matrix_diag_part_banded(request: KernelRequest) -> Kernel:
    """The diagonals of each matrix, packed; the padding value fills the shorter ones."""
    rows, columns = _matrix(request)
    align = _align(request)

    def body(x: Array, k: Array, padding: Array, out: Array) -> None:
        band = _read(request.op_type, k, align, rows, columns)
        packed = _packed(request.op_type, out, band, x.shape)
        packed[...] = padding.reshape(())
        for row, part, down, right in band.diagonals(rows, columns):
            packed[..., row, part] = x[..., down, right]

    return prepared(request, body)


@kernel("MatrixSetDiag", "MatrixSetDiagD")
def _matrix_set_diag(request: KernelRequest) -> Kernel:
    """The input with another main diagonal."""
    places = np.arange(min(_matrix(request)))

    def body(x: Array, diagonal: Array, *others: Array) -> None:
        (diagonal,) = started(others[-1], x, diagonal)
        others[-1][..., places, places] = diagonal

    return prepared(request, body, in_place=True)


@kernel("MatrixSetDiagV2", "MatrixSetDiagV3")
def _matrix_set_diag_banded(request: KernelRequest) -> Kernel:
    """The input with other diagonals, which come packed."""
    rows, columns = _matrix(request)
    align = _align(request)

    def body(x: Array, diagonal: Array, k: Array, out: Array) -> None:
        band = _read(request.op_type, k, align, rows, columns)
        packed = _packed(request.op_type, diagonal, band, x.shape)
        (packed,) = started(out, x, packed)
        for row, part, down, right in band.diagonals(rows, columns):
            out[..., down, right] = packed[..., row, part]

    return prepared(request, body, in_place=True)
