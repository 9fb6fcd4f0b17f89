"""Matrix products, against sums in Python and float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array, KernelRequest
from aacl.backends.cpu.kernels import find
from aacl.errors import InvalidArgument, NotSupported
from aacl.ops._catalogue import schema_of
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[2], BF16, np.dtype(np.int32)], ids=str)
@settings(max_examples=12, deadline=None)
@given(sizes=st.tuples(*(st.integers(0, 6),) * 3), turns=st.tuples(st.booleans(), st.booleans()), bias=st.booleans())
def test_matmul(
    run: Run, close: Close, dtype: np.dtype[Any], sizes: tuple[int, int, int], turns: tuple[bool, bool], bias: bool
) -> None:
    """Every dtype, transposes, with a bias or without, empty matrices; halves are rounded once."""
    m, k, n = sizes
    random = np.random.default_rng(m + 7 * k + 49 * n)
    a, b, c = (random.integers(-4, 5, shape).astype(dtype) for shape in ((m, k), (k, n), (n,)))
    exact = [
        [sum(int(a[i, x]) * int(b[x, j]) for x in range(k)) + bias * int(c[j]) for j in range(n)] for i in range(m)
    ]
    left, right = a.T.copy() if turns[0] else a, b.T.copy() if turns[1] else b

    (found,) = run("MatMul", [left, right, c if bias else None], {"transpose_x1": turns[0], "transpose_x2": turns[1]})
    assert found.dtype == dtype
    close(found, np.array(exact, np.float64).reshape(m, n), units=0.5)
    if dtype.itemsize == 2:
        third = c.astype(np.float32) if bias else None
        (found,) = run("MatMulV3", [left, right, third], {"transpose_x1": turns[0], "transpose_x2": turns[1]})
        assert found.dtype == dtype
        close(found, np.array(exact, np.float64).reshape(m, n), units=0.5)


@pytest.mark.parametrize("dtype", [np.float16, BF16], ids=str)
def test_halves_accumulate_in_float32(run: Run, close: Close, dtype: Any) -> None:
    """4096 products of 0.1 keep float32's accuracy until the one rounding."""
    a = np.full((1, 4096), 0.1).astype(dtype)
    exact = 4096 * float(a[0, 0]) ** 2

    close(run("MatMul", [a, a], {"transpose_x2": True})[0], [[exact]], units=0.6)
    close(run("BatchMatMul", [a[None], a[None]], {"adj_x2": True})[0], [[[exact]]], units=0.6)


@pytest.mark.parametrize("inner", [3, 1024, 1025, 2000])
def test_quantised_products_are_exact(run: Run, inner: int) -> None:
    """int8 times int8 gives int32, at the extremes too, with an int32 bias."""
    a, b = np.full((2, inner), -128, np.int8), np.full((inner, 3), -128, np.int8)
    a[0, 0], b[0, 0] = 127, -127
    bias = np.array([1, -2, 3], np.int32)
    (found,) = run("MatMulV2", [a, b, bias])

    assert found.dtype == np.int32
    assert found.tolist() == (a.astype(np.int64) @ b.astype(np.int64) + bias).tolist()


def test_int32_products_are_exact_and_wrap(run: Run) -> None:
    """Small ones through BLAS, large ones modulo 2**32."""
    small = np.random.default_rng(1).integers(-1000, 1000, (8, 8)).astype(np.int32)
    assert run("MatMul", [small, small])[0].tolist() == (small.astype(object) @ small.astype(object)).tolist()
    large = np.array([[2**30, 3], [-(2**31), 7]], np.int32)
    exact = large.astype(object) @ large.astype(object)
    wrapped = [[(int(value) + 2**31) % 2**32 - 2**31 for value in row] for row in exact]
    assert run("MatMul", [large, large])[0].tolist() == wrapped


def test_batches_broadcast(run: Run) -> None:
    """Leading dims follow NumPy's rule; adj swaps the last two dims."""
    a = np.random.default_rng(1).standard_normal((2, 1, 3, 4)).astype(np.float32)
    b = np.random.default_rng(2).standard_normal((5, 6, 4)).astype(np.float32)
    (found,) = run("BatchMatMul", [a, b], {"adj_x2": True})

    assert found.shape == (2, 5, 3, 6)
    exact = np.einsum("apik,pjk->apij", np.broadcast_to(a, (2, 5, 3, 4)).astype(float), b.astype(float))
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-5)
    biased = run("BatchMatMulV2", [a, b, np.ones(6, np.float32)], {"adj_x2": True})[0]
    np.testing.assert_allclose(biased, exact + 1, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("into", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, BF16], ids=str)
def test_in_place(run: Run, into: int, dtype: Any) -> None:
    """A square product may be written over either factor."""
    a, b = (np.random.default_rng(seed).integers(-3, 4, (5, 5)).astype(dtype) for seed in (1, 2))

    assert run("MatMul", [a, b])[0].tobytes() == run("MatMul", [a, b], into=into)[0].tobytes()


def test_work_is_counted() -> None:
    """Two operations for each product."""
    a, b, c = (TensorDesc.of(np.float32, shape) for shape in ((3, 5), (5, 7), (3, 7)))
    found = find(KernelRequest("MatMul", (a, b), (c,), schema_of("MatMul").complete({})))

    assert found.operations == 2 * 3 * 5 * 7
    assert found.nbytes == 4 * (15 + 35 + 21)


def test_quantised_offsets_are_refused(run: Run) -> None:
    """What the device does not do is said."""
    a = np.ones((2, 2), np.int8)
    with pytest.raises(NotSupported, match="operator MatMulV2: offset_x and offset_w are not supported"):
        run("MatMulV2", [a, a], {"offset_x": 3})
    with pytest.raises(NotSupported, match="offset_x and offset_w"):
        run("MatMulV2", [a, a, None, a])


def test_bias_add(run: Run) -> None:
    """Along the last axis for NHWC, axis 1 for NCHW."""
    x = np.zeros((2, 3, 2, 3), np.float32)
    bias = np.array([1, 2, 3], np.float32)

    assert run("BiasAdd", [x, bias])[0][1, 2, 1].tolist() == [1, 2, 3]
    assert run("BiasAdd", [x, bias], {"data_format": "NCHW"})[0][1, :, 1, 2].tolist() == [1, 2, 3]
    assert run("BiasAdd", [x[0, :, 0], bias], {"data_format": "NCHW"})[0].tolist() == [[1, 2, 3]] * 3


def test_dot(run: Run) -> None:
    """One element, in one dim."""
    (found,) = run("Dot", [np.array([1, 2, 3], np.float32), np.array([4, 5, 6], np.float32)])
    assert found.tolist() == [32]


def test_a_bias_of_too_many_dims(run: Run) -> None:
    """It broadcasts to the product."""
    x = np.ones((2, 4), np.float32)
    with pytest.raises(InvalidArgument, match="the bias holds one element"):
        run("MatMulV2", [x, np.ones((4, 4), np.float32), np.ones((2, 3, 4, 4), np.float32)])
