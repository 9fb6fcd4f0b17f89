"""Triangles and diagonals, element by element in Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from aacl.abc import Array
from aacl.errors import InvalidArgument

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


DTYPES = [FLOATS[0], FLOATS[2], np.dtype(np.int32), np.dtype(np.complex64)]
NAN = float("nan")


def _numbered(*shape: int, dtype: Any = np.float32) -> Array:
    return np.arange(1, math.prod(shape) + 1).reshape(shape).astype(dtype)


@pytest.mark.parametrize("dtype", [*DTYPES, BF16], ids=str)
@pytest.mark.parametrize("into", [None, 0])
@settings(max_examples=12, deadline=None)
@given(shape=hnp.array_shapes(min_dims=2, max_dims=3, max_side=4, min_side=0), offset=st.integers(-5, 5))
def test_triangles(run: Run, dtype: np.dtype[Any], into: int | None, shape: tuple[int, ...], offset: int) -> None:
    """0 beyond the diagonal, whatever stood there."""
    x = _numbered(*shape, dtype=dtype)
    lower, upper = (run(name, [x], {"diagonal": offset}, into=into)[0] for name in ("Tril", "Triu"))

    for place in np.ndindex(shape):
        step = place[-1] - place[-2]
        assert lower[place] == (x[place] if step <= offset else 0)
        assert upper[place] == (x[place] if step >= offset else 0)


def test_triangles_drop_nan(run: Run) -> None:
    """Zero times NaN would be NaN."""
    x = np.full((2, 2), NAN, np.float32)
    assert str(run("Tril", [x])[0].tolist()) == "[[nan, 0.0], [nan, nan]]"
    with pytest.raises(InvalidArgument, match="needs 2 dims"):
        run("Tril", [np.zeros(3, np.float32)])


@pytest.mark.parametrize("late", [True, False])
@settings(max_examples=20, deadline=None)
@given(lower=st.integers(-1, 4), upper=st.integers(-1, 4))
def test_band(run: Run, late: bool, lower: int, upper: int) -> None:
    """A negative number keeps that side whole."""
    x = _numbered(2, 3, 4)
    (found,) = run("MatrixBandPart", [x, np.int64(lower), np.int64(upper)], known=(1, 2), late=late)

    for place in np.ndindex(x.shape):
        down = place[1] - place[2]
        kept = (lower < 0 or down <= lower) and (upper < 0 or -down <= upper)
        assert found[place] == (x[place] if kept else 0)


def test_eye(run: Run) -> None:
    """Square unless columns are given; batches of it."""
    assert run("Eye", [], {"num_rows": 2})[0].tolist() == [[1, 0], [0, 1]]
    (found,) = run("Eye", [], {"num_rows": 2, "num_columns": 3, "batch_shape": [2], "dtype": 3})
    assert found.tolist() == [[[1, 0, 0], [0, 1, 0]]] * 2
    assert found.dtype == np.int32


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@settings(max_examples=10, deadline=None)
@given(shape=hnp.array_shapes(max_dims=2, max_side=3))
def test_diag(run: Run, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """The elements on the diagonal of a tensor of twice the rank, and back."""
    x = _numbered(*shape, dtype=dtype)
    (found,) = run("Diag", [x])

    for place in np.ndindex(found.shape):
        first, second = place[: len(shape)], place[len(shape) :]
        assert found[place] == (x[first] if first == second else 0)
    assert run("DiagPart", [found])[0].tolist() == x.tolist()
    if dtype in (np.float32, np.int32):
        assert run("DiagD", [x, found])[0].tolist() == found.tolist()
        assert run("DiagPartD", [found, found])[0].tolist() == x.tolist()
    with pytest.raises(InvalidArgument, match="must be some dims twice"):
        run("DiagPart", [_numbered(2, 3, dtype=dtype)])


@settings(max_examples=20, deadline=None)
@given(offset=st.integers(-4, 4), rows=st.integers(0, 4), columns=st.integers(0, 4))
def test_diag_offset(run: Run, offset: int, rows: int, columns: int) -> None:
    """As torch.diag: a vector becomes a matrix, a matrix its diagonal; diagflat flattens first."""
    x = _numbered(rows, columns)
    exact = [x[i, i + offset] for i in range(rows) if 0 <= i + offset < columns]
    assert run("DiagV2", [x], {"diagonal": offset})[0].tolist() == exact
    vector = _numbered(rows)
    side = rows + abs(offset)
    matrix = [[vector[min(i, j)] if j - i == offset else 0 for j in range(side)] for i in range(side)]
    assert run("DiagV2", [vector], {"diagonal": offset})[0].tolist() == matrix
    assert run("DiagFlat", [vector.reshape(1, -1)], {"diagonal": offset})[0].tolist() == matrix


@pytest.mark.parametrize("wrap", [True, False])
def test_fill_diagonal(run: Run, wrap: bool) -> None:
    """A tall matrix is filled again behind one empty row with ``wrap``."""
    x = np.zeros((7, 3), np.int32)
    (found,) = run("FillDiagonal", [x], {"fill_value": 2, "wrap": wrap})
    assert [row for row, _ in np.argwhere(found).tolist()] == ([0, 1, 2, 4, 5, 6] if wrap else [0, 1, 2])
    assert set(found[found != 0].tolist()) == {2}


@pytest.mark.parametrize("dtype", [*DTYPES, np.dtype(np.int8), np.dtype(np.bool_)], ids=str)
def test_trace(run: Run, close: Close, dtype: np.dtype[Any]) -> None:
    """The sum of the diagonal, int64 for integers."""
    (found,) = run("Trace", [np.full((100, 120), 3).astype(dtype)])
    close(found, 100 if dtype == np.bool_ else 300)
    assert found.dtype == (np.int64 if dtype.kind in "ib" else dtype)


# What TensorFlow's documentation of matrix_diag, matrix_diag_part and matrix_set_diag says, computed one by one.
def _places(low: int, high: int, align: str, rows: int, columns: int) -> list[tuple[int, int, int, int]]:
    """Return packed row and column, and matrix row and column, of every element of the diagonals."""
    lengths = {d: min(rows + min(d, 0), columns - max(d, 0)) for d in range(low, high + 1)}
    width, found = max(lengths.values()), []
    for d, length in lengths.items():
        upper, lower = align.split("_")
        shift = width - length if (upper if d >= 0 else lower) == "RIGHT" else 0
        found += [(high - d, shift + n, n + max(-d, 0), n + max(d, 0)) for n in range(length)]
    return found


@pytest.mark.parametrize("align", ["LEFT_LEFT", "LEFT_RIGHT", "RIGHT_LEFT", "RIGHT_RIGHT"])
@pytest.mark.parametrize("late", [True, False])
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_packed_diagonals(run: Run, align: str, late: bool, data: st.DataObject) -> None:
    """Packing, unpacking and replacing several diagonals, or one."""
    rows, columns = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    low = data.draw(st.integers(1 - rows, columns - 1))
    high = data.draw(st.integers(low, columns - 1))
    k = np.array([low, high] if low < high else low, np.int32)
    places = _places(low, high, align, rows, columns)
    x = _numbered(2, rows, columns)
    nine = np.float32(9)

    (packed,) = run("MatrixDiagPartV3", [x, k, nine], {"align": align}, known=(1,), late=late)
    rows_of = packed if low < high else packed[:, None]
    exact = np.full(rows_of.shape, 9.0)
    for first, second, down, right in places:
        exact[:, first, second] = x[:, down, right]
    assert rows_of.tolist() == exact.tolist()
    sizes = [np.int32(rows), np.int32(columns)]
    (made,) = run("MatrixDiagV3", [packed, k, *sizes, nine], {"align": align}, known=(1, 2, 3), late=late)
    (changed,) = run("MatrixSetDiagV3", [x, -packed, k], {"align": align}, known=(2,), late=late)
    inside = {(down, right) for *_, down, right in places}
    for place in np.ndindex(x.shape):
        is_inside = place[1:] in inside
        assert made[place] == (x[place] if is_inside else 9)
        assert changed[place] == (-x[place] if is_inside else x[place])
    if align == "LEFT_LEFT":
        assert run("MatrixDiagPartV2", [x, k, nine], known=(1,))[0].tolist() == packed.tolist()
        assert run("MatrixDiagV2", [packed, k, *sizes, nine], known=(1, 2, 3))[0].tolist() == made.tolist()
        assert run("MatrixSetDiagV2", [x, -packed, k], known=(2,))[0].tolist() == changed.tolist()


def test_matrices_of_nothing(run: Run) -> None:
    """They have a main diagonal, of no elements."""
    x, zero = np.zeros((2, 0, 3), np.float32), np.int32(0)
    assert run("MatrixDiagPartV3", [x, zero, np.float32(0)], known=(1,))[0].shape == (2, 0)
    with pytest.raises(
        InvalidArgument, match=r"diagonals 3 to 3 lie outside the matrices of input x of shape \(2, 0, 3\)"
    ):
        run("MatrixDiagPartV3", [x, np.int32(3), np.float32(0)], known=(1,))


def test_sizes_that_are_not_given(run: Run) -> None:
    """The smallest square that holds the diagonals, or the smallest other side."""
    x, minus, zero = _numbered(3), np.int32(-1), np.float32(0)
    assert run("MatrixDiagV3", [x, np.int32(1), minus, minus, zero], known=(1, 2, 3))[0].shape == (4, 4)
    assert run("MatrixDiagV3", [x, np.int32(1), np.int32(3), minus, zero], known=(1, 2, 3))[0].shape == (3, 4)
    with pytest.raises(InvalidArgument, match="do not fit 2 rows"):
        run("MatrixDiagV3", [x, np.int32(1), np.int32(2), minus, zero], known=(1, 2, 3))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_main_diagonals(run: Run, dtype: np.dtype[Any]) -> None:
    """The first versions, with and without helpers."""
    x, vectors = _numbered(2, 3, 4, dtype=dtype), _numbered(2, 3, dtype=dtype)
    exact = [[matrix[i][i] for i in range(3)] for matrix in x.tolist()]
    assert run("MatrixDiagPart", [x])[0].tolist() == exact
    assert run("MatrixDiagPartD", [x, x])[0].tolist() == exact
    made = [[[row[i] if i == j else 0 for j in range(3)] for i in range(3)] for row in vectors.tolist()]
    assert run("MatrixDiag", [vectors])[0].tolist() == made
    assert run("MatrixDiagD", [vectors, np.zeros((2, 3, 3), dtype)])[0].tolist() == made
    changed = [[[v[i] if i == j else row[j] for j in range(4)] for i, row in enumerate(matrix)]
               for matrix, v in zip(x.tolist(), vectors.tolist(), strict=True)]  # fmt: skip
    assert run("MatrixSetDiag", [x, vectors])[0].tolist() == changed
    assert run("MatrixSetDiagD", [x, vectors, x], into=0)[0].tolist() == changed
    with pytest.raises(InvalidArgument, match=r"input diagonal of shape \(2, 2\) must have shape \(2, 3\)"):
        run("MatrixSetDiag", [x, vectors[:, :2]])
    with pytest.raises(InvalidArgument, match="align is 'UP'"):
        run("MatrixDiagPartV3", [x, np.int32(0), np.zeros((), dtype)], {"align": "UP"}, known=(1,))
    with pytest.raises(InvalidArgument, match=r"k .* is one diagonal, or the lowest and the highest"):
        run("MatrixDiagPartV3", [x, np.array([1, 0], np.int32), np.zeros((), dtype)], known=(1,))


def test_trace_of_halves_beyond_their_range(run: Run) -> None:
    """It is infinite, and nothing warns."""
    (found,) = run("Trace", [np.full((2, 2), 65504, np.float16)])

    assert found == np.inf


@pytest.mark.parametrize(
    ("dtype", "value"),
    [(np.int32, 1e20), (np.int32, float("nan")), (np.uint8, -1.0), (np.int8, 128.0), (np.float16, 1e20)],
)
def test_fill_values_beyond_the_dtype(run: Run, dtype: type, value: float) -> None:
    """They are refused by name."""
    with pytest.raises(InvalidArgument, match=r"fill_value .* lies outside the range"):
        run("FillDiagonal", [np.zeros((2, 2), dtype)], {"fill_value": value})


def test_fill_values_that_fit(run: Run) -> None:
    """Fractions are cut off for integers; infinities and NaN are floats like others; many dims must be equal."""
    assert run("FillDiagonal", [np.zeros((2, 2), np.int32)], {"fill_value": -2.7})[0].tolist() == [[-2, 0], [0, -2]]
    (found,) = run("FillDiagonal", [np.zeros((2, 2), np.float16)], {"fill_value": float("inf")})
    assert found.tolist() == [[np.inf, 0], [0, np.inf]]
    with pytest.raises(InvalidArgument, match="must have equal ones"):
        run("FillDiagonal", [np.zeros((2, 3, 2), np.float32)], {"fill_value": 1.0})
