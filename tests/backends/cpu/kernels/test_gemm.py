"""The product that BLAS knows as gemm, against sums in Python's own numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument, UnsupportedDataType
from aacl.ops import infer
from aacl.tensors import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]

WAYS = [("float16", "float16"), ("float16", "float32"), ("float32", "float32"), ("int8", "int32"), ("int8", "float32"),
        ("int32", "int32")]  # fmt: skip


def exact(a: Array, b: Array, c: Array, alpha: float, beta: float) -> Array:
    """Return the result in Python's own numbers, element by element."""
    rows = [
        [alpha * sum(x * y for x, y in zip(row, column, strict=True)) + beta * c.tolist()[i][j]
         for j, column in enumerate(b.T.tolist())]
        for i, row in enumerate(a.tolist())
    ]  # fmt: skip
    return np.array(rows, np.float64).reshape(c.shape)


@pytest.mark.parametrize(("source", "result"), WAYS)
@settings(max_examples=10, deadline=None)
@given(
    sizes=st.tuples(*(st.integers(0, 5),) * 3),
    turns=st.tuples(st.booleans(), st.booleans()),
    factors=st.tuples(st.integers(-2, 3), st.integers(-2, 3)),
    rank=st.integers(0, 1),
)
def test_against_sums(
    run: Run,
    close: Close,
    source: str,
    result: str,
    sizes: tuple[int, int, int],
    turns: tuple[bool, bool],
    factors: tuple[int, int],
    rank: int,
) -> None:
    """Every pair of dtypes, transposes, empty sides, and factors in a scalar or in one dim."""
    m, k, n = sizes
    random = np.random.default_rng(m + 7 * k + 49 * n)
    a, b = (random.integers(-8, 9, shape).astype(source) for shape in ((m, k), (k, n)))
    c = random.integers(-8, 9, (m, n)).astype(result)
    alpha, beta = (np.full((1,) * rank, factor, result) for factor in factors)
    left, right = a.T.copy() if turns[0] else a, b.T.copy() if turns[1] else b

    (found,) = run("GEMM", [left, right, c, alpha, beta], {"transpose_a": turns[0], "transpose_b": turns[1]})

    assert found.dtype == result
    close(found, exact(a, b, c, *factors), units=0.5)


def test_halves_are_summed_in_single_precision(run: Run, close: Close) -> None:
    """C169: 4096 products of 16 and 1 are 65536: infinity in half precision, not NaN, and exact in single precision."""
    a, b = np.full((1, 4096), 16, np.float16), np.ones((4096, 1), np.float16)
    one, none = np.ones(1, np.float16), np.zeros(1, np.float16)

    (half,) = run("GEMM", [a, b, np.zeros((1, 1), np.float16), one, none])
    (single,) = run("GEMM", [a, b, np.zeros((1, 1), np.float32), one.astype(np.float32), none.astype(np.float32)])

    assert half.tolist() == [[np.inf]]
    assert single.tolist() == [[65536.0]]


def test_whole_numbers_are_exact_and_wrap(run: Run) -> None:
    """Sums of INT8 beyond what single precision holds are exact; what leaves INT32 wraps around."""
    a, b = np.full((1, 2049), 127, np.int8), np.full((2049, 1), 127, np.int8)
    a[0, 0], b[0, 0] = 1, 1
    (found,) = run("GEMM", [a, b, np.array([[5]], np.int32), np.array([1], np.int32), np.array([3], np.int32)])
    assert found.tolist() == [[2048 * 127 * 127 + 1 + 15]]

    (found,) = run("GEMM", [a, b, np.array([[5]], np.int32), np.array([2**20], np.int32), np.array([0], np.int32)])
    assert found.tolist() == [[((2048 * 127 * 127 + 1) * 2**20 + 2**31) % 2**32 - 2**31]]


def test_what_beta_leaves_out_is_not_read(run: Run) -> None:
    """With beta zero, c may hold NaN."""
    x, one = np.eye(2, dtype=np.float32), np.ones(1, np.float32)
    (found,) = run("GEMM", [x, x, np.full((2, 2), np.nan, np.float32), one, 0 * one])

    np.testing.assert_array_equal(found, np.eye(2))


@pytest.mark.parametrize("into", [0, 1, 2])
def test_the_result_may_lie_where_an_input_does(run: Run, into: int) -> None:
    """In the memory of c, as BLAS has it, or of a or b."""
    a, b, c = (np.arange(4, dtype=np.float32).reshape(2, 2) + shift for shift in (0, 1, 2))
    two = np.full((), 2, np.float32)

    (found,) = run("GEMM", [a, b, c, two, two], into=into)

    np.testing.assert_array_equal(found, exact(a, b, c, 2, 2))


def desc(*shape: int, dtype: DataType = DataType.FLOAT16) -> TensorDesc:
    """Return a description."""
    return TensorDesc.of(dtype, shape)


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        (((2, 3), (4, 5), (2, 5), (), ()), "do not multiply: 3 columns meet 4 rows"),
        (((2, 3), (3, 5), (5, 2), (), ()), r"input c of shape .*5, 2.* is not the shape \(2, 5\)"),
        (((2, 3), (3, 5), (2, 5), (2,), ()), "input alpha .* one element"),
        (((2, 3), (3, 5), (2, 5), (), (1, 1)), "input beta .* one dim"),
        (((1, 2, 3), (3, 5), (2, 5), (), ()), "input a .* 2 dims"),
    ],
)
def test_what_cannot_be_multiplied(shapes: tuple[tuple[int, ...], ...], words: str) -> None:
    """Shapes that do not fit are refused with the input's name."""
    with pytest.raises(InvalidArgument, match=words):
        infer("GEMM", [desc(*shape) for shape in shapes], {})


def test_dtypes_that_do_not_go_together(run: Run) -> None:
    """A and b share a dtype, and so do c, alpha and beta; the pair must be one that there is."""
    x, one = np.eye(2, dtype=np.float16), np.ones(1, np.float16)
    with pytest.raises(UnsupportedDataType, match="a is FLOAT16 and input b is FLOAT"):
        run("GEMM", [x, x.astype(np.float32), x, one, one])
    with pytest.raises(UnsupportedDataType, match="c is FLOAT16 and input alpha is FLOAT"):
        run("GEMM", [x, x, x, one.astype(np.float32), one])
    with pytest.raises(UnsupportedDataType, match="INT8 giving INT32"):
        run("GEMM", [x, x, x.astype(np.int32), one.astype(np.int32), one.astype(np.int32)])


def test_free_dims_come_from_wherever_they_are_known() -> None:
    """Dims that a leaves free come from c; with an unknown rank of c they come from a and b."""
    (found,) = infer("GEMM", [desc(-1, -1), desc(3, -1), desc(2, 5), desc(), desc()], {})
    assert found.shape == (2, 5)
    (found,) = infer("GEMM", [desc(7, -1), desc(-1, 4), desc(-2), desc(1), desc(1)], {})
    assert found.shape == (7, 4)
    (found,) = infer("GEMM", [desc(-2), desc(-1, 4), desc(-2), desc(1), desc(1)], {})
    assert found.shape == (-2,)
