"""Arithmetic element by element, against float64 and Python's integers."""

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

from aacl.abc import Array, KernelRequest
from aacl.backends.cpu.kernels import find, kernel_types
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument, UnsupportedDataType
from aacl.ops._catalogue import schema_of
from aacl.ops._infer._rules import RULES
from aacl.tensors._desc import TensorDesc
from tests.helpers.samples import samples

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


INTEGERS = [np.dtype(name) for name in ("int8", "int16", "int32", "int64", "uint8")]

# Operator: its meaning in float64, and the allowed error in units in the last place.
_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "Add": lambda a, b: a + b,
    "AddV2": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Maximum": lambda a, b: np.where(a > b, a, b),
    "Minimum": lambda a, b: np.where(a < b, a, b),
    "SquaredDifference": lambda a, b: (a - b) ** 2,
    "Atan2": np.arctan2,
}
_UNARY: dict[str, Callable[[Array], Array]] = {
    "Abs": np.abs,
    "Neg": lambda x: -x,
    "Sign": lambda x: (x > 0) * 1.0 - (x < 0) * 1.0,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Rint": lambda x: 2 * np.floor(x / 2 + 0.25) + (np.abs(x % 2 - 1) < 0.5),
    "Square": lambda x: x * x,
    "Sin": np.sin,
    "Cos": np.cos,
    "Tan": np.tan,
    "Atan": np.arctan,
    "Sinh": np.sinh,
    "Cosh": np.cosh,
    "Asinh": np.arcsinh,
    "Tanh": lambda x: (np.exp(2 * x) - 1) / (np.exp(2 * x) + 1),
    "Identity": lambda x: x,
}


def _pair(data: st.DataObject, dtype: np.dtype[Any], low: float = -4, high: float = 4) -> list[Array]:
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=4)).input_shapes
    random = np.random.default_rng(data.draw(st.integers(0, 999)))
    return [(random.uniform(low, high, shape)).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op_type", _BINARY)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_binary_operators(run: Run, close: Close, op_type: str, dtype: np.dtype[Any], data: st.DataObject) -> None:
    """Every float dtype and broadcast shape, zero-size and 0-d ones included."""
    a, b = _pair(data, dtype)
    (found,) = run(op_type, [a, b])

    assert found.dtype == dtype
    wide = a.astype(np.float64), b.astype(np.float64)
    close(found, np.asarray(_BINARY[op_type](*wide)), units=2 if op_type != "SquaredDifference" else 4, floor=0.01)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op_type", _UNARY)
def test_unary_operators(run: Run, close: Close, op_type: str, dtype: np.dtype[Any]) -> None:
    """Every float dtype, halves rounded once."""
    x = np.linspace(-3.5, 3.5, 57).astype(dtype).reshape(3, 19)
    (found,) = run(op_type, [x])

    assert found.dtype == dtype
    close(found, _UNARY[op_type](x.astype(np.float64)), units=4, floor=0.5)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_integers_wrap_around(run: Run, dtype: np.dtype[Any], data: st.DataObject) -> None:
    """Sums, differences and products are exact modulo the dtype's range, and keep the dtype."""
    limits = np.iinfo(dtype)
    pairs = data.draw(st.lists(st.tuples(*(st.integers(limits.min, limits.max),) * 2), min_size=1, max_size=8))
    a, b = (np.array(column, dtype) for column in zip(*pairs, strict=True))
    for op_type, exact in (("Add", int.__add__), ("Sub", int.__sub__), ("Mul", int.__mul__)):
        (found,) = run(op_type, [a, b])
        wrapped = [exact(x, y) - limits.min for x, y in pairs]
        assert found.dtype == dtype
        assert found.tolist() == [value % 2**limits.bits + limits.min for value in wrapped]


def test_a_plain_operator_is_the_ufunc_itself() -> None:
    """Nothing stands between a prepared integer Add and NumPy."""
    desc = TensorDesc.of(np.int32, (8, 16))
    kernel = find(KernelRequest("Add", (desc, desc), (desc,), {}))

    assert kernel.body is np.add
    assert kernel.nbytes == 3 * 8 * 16 * 4
    assert kernel.operations == 0


@pytest.mark.parametrize("op_type", ["Add", "Mul", "Sub", "Exp", "Sqrt", "Reciprocal", "Square", "Log"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_no_warning_escapes(run: Run, op_type: str, dtype: np.dtype[Any]) -> None:
    """Overflow, invalid values and divisions by zero are values, not warnings."""
    edge = np.array([np.inf, -np.inf, np.nan, float(ml_dtypes.finfo(dtype).max), -1, 0]).astype(dtype)  # type: ignore[no-untyped-call]
    count = 2 if op_type in ("Add", "Mul", "Sub") else 1

    (found,) = run(op_type, [edge] * count)

    assert np.isnan(found.astype(np.float64)[2])


@pytest.mark.parametrize("op_type", ["Add", "Mul", "Sub", "Maximum", "SquaredDifference", "Axpy", "Mod", "FloorMod"])
@pytest.mark.parametrize("into", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, BF16], ids=str)
def test_the_output_may_be_an_input(run: Run, op_type: str, into: int, dtype: Any) -> None:
    """In place gives what a separate output gives."""
    a, b = (np.random.default_rng(seed).integers(1, 9, (3, 4)).astype(dtype) for seed in (1, 2))
    attributes = {"alpha": 2.0} if op_type == "Axpy" else {}
    if op_type == "SquaredDifference" and dtype is np.int32:
        a = a + b

    (apart,) = run(op_type, [a, b], attributes)
    (same,) = run(op_type, [a, b], attributes, into=into)

    np.testing.assert_array_equal(apart, same)


_NOT_SCALARS = {"BiasAdd", "HardMax", "Tril", "Triu"}
"""They need an axis or two."""

_DRAWN = {"dropout", "random"}
"""Families of samples whose operators give what chance gives."""


def _elementwise() -> list[tuple[str, int]]:
    """List the operators of one shape rule family that take one to three float32 tensors and no attribute."""
    found = []
    for op_type in kernel_types():
        schema = schema_of(op_type)
        is_member = RULES[op_type].__module__.endswith("._elementwise")
        plain = all(DataType.FLOAT in p.dtypes and not p.is_dynamic for p in schema.inputs)
        takes_scalars = op_type not in _NOT_SCALARS and len(schema.inputs) <= 3
        plain = plain and samples()[op_type][0] not in _DRAWN
        if is_member and plain and takes_scalars and not any(a.is_required for a in schema.attributes):
            found.append((op_type, len(schema.inputs)))
    return sorted(found)


@pytest.mark.parametrize("dtype", [np.float32, np.float16], ids=str)
@pytest.mark.parametrize(("op_type", "count"), _elementwise())
def test_scalars_and_empty_tensors(run: Run, op_type: str, count: int, dtype: Any) -> None:
    """0-d and zero-size tensors give the values of a tensor of one element, and none."""
    values = [np.array([value]).astype(dtype) for value in (1.25, 2.5, 0.75)[:count]]
    (one,) = run(op_type, values)
    (scalar,) = run(op_type, [value.reshape(()) for value in values])

    assert scalar.tobytes() == one.tobytes()
    for shape in ((0,), (2, 0, 3)):
        (empty,) = run(op_type, [np.zeros(shape, dtype)] * count)
        assert empty.shape == shape


def test_mul_promotes(run: Run) -> None:
    """Unequal dtypes give their common one."""
    (found,) = run("Mul", [np.array([2], np.int32), np.array([1.5], np.float16)])
    assert (found.dtype, found.tolist()) == (np.dtype(np.float16), [3.0])
    (found,) = run("Mul", [np.array([1.5], BF16), np.array([1.1], np.float32)])
    assert (found.dtype, found.tolist()) == (np.dtype(np.float32), [float(np.float32(1.1) * np.float32(1.5))])


@pytest.mark.parametrize("dtype", [*FLOATS[:1], *FLOATS[2:], *INTEGERS[1:3]], ids=str)
@pytest.mark.parametrize("value", [2.0, -0.1, 1e3])
def test_adds_and_muls(run: Run, close: Close, dtype: np.dtype[Any], value: float) -> None:
    """A float32 attribute; x's dtype, integers truncated."""
    x = np.array([-7, -1, 0, 3, 9]).astype(dtype)
    value = float(np.float32(value))
    for op_type, exact in (("Adds", x.astype(np.float64) + value), ("Muls", x.astype(np.float64) * value)):
        (found,) = run(op_type, [x], {"value": value})
        assert found.dtype == dtype
        close(found, np.trunc(exact) if dtype.kind == "i" else exact, units=1)


def test_muls_of_large_integers_is_exact(run: Run) -> None:
    """A whole attribute multiplies int64 exactly."""
    x = np.array([2**53 + 1, -(2**60) - 1], np.int64)

    assert run("Muls", [x], {"value": 3.0})[0].tolist() == [3 * (2**53 + 1), -3 * (2**60 + 1)]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("op_type", ["AddN", "AccumulateNV2"])
def test_add_n(run: Run, close: Close, dtype: np.dtype[Any], count: int, op_type: str) -> None:
    """The sum of any number of tensors; halves are rounded once."""
    arrays = [np.random.default_rng(seed).uniform(0.5, 3, (2, 5)).astype(dtype) for seed in range(count)]
    exact = [[math.fsum(float(array[row, place]) for array in arrays) for place in range(5)] for row in range(2)]

    (found,) = run(op_type, arrays, {"N": count})
    close(found, exact, units=1 if dtype.itemsize == 2 else 3)
    (same,) = run(op_type, arrays, {"N": count}, into=count - 1)
    np.testing.assert_array_equal(found, same)


@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[2], BF16, np.dtype(np.int32)], ids=str)
def test_axpy(run: Run, close: Close, dtype: np.dtype[Any]) -> None:
    """``x1 + alpha * x2``."""
    a, b = np.array([1, 2, 3]).astype(dtype), np.array([4, -5, 6]).astype(dtype)

    close(run("Axpy", [a, b], {"alpha": 0.5})[0], [3, -0.5 if dtype.kind != "i" else 0, 6], units=1)


def test_round_is_half_to_even(run: Run) -> None:
    """Also at decimal places, and for integers."""
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5], np.float32)

    assert run("Round", [x])[0].tolist() == [0, 2, 2, 0, -2]
    np.testing.assert_allclose(run("Round", [np.array([1.25, 1.35], np.float64)], {"decimals": 1})[0], [1.2, 1.4])
    assert run("Round", [np.array([15, 25], np.int32)], {"decimals": -1})[0].tolist() == [20, 20]


def test_clip_by_value(run: Run) -> None:
    """The lower bound wins where they cross; bounds may be scalars, or the output itself."""
    x = np.array([-3, 0, 3], np.float32)
    low, high = np.float32(-1), np.float32(2)

    assert run("ClipByValue", [x, low, high])[0].tolist() == [-1, 0, 2]
    assert run("ClipByValue", [x, np.float32(5), high])[0].tolist() == [5, 5, 5]
    full = [x, np.array([-1, -1, 9], np.float32), np.array([2, -5, 2], np.float32)]
    for into in (None, 0, 1, 2):
        assert run("ClipByValue", full, into=into)[0].tolist() == [-1, -1, 9]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_large_tensors_take_the_same_values(run: Run, dtype: np.dtype[Any]) -> None:
    """The way chosen for many elements rounds like the one for few."""
    a, b = (np.random.default_rng(seed).standard_normal(5000).astype(dtype) for seed in (1, 2))
    for op_type in ("Add", "Mul", "Sub", "Maximum", "RealDiv"):
        (many,) = run(op_type, [a, b])
        few = np.concatenate([run(op_type, [a[i : i + 500], b[i : i + 500]])[0] for i in range(0, 5000, 500)])
        np.testing.assert_array_equal(many, few)


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), BF16], ids=str)
@pytest.mark.parametrize("op_type", ["Gelu", "Sigmoid", "Mish", "Exp", "SquaredDifference", "FloorDiv", "Axpy", "AddN"])
def test_blocks_make_no_difference(run: Run, op_type: str, dtype: np.dtype[Any]) -> None:
    """Tensors that are worked on block by block give what their parts give, in place too."""
    count = {"AddN": 3}.get(op_type, len(schema_of(op_type).inputs))
    arrays = [np.random.default_rng(seed).uniform(0.5, 2, (3, 13001)).astype(dtype) for seed in range(count)]
    attributes = {"alpha": 0.5} if op_type == "Axpy" else {"N": 3} if op_type == "AddN" else {}
    if op_type == "Exp":
        attributes = {"scale": 0.5}
    rows = [run(op_type, [array[row] for array in arrays], attributes)[0] for row in range(3)]

    assert run(op_type, arrays, attributes)[0].tobytes() == np.stack(rows).tobytes()
    assert run(op_type, arrays, attributes, into=count - 1)[0].tobytes() == np.stack(rows).tobytes()


@pytest.mark.parametrize(("op_type", "dtype"), [("Sub", np.bool_), ("Add", ml_dtypes.int4)])
def test_dtypes_without_a_kernel(run: Run, op_type: str, dtype: Any) -> None:
    """A typed error that names the operator and the dtypes."""
    x = np.ones(2, dtype)
    with pytest.raises(UnsupportedDataType, match=f"operator {op_type}"):
        run(op_type, [x, x])


def test_bitwise(run: Run) -> None:
    """Python's integers agree."""
    a, b = [12, 10, 255, 0], [10, 7, 15, 255]
    x, y = np.array(a, np.uint8), np.array(b, np.uint8)
    pairs = list(zip(a, b, strict=True))

    assert run("BitwiseAnd", [x, y])[0].tolist() == [i & j for i, j in pairs]
    assert run("BitwiseOr", [x, y])[0].tolist() == [i | j for i, j in pairs]
    assert run("BitwiseXor", [x, y])[0].tolist() == [i ^ j for i, j in pairs]
    assert run("Invert", [x])[0].tolist() == [255 - i for i in a]


def test_mul_no_nan(run: Run) -> None:
    """0 where the second factor is 0."""
    a, b = np.array([np.inf, np.nan, 2], np.float32), np.array([0, 0, 3], np.float32)

    assert run("MulNoNan", [a, b])[0].tolist() == [0, 0, 6]


def test_clip_bounds_fit_the_input(run: Run) -> None:
    """One element of any rank, or what broadcasts to the input; anything else is refused beforehand."""
    x, low, high = np.float32(3), np.zeros((1, 1), np.float32), np.full(1, 2, np.float32)

    for op_type in ("ClipByValue", "ClipByValueV2"):
        assert run(op_type, [x, low, high])[0].tolist() == 2
        rows = np.array([[-1, 5], [1, 1]], np.float32)
        assert run(op_type, [rows, low, np.array([[1], [0]], np.float32)])[0].tolist() == [[0, 1], [0, 0]]
        with pytest.raises(InvalidArgument, match="a bound is one element, or broadcasts to x"):
            run(op_type, [rows[0], low, rows])
        with pytest.raises(UnsupportedDataType, match="must be equal"):
            run(op_type, [rows, low.astype(np.float16), high])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("decimals", [12, 30, 39, 50, 300, 309, 400])
def test_round_beyond_all_digits(run: Run, dtype: type, decimals: int) -> None:
    """Numbers that such a unit divides stay as they are; of one that is larger than all numbers only the sign stays."""
    big = float(np.finfo(dtype).max)
    x: Array = np.array([1.5, -3e4, big, -big, 0.0, -0.0, np.inf, -np.inf, np.nan], dtype)
    (same,) = run("Round", [x], {"decimals": decimals})
    np.testing.assert_allclose(same, x, rtol=4 * float(np.finfo(dtype).eps))
    assert np.signbit(same).tolist()[:-1] == np.signbit(x).tolist()[:-1]

    if decimals > np.log10(big):
        (none,) = run("Round", [x], {"decimals": -decimals})
        np.testing.assert_array_equal(none, [0, 0, 0, 0, 0, 0, np.inf, -np.inf, np.nan])
        assert np.signbit(none).tolist()[:-1] == np.signbit(x).tolist()[:-1]
