"""Products of matrices and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import acl
from tests.compat._programs import (
    FLOAT,
    FLOAT16,
    INT32,
    ND,
    Array,
    MakeGate,
    compile_operators,
    get,
    good,
    ok,
    put,
    tensor,
)  # fmt: skip

INT8 = 2
NUMPY = {FLOAT: np.float32, FLOAT16: np.float16, INT8: np.int8, INT32: np.int32}
WAYS = [(FLOAT16, FLOAT16), (FLOAT16, FLOAT), (FLOAT, FLOAT), (INT8, INT32), (INT8, FLOAT)]


def compile_product(shapes: Sequence[Sequence[int]], turns: tuple[int, int], way: tuple[int, int]) -> None:
    """Compile GEMM for matrices that lie in these shapes."""
    attr = acl.op.create_attr()
    for name, turn in zip(("transpose_a", "transpose_b"), turns, strict=True):
        ok(acl.op.set_attr_bool(attr, name, turn))
    kinds = [way[0], way[0], way[1], way[1], way[1]]
    descs = [
        acl.create_tensor_desc(kind, list(shape), ND) for kind, shape in zip(kinds, [*shapes, [], []], strict=True)
    ]
    ok(acl.op.compile("GEMM", descs, [descs[2]], attr, 0, 0, None))


class Matrices:
    """Small whole numbers in a, b and c, and what BLAS documents to come out, by a loop over its definition."""

    def __init__(self, m: int, n: int, k: int, way: tuple[int, int], turns: tuple[int, int] = (0, 0)) -> None:
        random = np.random.default_rng(m + 7 * n + 49 * k)
        a, b, self.c = (random.integers(-5, 6, shape) for shape in ((m, k), (k, n), (m, n)))
        self.sums = np.array([[sum(a[i] * b[:, j]) for j in range(n)] for i in range(m)])
        left, right = (a.T if turns[0] else a), (b.T if turns[1] else b)
        self.shapes = [left.shape, right.shape, self.c.shape]
        source, self.result = NUMPY[way[0]], NUMPY[way[1]]
        self.a, self.b, self.out = put(left.astype(source)), put(right.astype(source)), put(self.c.astype(self.result))

    def factors(self, alpha: int, beta: int) -> tuple[int, int]:
        """Return the addresses of alpha and beta."""
        self.expected = alpha * self.sums + beta * self.c
        return put(np.array([alpha], self.result)), put(np.array([beta], self.result))

    def check(self) -> None:
        """Synchronise, and compare."""
        ok(acl.rt.synchronize_stream(0))
        np.testing.assert_array_equal(get(self.out, self.c.astype(self.result)), self.expected.astype(self.result))


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.tuples(*(st.integers(1, 6),) * 3),
    turns=st.tuples(st.integers(0, 1), st.integers(0, 1)),
    factors=st.tuples(st.integers(-2, 3), st.integers(-2, 3)),
    explicit=st.booleans(),
)
def test_gemm(
    device: int,
    way: tuple[int, int],
    sizes: tuple[int, int, int],
    turns: tuple[int, int],
    factors: tuple[int, int],
    explicit: bool,
) -> None:
    """Every pair of data types, transposes, factors, and leading dimensions that are left out or the matrix's own."""
    m, n, k = sizes
    x = Matrices(m, n, k, way, turns)
    compile_product(x.shapes, turns, way)
    alpha, beta = x.factors(*factors)
    lda, ldb, ldc = (shape[1] if explicit else -1 for shape in x.shapes)
    ok(
        acl.blas.gemm_ex(
            *turns, 0, m, n, k, alpha, x.a, lda, way[0], x.b, ldb, way[0], beta, x.out, ldc, way[1], 0, 0
        )
    )  # fmt: skip

    x.check()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("turn", [0, 1])
def test_gemv(device: int, way: tuple[int, int], turn: int) -> None:
    """A vector is a matrix of one column, for every pair of data types."""
    x = Matrices(5, 1, 3, way, (turn, 0))
    compile_product(x.shapes, (turn, 0), way)
    alpha, beta = x.factors(2, -1)
    ok(acl.blas.gemv_ex(turn, 5, 3, alpha, x.a, -1, way[0], x.b, -1, way[0], beta, x.out, 1, way[1], 1, 0))

    x.check()


def test_the_short_forms(device: int) -> None:
    """hgemm, hgemv, s8gemm and s8gemv are the forms with one set of data types."""
    for way, matrix, vector in (
        ((FLOAT16, FLOAT16), acl.blas.hgemm, acl.blas.hgemv),
        ((INT8, INT32), acl.blas.s8gemm, acl.blas.s8gemv),
    ):
        x = Matrices(2, 4, 3, way, (1, 0))
        compile_product(x.shapes, (1, 0), way)
        alpha, beta = x.factors(1, 2)
        ok(matrix(1, 0, 0, 2, 4, 3, alpha, x.a, -1, x.b, -1, beta, x.out, -1, 0, 0))
        x.check()
        x = Matrices(2, 1, 3, way)
        compile_product(x.shapes, (0, 0), way)
        alpha, beta = x.factors(3, 1)
        ok(vector(0, 2, 3, alpha, x.a, 3, x.b, 1, beta, x.out, -1, 1, 0))
        x.check()


def test_handles(device: int) -> None:
    """A handle runs with execute_with_handle on buffers of a, b, c, alpha and beta, again and again."""
    for way, name, arguments in (
        ((FLOAT16, FLOAT), "gemm_ex", (0, 0, 0, 2, 1, 3, FLOAT16, FLOAT16, FLOAT, 0)),
        ((FLOAT16, FLOAT16), "hgemm", (0, 0, 0, 2, 1, 3, 0)),
        ((INT8, INT32), "s8gemm", (0, 0, 0, 2, 1, 3, 0)),
        ((FLOAT16, FLOAT), "gemv_ex", (0, 2, 3, FLOAT16, FLOAT16, FLOAT, 0)),
        ((FLOAT16, FLOAT16), "hgemv", (0, 2, 3, 0)),
        ((INT8, INT32), "s8gemv", (0, 2, 3, 0)),
    ):
        x = Matrices(2, 1, 3, way)
        compile_product(x.shapes, (0, 0), way)
        handle = good(getattr(acl.blas, f"create_handle_for_{name}")(*arguments))
        spans = zip([x.a, x.b, x.out, *x.factors(2, 0)], (12, 12, 8, 4, 4), strict=True)
        buffers = [acl.create_data_buffer(*span) for span in spans]
        for _ in range(2):
            ok(acl.op.execute_with_handle(handle, buffers, buffers[2:3], 0))
            x.check()
        acl.op.destroy_handle(handle)
        assert acl.op.execute_with_handle(handle, buffers, buffers[2:3], 0) == 100000


@pytest.mark.parametrize("factor", [[], [1]])
def test_operator_models_serve_them(tmp_path: Path, device: int, factor: list[int]) -> None:
    """The model of atc's operator file serves, its factors scalars or of one dim; without one it is 100024."""
    x = Matrices(2, 4, 3, (FLOAT16, FLOAT16))
    alpha, beta = x.factors(1, 1)

    def run() -> int:
        code: int = acl.blas.hgemm(0, 0, 0, 2, 4, 3, alpha, x.a, -1, x.b, -1, beta, x.out, -1, 0, 0)
        return code

    assert run() == 100024
    assert "GEMM(float16 [2, 3] ND, float16 [3, 4] ND" in (acl.get_recent_err_msg() or "")
    halves = [tensor("float16", shape) for shape in ([2, 3], [3, 4], [2, 4], factor, factor)]
    turns = [{"name": f"transpose_{side}", "type": "bool", "value": False} for side in "ab"]
    model: dict[str, object] = {"op": "GEMM", "input_desc": halves, "output_desc": halves[2:3], "attr": turns}
    ok(acl.op.set_model_dir(str(compile_operators(tmp_path, model))))
    ok(run())
    x.check()
    ok(acl.finalize())
    ok(acl.init())
    ok(acl.rt.set_device(0))
    assert acl.blas.create_handle_for_hgemm(0, 0, 0, 2, 4, 3, 0) == (0, 100024)


def test_factors_are_read_when_the_product_runs(device: int, gate: MakeGate) -> None:
    """Alpha and beta are device memory: what is there in the product's turn counts."""
    x = Matrices(2, 2, 2, (INT8, INT32))
    compile_product(x.shapes, (0, 0), (INT8, INT32))
    alpha, beta = x.factors(1, 0)
    stream = good(acl.rt.create_stream())
    held = gate(stream)
    ok(acl.blas.s8gemm(0, 0, 0, 2, 2, 2, alpha, x.a, -1, x.b, -1, beta, x.out, -1, 0, stream))
    ok(acl.rt.memcpy(alpha, 4, acl.util.bytes_to_ptr((5).to_bytes(4, "little")), 4, 1))
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    np.testing.assert_array_equal(get(x.out, x.c.astype(np.int32)), 5 * x.sums)


def test_arguments_that_cannot_be(device: int) -> None:
    """Every argument has its code and a text with the call's name; nothing is submitted, and c stays."""
    x = Matrices(2, 4, 3, (FLOAT16, FLOAT16))
    compile_product(x.shapes, (0, 0), (FLOAT16, FLOAT16))
    alpha, beta = x.factors(0, 1)
    sound = dict(zip(
        ("trans_a", "trans_b", "trans_c", "m", "n", "k", "alpha", "a", "lda", "type_a", "b", "ldb", "type_b", "beta", "c",
         "ldc", "type_c", "compute", "stream"),
        (0, 0, 0, 2, 4, 3, alpha, x.a, -1, FLOAT16, x.b, -1, FLOAT16, beta, x.out, -1, FLOAT16, 0, 0), strict=True,
    ))  # fmt: skip
    for changed, code, words in (
        ({"trans_a": 4}, 100000, "matrix a"), ({"trans_b": -1}, 100000, "matrix b"), ({"trans_c": 1}, 100000, "matrix c"),
        ({"trans_a": 2}, 200006, "blocks"), ({"trans_b": 3}, 200006, "blocks"), ({"m": 0}, 100000, "at least 1"),
        ({"k": -3}, 100000, "at least 1"), ({"lda": 4}, 100000, "leading dimension of a"),
        ({"ldb": 3}, 100000, "leading dimension of b"), ({"ldc": 0}, 100000, "leading dimension of c"),
        ({"type_a": INT8}, 100026, "data types 2, 1 and 1"), ({"type_c": INT32}, 100026, "data types 1, 1 and 3"),
        ({"compute": 2}, 100000, "compute type"), ({"a": 0}, 100000, "address of a"), ({"beta": 0}, 100000, "beta"),
        ({"c": 4096}, 107000, ""), ({"n": 5}, 100024, "GEMM"), ({"stream": 77}, 107017, "stream"),
    ):  # fmt: skip
        assert acl.blas.gemm_ex(*(sound | changed).values()) == code, changed
        assert words in (acl.get_recent_err_msg() or "")
    assert acl.blas.hgemv(0, 2, 3, alpha, x.a, -1, x.b, 2, beta, x.out, -1, 0, 0) == 100000
    assert acl.blas.hgemv(0, 2, 3, alpha, x.a, -1, x.b, 1, beta, x.out, 0, 0, 0) == 100000
    assert acl.blas.create_handle_for_hgemv(0, 0, 3, 0) == (0, 100000)
    assert acl.blas.create_handle_for_gemm_ex(0, 0, 0, 2, 4, 3, 99, 99, 99, 0) == (0, 100026)
    with pytest.raises(TypeError):
        acl.blas.create_handle_for_hgemv(0.5, 2, 3, 0)  # type: ignore[arg-type]
    x.check()


def test_before_init() -> None:
    """Without a runtime every call is 100001."""
    assert acl.blas.hgemm(0, 0, 0, 1, 1, 1, 8, 8, -1, 8, -1, 8, 8, -1, 0, 0) == 100001
    assert acl.blas.create_handle_for_s8gemv(0, 1, 1, 0) == (0, 100001)


def test_memory_that_ends_too_early(device: int) -> None:
    """An allocation that is shorter than the matrix is refused."""
    x = Matrices(64, 64, 64, (FLOAT, FLOAT))
    compile_product(x.shapes, (0, 0), (FLOAT, FLOAT))
    alpha, beta = x.factors(1, 0)
    short: Array = np.zeros(1024, np.float32)

    code = acl.blas.gemm_ex(
        0, 0, 0, 64, 64, 64, alpha, x.a, -1, FLOAT, x.b, -1, FLOAT, beta, put(short), -1, FLOAT, 0, 0
    )

    assert code == 100000
    assert "16384 bytes" in (acl.get_recent_err_msg() or "")
