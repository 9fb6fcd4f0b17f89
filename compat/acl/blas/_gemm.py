"""Products of two matrices."""

from __future__ import annotations

from acl._devices import stream_at
from acl._status import code_alone, with_code
from acl.blas._product import FLOAT16, INT8, INT32, Product, check_compute_type, product_handle, run_product

__all__ = (
    "create_handle_for_gemm_ex",
    "create_handle_for_hgemm",
    "create_handle_for_s8gemm",
    "gemm_ex",
    "hgemm",
    "s8gemm",
)


@code_alone
def gemm_ex(
    trans_a: int,
    trans_b: int,
    trans_c: int,
    m: int,
    n: int,
    k: int,
    alpha: int,
    matrix_a: int,
    lda: int,
    data_type_a: int,
    matrix_b: int,
    ldb: int,
    data_type_b: int,
    beta: int,
    matrix_c: int,
    ldc: int,
    data_type_c: int,
    type: int,
    stream: int,
    /,
) -> int:
    """Submit ``c = alpha * op(a) op(b) + beta * c`` to a stream.

    Args:
        trans_a: 0, or 1 where a lies transposed: then it is ``(k, m)`` in memory, else ``(m, k)``.
        trans_b: 0, or 1 where b lies transposed: then it is ``(n, k)`` in memory, else ``(k, n)``.
        trans_c: 0.
        m: rows of op(a) and c.
        n: columns of op(b) and c.
        k: columns of op(a), rows of op(b).
        alpha: address of one element of c's type in device memory.
        matrix_a: address of a in device memory.
        lda: reserved: -1, or the length of a's rows.
        data_type_a: of a: FLOAT16 (1), FLOAT (0) or INT8 (2).
        matrix_b: address of b in device memory.
        ldb: reserved: -1, or the length of b's rows.
        data_type_b: of b, that of a.
        beta: address of one element of c's type in device memory. Where it is zero, c is not read.
        matrix_c: address of c in device memory, which is read and written.
        ldc: reserved: -1, or n.
        data_type_c: of c: FLOAT16 or FLOAT for FLOAT16, FLOAT for FLOAT, INT32 (3) or FLOAT for INT8.
        type: 0, high precision, or 1, low precision: sums are kept in single precision, or exact for INT8, with both.
        stream: 0 stands for the default one.

    Returns:
        0, which means submitted; 100024 if there is no operator model of GEMM for it; 100000 for sizes, transposes,
        leading dimensions, addresses or a compute type that there are not; 100026 for other data types; 200006 for
        matrices in blocks (transpose types 2 and 3); 107000 for memory that is not mapped, or too short; 107002, 107003
        and 107017 as ``synchronize_stream``.

    Source: aclblasGemmEx.
    """
    given = Product("gemm_ex", (trans_a, trans_b, trans_c), (m, n, k), (data_type_a, data_type_b, data_type_c))
    return _run(given, type, (lda, ldb, ldc), (matrix_a, matrix_b, matrix_c, alpha, beta), stream)


@code_alone
def hgemm(
    trans_a: int,
    trans_b: int,
    trans_c: int,
    m: int,
    n: int,
    k: int,
    alpha: int,
    matrix_a: int,
    lda: int,
    matrix_b: int,
    ldb: int,
    beta: int,
    matrix_c: int,
    ldc: int,
    type: int,
    stream: int,
    /,
) -> int:
    """Submit a `gemm_ex` of half precision alone.

    Args:
        trans_a: 0, or 1 where a lies transposed.
        trans_b: 0, or 1 where b lies transposed.
        trans_c: 0.
        m: rows of op(a) and c.
        n: columns of op(b) and c.
        k: columns of op(a), rows of op(b).
        alpha: address of one element of the result's type in device memory.
        matrix_a: address of a in device memory.
        lda: -1, or the length of a's rows.
        matrix_b: address of b in device memory.
        ldb: -1, or the length of b's rows.
        beta: address of one element of the result's type in device memory; where it is zero, the result is not read.
        matrix_c: address of c in device memory, which is read and written.
        ldc: -1, or n.
        type: 0, high precision, or 1, low precision; both compute the same.
        stream: 0 stands for the default one.

    Returns:
        0, which means submitted; 100024 if there is no operator model of GEMM for it; other codes as `gemm_ex`.

    Source: aclblasHgemm.
    """
    given = Product("hgemm", (trans_a, trans_b, trans_c), (m, n, k), (FLOAT16, FLOAT16, FLOAT16))
    return _run(given, type, (lda, ldb, ldc), (matrix_a, matrix_b, matrix_c, alpha, beta), stream)


@code_alone
def s8gemm(
    trans_a: int,
    trans_b: int,
    trans_c: int,
    m: int,
    n: int,
    k: int,
    alpha: int,
    matrix_a: int,
    lda: int,
    matrix_b: int,
    ldb: int,
    beta: int,
    matrix_c: int,
    ldc: int,
    type: int,
    stream: int,
    /,
) -> int:
    """Submit a `gemm_ex` of INT8 giving INT32; alpha and beta are INT32.

    Args:
        trans_a: 0, or 1 where a lies transposed.
        trans_b: 0, or 1 where b lies transposed.
        trans_c: 0.
        m: rows of op(a) and c.
        n: columns of op(b) and c.
        k: columns of op(a), rows of op(b).
        alpha: address of one element of the result's type in device memory.
        matrix_a: address of a in device memory.
        lda: -1, or the length of a's rows.
        matrix_b: address of b in device memory.
        ldb: -1, or the length of b's rows.
        beta: address of one element of the result's type in device memory; where it is zero, the result is not read.
        matrix_c: address of c in device memory, which is read and written.
        ldc: -1, or n.
        type: 0, high precision, or 1, low precision; both compute the same.
        stream: 0 stands for the default one.

    Returns:
        0, which means submitted; 100024 if there is no operator model of GEMM for it; other codes as `gemm_ex`.

    Source: aclblasS8gemm.
    """
    given = Product("s8gemm", (trans_a, trans_b, trans_c), (m, n, k), (INT8, INT8, INT32))
    return _run(given, type, (lda, ldb, ldc), (matrix_a, matrix_b, matrix_c, alpha, beta), stream)


@with_code(0)
def create_handle_for_gemm_ex(
    trans_a: int,
    trans_b: int,
    trans_c: int,
    m: int,
    n: int,
    k: int,
    data_type_a: int,
    data_type_b: int,
    data_type_c: int,
    type: int,
    /,
) -> tuple[int, int]:
    """Look for the operator model of a `gemm_ex` once for many runs.

    ``acl.op.execute_with_handle`` runs it, with data buffers of a, b, c, alpha and beta, and of c.

    Args:
        trans_a: 0, or 1 where a lies transposed.
        trans_b: 0, or 1 where b lies transposed.
        trans_c: 0.
        m: rows of op(a) and c.
        n: columns of op(b) and c.
        k: columns of op(a), rows of op(b).
        data_type_a: the ``aclDataType`` of a.
        data_type_b: the ``aclDataType`` of b.
        data_type_c: the ``aclDataType`` of c.
        type: 0, high precision, or 1, low precision; both compute the same.

    Returns:
        (handle, 0); (0, code) with the codes of `gemm_ex`; 100001 before ``acl.init``.

    Source: aclblasCreateHandleForGemmEx.
    """
    check_compute_type("gemm_ex", type)
    dtypes = (data_type_a, data_type_b, data_type_c)
    return product_handle(Product("gemm_ex", (trans_a, trans_b, trans_c), (m, n, k), dtypes))


@with_code(0)
def create_handle_for_hgemm(
    trans_a: int, trans_b: int, trans_c: int, m: int, n: int, k: int, type: int, /
) -> tuple[int, int]:
    """Look for the operator model of an `hgemm`, as `create_handle_for_gemm_ex` does.

    Args:
        trans_a: 0, or 1 where a lies transposed.
        trans_b: 0, or 1 where b lies transposed.
        trans_c: 0.
        m: rows of op(a) and c.
        n: columns of op(b) and c.
        k: columns of op(a), rows of op(b).
        type: 0, high precision, or 1, low precision; both compute the same.

    Returns:
        (handle, 0); (0, code) with the codes of `create_handle_for_gemm_ex`, 100024 if there is no such operator model.

    Source: aclblasCreateHandleForHgemm.
    """
    check_compute_type("hgemm", type)
    return product_handle(Product("hgemm", (trans_a, trans_b, trans_c), (m, n, k), (FLOAT16, FLOAT16, FLOAT16)))


@with_code(0)
def create_handle_for_s8gemm(
    trans_a: int, trans_b: int, trans_c: int, m: int, n: int, k: int, type: int, /
) -> tuple[int, int]:
    """Look for the operator model of an `s8gemm`, as `create_handle_for_gemm_ex` does.

    Args:
        trans_a: 0, or 1 where a lies transposed.
        trans_b: 0, or 1 where b lies transposed.
        trans_c: 0.
        m: rows of op(a) and c.
        n: columns of op(b) and c.
        k: columns of op(a), rows of op(b).
        type: 0, high precision, or 1, low precision; both compute the same.

    Returns:
        (handle, 0); (0, code) with the codes of `create_handle_for_gemm_ex`, 100024 if there is no such operator model.

    Source: aclblasCreateHandleForS8gemm.
    """
    check_compute_type("s8gemm", type)
    return product_handle(Product("s8gemm", (trans_a, trans_b, trans_c), (m, n, k), (INT8, INT8, INT32)))


def _run(
    given: Product, compute_type: int, leading: tuple[int, int, int], addresses: tuple[int, ...], stream: int
) -> int:
    target = stream_at(stream)
    check_compute_type(given.name, compute_type)
    product = given.checked()
    product.check_leading(*leading)
    return run_product(product, addresses, target)
