"""Sums of products and distances, one by one in Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from aacl.abc import Array
from aacl.errors import InvalidArgument

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


def _numbered(*shape: int, dtype: Any = np.float32) -> Array:
    return np.arange(1, math.prod(shape) + 1).reshape(shape).astype(dtype)


CASES = [
    ("ij,jk->ik", [(2, 3), (3, 4)]), ("bij,bjk->bik", [(2, 2, 3), (2, 3, 2)]), ("ij->ji", [(2, 3)]), ("ii->i", [(3, 3)]),
    ("ij->", [(2, 3)]), ("i,j->ij", [(2,), (3,)]), ("ij,jk", [(2, 3), (3, 4)]), ("ba", [(2, 3)]),
    ("a,b,c->abc", [(2,), (3,), (2,)]), ("...ij,...jk->...ik", [(2, 2, 3), (3, 2)]), ("...a,a...->...", [(2, 3), (3, 2)]),
    ("...i->...", [(2, 1, 3)]), ("ab,cd->", [(2, 0), (2, 2)]),
]  # fmt: skip


def _einsum(equation: str, arrays: list[Array]) -> Array:
    """Sum over all letters' values; the dots become letters of their own."""
    left, arrow, right = equation.partition("->")
    terms, most = left.split(","), 0
    for term, array in zip(terms, arrays, strict=True):
        if "..." in term:
            most = max(most, array.ndim - len(term) + 3)
    dots = "XYZ"[3 - most :] if most else ""
    if not arrow:
        letters = left.replace(",", "").replace("...", "")
        right = ("..." if "..." in left else "") + "".join(sorted(x for x in set(letters) if letters.count(x) == 1))
    full = []
    for term, array in zip(terms, arrays, strict=True):
        own = array.ndim - len(term) + 3 if "..." in term else 0
        full.append(term.replace("...", dots[len(dots) - own :]))
    right = right.replace("...", dots)
    sizes: dict[str, int] = {}
    for term, array in zip(full, arrays, strict=True):
        for letter, size in zip(term, array.shape, strict=True):
            sizes[letter] = max(sizes.get(letter, 1), size) if size else 0
    found = np.zeros([sizes[x] for x in right])
    names = list(sizes)
    for place in np.ndindex(*[sizes[x] for x in names]):
        at = dict(zip(names, place, strict=True))
        product = 1.0
        for term, array in zip(full, arrays, strict=True):
            product *= float(array[tuple(at[x] if size > 1 else 0 for x, size in zip(term, array.shape, strict=True))])
        found[tuple(at[x] for x in right)] += product
    return found


@pytest.mark.parametrize(("equation", "shapes"), CASES)
@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[2], np.dtype(np.int32)], ids=str)
def test_einsum(run: Run, close: Close, equation: str, shapes: list[tuple[int, ...]], dtype: np.dtype[Any]) -> None:
    """With and without an arrow, repeated letters, dots that broadcast."""
    arrays = [(_numbered(*shape) % 5 - 2).astype(dtype) for shape in shapes]
    (found,) = run("Einsum", arrays, {"equation": equation, "N": len(arrays)})
    exact = _einsum(equation.replace(" ", ""), arrays)
    close(found, exact.astype(dtype) if dtype.kind == "i" else exact)


def test_einsum_refuses(run: Run) -> None:
    """Terms, letters and dims that do not fit."""
    x = _numbered(2, 3)
    for equation, text in (("ij,jk->ik", "has 2 terms for 1 inputs"), ("ijk->i", "the term 'ijk' does not fit"),
                           ("ij->ik", "asks for 'ik'"), ("ii->i", "'i' is 2 and"), ("i1->i", "the term 'i1' does not fit")):  # fmt: skip
        with pytest.raises(InvalidArgument, match=text):
            run("Einsum", [x], {"equation": equation, "N": 1})


@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[2], np.dtype(np.int8), np.dtype(np.complex64)], ids=str)
def test_cross_and_outer(run: Run, close: Close, dtype: np.dtype[Any]) -> None:
    """By components; integers wrap around."""
    left, right = (_numbered(2, 3) * 20).astype(dtype), np.array([2, -1, 3]).astype(dtype)
    wide = left.astype(complex if dtype.kind == "c" else float)
    exact = [[b * 3 + c, c * 2 - a * 3, -a - b * 2] for a, b, c in wide.tolist()]
    if dtype.kind == "i":
        exact = [[(int(item) + 128) % 256 - 128 for item in row] for row in exact]
    close(run("Cross", [left, np.broadcast_to(right, left.shape)], {"dim": 1})[0], exact)
    close(run("Cross", [left, right])[0], exact)
    turned = run("Cross", [left.T.copy(), np.broadcast_to(right, left.shape).T.copy()], {"dim": -2})[0]
    close(turned.T, exact)
    if dtype.kind == "f":
        close(run("Ger", [left[0], right[:2]])[0], np.array([[a * b for b in (2, -1)] for a in (20, 40, 60)]))
    with pytest.raises(InvalidArgument, match="need 3 along dim 0"):
        run("Cross", [left, left], {"dim": 0})


@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[2]], ids=str)
def test_add_products(run: Run, close: Close, dtype: np.dtype[Any]) -> None:
    """``c * beta + alpha * a * b``."""
    c, a, b = _numbered(2, 2, dtype=dtype), _numbered(2, 2, dtype=dtype) / 4, _numbered(2, 2, dtype=dtype) / 8
    beta, alpha = np.array([0.5], dtype), np.array([3], dtype)
    exact = [
        0.5 * z + 3 * x * y
        for x, y, z in zip(*(each.reshape(-1).astype(float).tolist() for each in (a, b, c)), strict=True)
    ]
    close(run("AddMatMatElements", [c, a, b, beta, alpha])[0].reshape(-1), exact)


@pytest.mark.parametrize("op_type", ["FullyConnection", "InnerProduct"])
@pytest.mark.parametrize("transpose", [True, False])
@pytest.mark.parametrize("dtype", [np.dtype(np.float16), np.dtype(np.int8)], ids=str)
def test_fully_connected(run: Run, close: Close, op_type: str, transpose: bool, dtype: np.dtype[Any]) -> None:
    """The dims from the axis on times the weight, plus the bias; int8 gives exact int32."""
    x, weight = (_numbered(2, 3, 2) % 7).astype(dtype), (_numbered(4, 3, 2) % 5 - 2).astype(dtype)
    bias = np.array([1, -2, 3, 0], np.int32 if dtype.kind == "i" else dtype)
    given_weight = np.ascontiguousarray(weight.reshape(4, 6).T) if transpose else weight
    attributes = {"num_output": 4, "transpose": transpose}
    (found,) = run(op_type, [x, given_weight, bias], attributes)
    exact = [[sum(a * b for a, b in zip(row, column, strict=True)) + add
              for column, add in zip(weight.reshape(4, 6).astype(int).tolist(), bias.astype(int).tolist(), strict=True)]
             for row in x.reshape(2, 6).astype(int).tolist()]  # fmt: skip
    close(found, np.array(exact))
    assert found.dtype == (np.int32 if dtype.kind == "i" else dtype)
    (found,) = run(op_type, [x, weight[:, :1]], {"num_output": 4, "axis": 2})
    assert found.shape == (2, 3, 4)
    with pytest.raises(InvalidArgument, match="do not multiply"):
        run(op_type, [x, weight[:, :2]], {"num_output": 4})


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, math.inf])
@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[2]], ids=str)
def test_distances(run: Run, close: Close, p: float, dtype: np.dtype[Any]) -> None:
    """Between the rows of two tensors, or each pair of rows of one."""
    x1, x2 = (_numbered(3, 4) / 4).astype(dtype), (_numbered(2, 2, 4) % 5).astype(dtype)

    def distance(a: list[float], b: list[float]) -> float:
        sizes = [abs(x - y) for x, y in zip(a, b, strict=True)]
        if p == 0:
            return sum(size != 0 for size in sizes)
        return max(sizes) if p == math.inf else math.fsum(size**p for size in sizes) ** (1 / p)

    (found,) = run("Cdist", [x1, x2], {"p": p})
    rows = x1.astype(float).tolist()
    exact = [[[distance(a, b) for b in batch] for a in rows] for batch in x2.astype(float).tolist()]
    close(found, np.array(exact), units=8)
    pairs = [distance(rows[i], rows[j]) for i in range(3) for j in range(i + 1, 3)]
    close(run("Pdist", [x1], {"p": p})[0], pairs, units=8)
    with pytest.raises(InvalidArgument, match=r"p is -1\.0"):
        run("Pdist", [x1], {"p": -1.0})


@pytest.mark.parametrize(("rows", "length"), [(0, 3), (2, 0), (0, 0)])
def test_fully_connected_of_nothing(run: Run, rows: int, length: int) -> None:
    """An empty batch gives an empty result; rows of no elements give the bias."""
    x, weight = np.ones((rows, length), np.float16), np.ones((4, length), np.float16)
    bias = np.arange(4, dtype=np.float16)

    (found,) = run("FullyConnection", [x, weight, bias], {"num_output": 4})

    np.testing.assert_array_equal(found.reshape(rows, 4), np.tile(bias, (rows, 1)))
