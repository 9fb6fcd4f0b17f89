"""Arithmetic of more than one step, against loops over Python numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.errors import InvalidArgument, NotSupported, UnsupportedDataType
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


def _loop(function: Callable[..., float], *arrays: Array) -> Array:
    """Return a scalar function of broadcast arrays, element by element."""
    wide = np.broadcast_arrays(*[np.asarray(array).astype(np.float64) for array in arrays])
    flat = [function(*map(float, items)) for items in zip(*[array.ravel() for array in wide], strict=True)]
    return np.array(flat, np.float64).reshape(wide[0].shape)


def _numbers(seed: int, *shape: int, low: float = -3, high: float = 3, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


_TERNARY: dict[str, Callable[..., float]] = {
    "Addcmul": lambda base, x1, x2, value: base + value * x1 * x2,
    "Addcdiv": lambda base, x1, x2, value: base + value * x1 / x2,
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op_type", _TERNARY)
@given(shapes=st.sampled_from([((2, 3), (2, 3), (2, 3)), ((2, 3), (3,), (2, 1)), ((), (), ()), ((0, 3), (1, 3), (3,))]))
@settings(max_examples=4, deadline=None)
def test_add_combined(run: Run, close: Close, op_type: str, dtype: Any, shapes: Any) -> None:
    """The first three inputs broadcast; the value is one element; half precision is rounded once."""
    base, x1, x2 = (_numbers(seed, *shape, low=1, dtype=dtype) for seed, shape in enumerate(shapes))
    value = np.array([1.5], dtype)
    (found,) = run(op_type, [base, x1, x2, value])

    close(found, _loop(_TERNARY[op_type], base, x1, x2, value[0]), units=2, floor=1)


def test_add_combined_of_integers(run: Run) -> None:
    """Addcmul stays exact in integers; Addcdiv has no integer form, and takes one element as its value."""
    big = np.array([2**40], np.int64)

    assert run("Addcmul", [big, big, big * 0 + 3, np.array([2], np.int64)])[0].tolist() == [2**40 * 7]
    with pytest.raises(UnsupportedDataType, match="Addcdiv"):
        run("Addcdiv", [big, big, big, big])
    with pytest.raises(InvalidArgument, match="input 3 has shape"):
        run("Addcmul", [big, big, big, np.ones(2, np.int64)])


@pytest.mark.parametrize("dtype", [np.float32, np.float16, BF16], ids=str)
def test_lerp(run: Run, close: Close, dtype: Any) -> None:
    """From start to end, both of them exact."""
    start, end, weight = _numbers(1, 4, 3, dtype=dtype), _numbers(2, 3, dtype=dtype), _numbers(3, 4, 1, dtype=dtype)

    def line(a: float, b: float, w: float) -> float:
        return a + w * (b - a)

    close(run("Lerp", [start, end, weight])[0], _loop(line, start, end, weight), units=4, floor=4)
    for at, wanted in ((0, start), (1, end)):
        assert (run("Lerp", [start, end, np.full(1, at, dtype)])[0] == wanted).all()


@given(power=st.sampled_from([1.0, 2.0, 0.5, -1.0]), scale=st.floats(0.5, 2), shift=st.floats(0, 1))
@settings(max_examples=12, deadline=None)
def test_power(run: Run, close: Close, power: float, scale: float, shift: float) -> None:
    """``(shift + scale * x) ** power``."""
    x = _numbers(4, 3, 5, low=0.5)
    (found,) = run("Power", [x], {"power": power, "scale": scale, "shift": shift})

    close(found, _loop(lambda v: float((shift + scale * v) ** power), x), units=8)


def test_axpy(run: Run) -> None:
    """AxpyV2 takes alpha as a tensor and gives the common dtype; Sxpy without alpha adds."""
    x1, x2 = np.array([[1, 2]], np.int32), np.array([[10.0], [20.0]], np.float32)
    (found,) = run("AxpyV2", [x1, x2, np.array([0.5], np.float32)])

    assert (found.dtype, found.tolist()) == (np.dtype(np.float32), [[6, 7], [11, 12]])
    assert run("Sxpy", [x1, x1, None])[0].tolist() == [[2, 4]]
    assert run("Sxpy", [x1, x1, np.array([3], np.int32)])[0].tolist() == [[4, 8]]
    with pytest.raises(InvalidArgument, match=r"alpha of shape .* must hold one element"):
        run("AxpyV2", [x1, x1, x1])


_PAIRS: dict[str, Callable[[float, float], float]] = {
    "Multiply": lambda a, b: a * b,
    "PtAdd": lambda a, b: a + b,
    "PtMuls": lambda a, b: a * b,
    "PtSub": lambda a, b: a - b,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32], ids=str)
@pytest.mark.parametrize("op_type", _PAIRS)
@given(shapes=st.sampled_from([((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (4,)), ((0, 3), (3,))]))
@settings(max_examples=5, deadline=None)
def test_pairs(run: Run, close: Close, op_type: str, dtype: Any, shapes: Any) -> None:
    """The sum, difference or product of two elements, the shapes broadcast; halves are rounded once."""
    x, y = (_numbers(seed, *shape, low=-9, high=9, dtype=dtype) for seed, shape in enumerate(shapes))
    (found,) = run(op_type, [x, y])

    assert found.dtype == np.dtype(dtype)
    close(found, _loop(_PAIRS[op_type], x, y), units=0.5)


def test_fused(run: Run) -> None:
    """``x1 * x2 + x3``, with one more term, and with one factor for all."""
    x1, x2, x3, x4 = (np.array([value], np.int32) for value in (2, 3, 5, 7))

    assert run("FusedMulAdd", [x1, x2, x3])[0].tolist() == [11]
    assert run("FusedMulAddAdd", [x1, x2, x3, x4])[0].tolist() == [18]
    assert run("FusedMulAddN", [np.array([[1, 2]], np.int32), x2, x3])[0].tolist() == [[8, 13]]
    with pytest.raises(InvalidArgument, match="must hold one element"):
        run("FusedMulAddN", [x1, x2, np.ones(2, np.int32)])


@pytest.mark.parametrize("count", [1, 2, 4])
def test_eltwise(run: Run, close: Close, count: int) -> None:
    """Product, sum with coefficients and maximum of one tensor and of several; the output may be any of them."""
    arrays = [_numbers(seed, 2, 3) for seed in range(count)]
    coefficients = [0.5, -1.0, 2.0, 1.0][:count]
    close(run("Eltwise", arrays, {"N": count, "mode": 0})[0], _loop(lambda *v: math.prod(v), *arrays), units=4)
    total = _loop(lambda *v: math.fsum(c * i for c, i in zip(coefficients, v, strict=True)), *arrays)
    close(run("Eltwise", arrays, {"N": count, "coeff": coefficients})[0], total, units=4, floor=3)
    for into in range(count):
        close(
            run("Eltwise", arrays, {"N": count, "mode": 2}, into=into)[0],
            _loop(max, *arrays) if count > 1 else arrays[0],
        )


def test_eltwise_refuses(run: Run) -> None:
    """A mode that there is not, coefficients of another number, and unequal shapes."""
    x = np.ones(2, np.float32)
    with pytest.raises(InvalidArgument, match="mode is 3"):
        run("Eltwise", [x, x], {"N": 2, "mode": 3})
    with pytest.raises(InvalidArgument, match="coeff has 1 numbers for 2 inputs"):
        run("Eltwise", [x, x], {"N": 2, "coeff": [1.0]})
    with pytest.raises(InvalidArgument, match="must have one shape"):
        run("Eltwise", [x, x[:1]], {"N": 2})


def test_extremes_of_many(run: Run) -> None:
    """MaxN and MinN broadcast; NaN wins."""
    arrays = [np.array([[1.0], [5.0]]), np.array([2.0, np.nan, 7.0]), np.array(3.0)]

    np.testing.assert_array_equal(run("MaxN", arrays)[0], [[3, np.nan, 7], [5, np.nan, 7]])
    np.testing.assert_array_equal(run("MinN", arrays)[0], [[1, np.nan, 1], [2, np.nan, 3]])


def test_bias(run: Run) -> None:
    """Along the axes from ``axis`` on; num_axes decides for a blob, the bias's rank otherwise."""
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    expected = x.copy()
    for channel in range(3):
        expected[:, channel, :] += 10 * channel
    bias = np.array([0, 10, 20], np.float32)

    np.testing.assert_array_equal(run("Bias", [x, bias])[0], expected)
    np.testing.assert_array_equal(run("Bias", [x, bias], {"axis": -2, "bias_from_blob": False})[0], expected)
    np.testing.assert_array_equal(run("Bias", [x, x[0]], {"num_axes": -1})[0], x + x[0])
    np.testing.assert_array_equal(run("Bias", [x, bias[1]], {"num_axes": 0})[0], x + 10)
    np.testing.assert_array_equal(run("Bias", [x, x], {"axis": 0, "num_axes": 3})[0], x * 2)
    with pytest.raises(InvalidArgument, match=r"x of shape \(2, 3, 4\) and bias of shape \(4,\) do not fit"):
        run("Bias", [x, x[0, 0]])
    with pytest.raises(InvalidArgument, match="more than the 1"):
        run("Bias", [x, x[0]], {"axis": 2, "bias_from_blob": False})


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, BF16, np.complex64], ids=str)
def test_zero_first(run: Run, close: Close, dtype: Any) -> None:
    """0 where the first input is 0, else the quotient and the products with a logarithm."""
    x1, x2 = np.array([0, 0, 2, -1.5], dtype), np.array([0, 3, 0.5, 2], dtype)
    wide1, wide2 = x1.astype(np.complex128).real, x2.astype(np.complex128).real

    close(run("Xdivy", [x1, x2])[0], [0, 0, *(wide1[2:] / wide2[2:])], units=2)
    close(run("Xlogy", [x1, x2])[0], [0, 0, 2 * math.log(0.5), -1.5 * math.log(2)], units=3)
    close(run("Xlog1py", [x1, x2])[0], [0, 0, 2 * math.log(1.5), -1.5 * math.log(3)], units=3)
    nan = np.array([np.nan], dtype)
    assert np.isnan(run("Xlogy", [nan * 0, nan])[0]).all()


def test_inverse(run: Run, close: Close) -> None:
    """Floats divide; integers truncate, and 0 gives 0; other dtypes are refused."""
    close(run("Inv", [np.array([0.5, -4, np.inf], np.float32)])[0], [2, -0.25, 0])
    assert run("Inv", [np.array([1, -1, 2, 0], np.int32)])[0].tolist() == [1, -1, 0, 0]
    with pytest.raises(UnsupportedDataType, match="Inv"):
        run("Inv", [np.ones(2)])


@pytest.mark.parametrize("base", [-1.0, 2.0, 10.0])
def test_log_add_exp(run: Run, close: Close, base: float) -> None:
    """The logarithm of the sum of powers, without overflow."""
    x1, x2 = np.array([0.5, 300, -np.inf], np.float32), np.array([1.5, 299, 2], np.float32)
    real = math.e if base < 0 else base
    expected = [math.log(real**0.5 + real**1.5, real), 300 + math.log(1 + 1 / real, real), 2]

    close(run("LogAddExp", [x1, x2], {"base": base})[0], expected, units=4)
    with pytest.raises(NotSupported, match="scale"):
        run("LogAddExp", [x1, x2], {"scale": 2.0})
    with pytest.raises(InvalidArgument, match="base is 1"):
        run("LogAddExp", [x1, x2], {"base": 1.0})


def test_nan_to_num(run: Run) -> None:
    """NaN and the infinities become the attributes' numbers."""
    x = np.array([np.nan, np.inf, -np.inf, 2], np.float16)

    assert run("NanToNum", [x], {"nan": 5.0, "posinf": 6.0, "neginf": -7.0})[0].tolist() == [5, 6, -7, 2]
    with pytest.raises(InvalidArgument, match="needs attribute"):
        run("NanToNum", [x])


@given(x=st.integers(-(2**31), 2**31 - 1), amount=st.integers(0, 31))
@settings(max_examples=30, deadline=None)
def test_shifts(run: Run, x: int, amount: int) -> None:
    """As two's complement does it; the right shift keeps the sign."""
    number, by = np.array([x], np.int32), np.array([amount], np.int32)
    wrapped = (x << amount) & 0xFFFFFFFF

    assert run("LeftShift", [number, by])[0].tolist() == [wrapped - 2**32 if wrapped >= 2**31 else wrapped]
    assert run("RightShift", [number, by])[0].tolist() == [x >> amount]


def test_shifts_outside_the_width(run: Run) -> None:
    """Amounts outside the type count as its ends, as TensorFlow's do."""
    assert run("RightShift", [np.array([-8, 8], np.int8), np.array([100, -3], np.int8)])[0].tolist() == [-1, 8]
    assert run("LeftShift", [np.array([1], np.uint8), np.array([7], np.uint8)])[0].tolist() == [128]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64], ids=str)
def test_population_count(run: Run, dtype: Any) -> None:
    """The ones of the two's complement."""
    limits = np.iinfo(dtype)
    values = [0, 1, 7, int(limits.max), int(limits.min), *([-1, -2] if limits.min < 0 else [])]
    (found,) = run("PopulationCount", [np.array(values, dtype)])

    assert found.tolist() == [(value & (2**limits.bits - 1)).bit_count() for value in values]


def test_gcd_and_neighbours(run: Run) -> None:
    """The greatest common divisor is not negative; NextAfter goes one step toward the second input."""
    pairs = [(12, 18), (-12, 18), (0, 5), (0, 0), (7, 13)]
    (found,) = run("Gcd", [np.array([a for a, _ in pairs], np.int64), np.array([b for _, b in pairs], np.int64)])
    assert found.tolist() == [math.gcd(a, b) for a, b in pairs]
    (near,) = run("NextAfter", [np.array([1.0, 0.0, -2.0]), np.array([2.0, -1.0, -2.0])])
    assert near.tolist() == [math.nextafter(1, 2), math.nextafter(0, -1), -2.0]


def test_clip_by_norm(run: Run, close: Close) -> None:
    """A square root where x is above the zeros, and a lower limit."""
    x, zero, one = np.array([4.0, -1, 0, 0.25], np.float32), np.zeros(1, np.float32), np.ones(1, np.float32)

    close(run("ClipByNormNoDivSum", [x, zero, one, np.array([0.75], np.float32)])[0], [2, 0.75, 0.75, 0.75])


def test_stride_add(run: Run) -> None:
    """Spans of the second dim; one that lies outside is refused."""
    x1, x2 = np.arange(48, dtype=np.float32).reshape(1, 4, 2, 3, 2), np.ones((1, 3, 2, 3, 2), np.float32)
    attributes = {"x1_c1_offset": 1, "x2_c1_offset": 0, "c1_len": 3}

    np.testing.assert_array_equal(run("StrideAdd", [x1, x2], attributes)[0], x1[:, 1:4] + 1)
    with pytest.raises(InvalidArgument, match="lie outside input x1"):
        run("StrideAdd", [x1, x2], {**attributes, "x1_c1_offset": 2})
    with pytest.raises(InvalidArgument, match="apart from the second dim"):
        run("StrideAdd", [x1, x2[:, :, :1]], attributes)


def test_confusion_mul(run: Run, close: Close) -> None:
    """A product, and a sum of products over axes; no axes means all."""
    x0, x1, x2 = (_numbers(seed, 2, 3, dtype=np.float16) for seed in range(3))
    first, total = run("ConfusionMulGrad", [x0, x1, x2], {"axes": [-1], "keep_dims": True})
    products = _loop(lambda a, b: a * b, x1, x2)

    close(first, _loop(lambda a, b: a * b, x0, x1))
    close(total, [[math.fsum(row)] for row in products.tolist()], floor=1)
    close(run("ConfusionMulGrad", [x0, x1, x2])[1], np.asarray(math.fsum(products.ravel().tolist())), floor=1)


@pytest.mark.parametrize("keep", [False, True])
def test_square_sum(run: Run, close: Close, keep: bool) -> None:
    """The sum over axes and the squares; half precision adds up in float32."""
    x = np.full((3, 3000), 1.5, np.float16)
    total, squares = run("SquareSumV2", [x], {"axis": [1], "keep_dims": keep})

    close(total, np.full((3, 1) if keep else 3, 3000 * 2.25), units=1)
    close(squares, np.full((3, 3000), 2.25), units=0)
    with pytest.raises(InvalidArgument, match="axis 2 lies outside"):
        run("SquareSumV2", [x], {"axis": [2]})


def test_shapes_that_are_not_known() -> None:
    """Free dims and unknown ranks go through the rules."""
    free, unknown = TensorDesc.of(np.float32, (-1, 3)), TensorDesc.of(np.float32, (-2,))
    one = TensorDesc.of(np.float32, (1,))

    def inferred(op_type: str, *inputs: TensorDesc, **attributes: Any) -> list[tuple[int, ...]]:
        schema = schema_of(op_type)
        return [out.shape for out in infer_outputs(schema, inputs, schema.complete(attributes, len(inputs)))]

    assert inferred("AxpyV2", free, free, one) == [(-1, 3)]
    assert inferred("Eltwise", unknown, free, N=2) == [(-1, 3)]
    assert inferred("Bias", unknown, one) == [(-2,)]
    assert inferred("ConfusionMulGrad", free, free, free, axes=[0]) == [(-1, 3), (3,)]
    spans = {"x1_c1_offset": 0, "x2_c1_offset": 0, "c1_len": 2}
    assert inferred("StrideAdd", unknown, unknown, **spans) == [(-1, 2, -1, -1, -1)]


def test_addcmul_of_other_kinds(run: Run) -> None:
    """Factors whose product an integer output cannot take are refused beforehand."""
    whole = np.ones(2, np.int32)
    for other in (np.ones(2), np.ones(2, np.float32), np.ones(2, np.float16)):
        with pytest.raises(UnsupportedDataType, match="do not give INT32"):
            run("Addcmul", [whole, other, other, np.int32(2)])
    with pytest.raises(UnsupportedDataType, match="do not give UINT8"):
        run("Addcmul", [whole.astype(np.uint8), whole, whole, np.uint8(2)])
    assert run("Addcmul", [whole, whole.astype(np.int64), whole, np.int32(2)])[0].tolist() == [3, 3]
