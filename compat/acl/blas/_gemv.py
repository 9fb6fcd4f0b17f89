"""Products of a matrix and a vector: the vector is a matrix of one column."""

from __future__ import annotations

from acl._devices import stream_at
from acl._status import code_alone, with_code
from acl.blas._product import (
    FLOAT16,
    INT8,
    INT32,
    Product,
    check_compute_type,
    check_step,
    product_handle,
    run_product,
)

__all__ = (
    "create_handle_for_gemv_ex",
    "create_handle_for_hgemv",
    "create_handle_for_s8gemv",
    "gemv_ex",
    "hgemv",
    "s8gemv",
)


@code_alone
def gemv_ex(
    trans_a: int,
    m: int,
    n: int,
    alpha: int,
    a: int,
    lda: int,
    data_type_a: int,
    x: int,
    incx: int,
    data_type_x: int,
    beta: int,
    y: int,
    incy: int,
    data_type_y: int,
    type: int,
    stream: int,
    /,
) -> int:
    """Submit ``y = alpha * op(a) x + beta * y`` to a stream.

    The operator model is that of GEMM with x as ``(n, 1)`` and y as ``(m, 1)``.

    Args:
        trans_a: 0, or 1 where a lies transposed: then it is ``(n, m)`` in memory, else ``(m, n)``.
        m: rows of op(a), elements of y.
        n: columns of op(a), elements of x.
        alpha: address of one element of y's type in device memory.
        a: address of the matrix in device memory.
        lda: reserved: -1, or the length of a's rows.
        data_type_a: as for ``gemm_ex``.
        x: address of the vector in device memory.
        incx: reserved: -1, or 1.
        data_type_x: of x, that of a.
        beta: address of one element of y's type in device memory. Where it is zero, y is not read.
        y: address of the result in device memory, which is read and written.
        incy: reserved: -1, or 1.
        data_type_y: of y, as that of c for ``gemm_ex``.
        type: 0, high precision, or 1, low precision, which is the same here.
        stream: 0 stands for the default one.

    Returns:
        As ``gemm_ex``.

    Source: aclblasGemvEx.
    """
    dtypes = (data_type_a, data_type_x, data_type_y)
    return _run(_product("gemv_ex", trans_a, m, n, dtypes, type), lda, incx, incy, (a, x, y, alpha, beta), stream)


@code_alone
def hgemv(
    trans_a: int,
    m: int,
    n: int,
    alpha: int,
    a: int,
    lda: int,
    x: int,
    incx: int,
    beta: int,
    y: int,
    incy: int,
    type: int,
    stream: int,
    /,
) -> int:
    """Submit a `gemv_ex` of half precision alone.

    Args:
        trans_a: 0, or 1 where a lies transposed.
        m: rows of op(a), elements of y.
        n: columns of op(a), elements of x.
        alpha: address of one element of the result's type in device memory.
        a: address of a in device memory.
        lda: -1, or the length of a's rows.
        x: address of x in device memory.
        incx: -1 or 1.
        beta: address of one element of the result's type in device memory; where it is zero, the result is not read.
        y: address of y in device memory, which is read and written.
        incy: -1 or 1.
        type: 0, high precision, or 1, low precision; both compute the same.
        stream: 0 stands for the default one.

    Returns:
        0, which means submitted; 100024 if there is no operator model of GEMM for it; other codes as `gemv_ex`.

    Source: aclblasHgemv.
    """
    product = _product("hgemv", trans_a, m, n, (FLOAT16, FLOAT16, FLOAT16), type)
    return _run(product, lda, incx, incy, (a, x, y, alpha, beta), stream)


@code_alone
def s8gemv(
    trans_a: int,
    m: int,
    n: int,
    alpha: int,
    a: int,
    lda: int,
    x: int,
    incx: int,
    beta: int,
    y: int,
    incy: int,
    type: int,
    stream: int,
    /,
) -> int:
    """Submit a `gemv_ex` of INT8 giving INT32; alpha and beta are INT32.

    Args:
        trans_a: 0, or 1 where a lies transposed.
        m: rows of op(a), elements of y.
        n: columns of op(a), elements of x.
        alpha: address of one element of the result's type in device memory.
        a: address of a in device memory.
        lda: -1, or the length of a's rows.
        x: address of x in device memory.
        incx: -1 or 1.
        beta: address of one element of the result's type in device memory; where it is zero, the result is not read.
        y: address of y in device memory, which is read and written.
        incy: -1 or 1.
        type: 0, high precision, or 1, low precision; both compute the same.
        stream: 0 stands for the default one.

    Returns:
        0, which means submitted; 100024 if there is no operator model of GEMM for it; other codes as `gemv_ex`.

    Source: aclblasS8gemv.
    """
    product = _product("s8gemv", trans_a, m, n, (INT8, INT8, INT32), type)
    return _run(product, lda, incx, incy, (a, x, y, alpha, beta), stream)


@with_code(0)
def create_handle_for_gemv_ex(
    trans_a: int, m: int, n: int, data_type_a: int, data_type_x: int, data_type_y: int, type: int, /
) -> tuple[int, int]:
    """Look for the operator model of a `gemv_ex` once for many runs.

    ``acl.op.execute_with_handle`` runs it, with data buffers of a, x, y, alpha and beta, and of y.

    Args:
        trans_a: 0, or 1 where a lies transposed.
        m: rows of op(a), elements of y.
        n: columns of op(a), elements of x.
        data_type_a: the ``aclDataType`` of a.
        data_type_x: the ``aclDataType`` of x.
        data_type_y: the ``aclDataType`` of y.
        type: 0, high precision, or 1, low precision; both compute the same.

    Returns:
        (handle, 0); (0, code) with the codes of `gemv_ex`; 100001 before ``acl.init``.

    Source: aclblasCreateHandleForGemvEx.
    """
    return product_handle(_product("gemv_ex", trans_a, m, n, (data_type_a, data_type_x, data_type_y), type))


@with_code(0)
def create_handle_for_hgemv(trans_a: int, m: int, n: int, type: int, /) -> tuple[int, int]:
    """Look for the operator model of an `hgemv`, as `create_handle_for_gemv_ex` does.

    Args:
        trans_a: 0, or 1 where a lies transposed.
        m: rows of op(a), elements of y.
        n: columns of op(a), elements of x.
        type: 0, high precision, or 1, low precision; both compute the same.

    Returns:
        (handle, 0); (0, code) with the codes of `create_handle_for_gemv_ex`, 100024 if there is no such operator model.

    Source: aclblasCreateHandleForHgemv.
    """
    return product_handle(_product("hgemv", trans_a, m, n, (FLOAT16, FLOAT16, FLOAT16), type))


@with_code(0)
def create_handle_for_s8gemv(trans_a: int, m: int, n: int, type: int, /) -> tuple[int, int]:
    """Look for the operator model of an `s8gemv`, as `create_handle_for_gemv_ex` does.

    Args:
        trans_a: 0, or 1 where a lies transposed.
        m: rows of op(a), elements of y.
        n: columns of op(a), elements of x.
        type: 0, high precision, or 1, low precision; both compute the same.

    Returns:
        (handle, 0); (0, code) with the codes of `create_handle_for_gemv_ex`, 100024 if there is no such operator model.

    Source: aclblasCreateHandleForS8gemv.
    """
    return product_handle(_product("s8gemv", trans_a, m, n, (INT8, INT8, INT32), type))


def _product(name: str, trans_a: int, m: int, n: int, dtypes: tuple[int, int, int], compute_type: int) -> Product:
    check_compute_type(name, compute_type)
    return Product(name, (trans_a, 0, 0), (m, 1, n), dtypes)


def _run(given: Product, lda: int, incx: int, incy: int, addresses: tuple[int, ...], stream: int) -> int:
    target, product = stream_at(stream), given.checked()
    product.check_leading(lda, -1, -1)
    check_step(product.name, "x", incx)
    check_step(product.name, "y", incy)
    return run_product(product, addresses, target)
