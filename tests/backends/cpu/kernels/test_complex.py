"""Complex numbers: their parts, and arithmetic on them, against Python's own."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.dtypes import DataType
from aacl.errors import UnsupportedDataType

Run = Callable[..., list[Array]]
Close = Callable[..., None]
DTYPES = [np.dtype(np.complex64), np.dtype(np.complex128)]
PARTS = {np.dtype(np.complex64): DataType.FLOAT, np.dtype(np.complex128): DataType.DOUBLE}

numbers = st.lists(st.complex_numbers(max_magnitude=4, width=64), min_size=1, max_size=6)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@given(numbers)
@settings(max_examples=15, deadline=None)
def test_parts(run: Run, close: Close, dtype: Any, values: list[complex]) -> None:
    """A number is its parts put together; its size and its angle."""
    x, part = np.array(values, dtype), {"Tout": PARTS[dtype]}
    (real,), (imaginary,) = run("Real", [x], part), run("Imag", [x], part)

    assert real.tolist() == [value.real for value in x.tolist()]
    assert imaginary.tolist() == [value.imag for value in x.tolist()]
    both = {"Tout": DataType.of(dtype)}
    assert run("Complex", [real, imaginary], both)[0].tobytes() == x.tobytes()
    assert run("Conj", [x])[0].tolist() == [value.conjugate() for value in x.tolist()]
    close(run("ComplexAbs", [x], part)[0], [abs(value) for value in x.tolist()], units=4)
    close(run("Angle", [x], part)[0], [cmath.phase(value) for value in x.tolist()], units=4)


def test_defaults(run: Run) -> None:
    """Without Tout the parts are float, and parts make complex64, whatever went in."""
    x = np.array([3 + 4j])

    assert [run(name, [x])[0].dtype for name in ("Real", "Imag", "ComplexAbs", "Angle")] == [np.dtype(np.float32)] * 4
    assert run("Complex", [np.ones(2), np.zeros((2, 1))])[0].dtype == np.dtype(np.complex64)
    assert run("Real", [np.ones(2, np.float32)])[0].tolist() == [1, 1]


def test_angle_of_anything(run: Run, close: Close) -> None:
    """AngleV2 takes real numbers too: 0 or pi, NaN of NaN."""
    real = np.array([-2, 0, 3, np.nan], np.float16)

    close(run("AngleV2", [real])[0], [math.pi, 0, 0, np.nan], units=1)
    close(run("AngleV2", [np.array([-2, 5], np.int8)])[0], [math.pi, 0], units=1)
    assert run("AngleV2", [np.array([True])])[0].dtype == np.dtype(np.float32)
    close(run("AngleV2", [np.array([1j, -1], np.complex64)])[0], [math.pi / 2, math.pi], units=1)


_UNARY: dict[str, Callable[[complex], complex]] = {
    "Neg": lambda x: -x,
    "Exp": cmath.exp,
    "Log": cmath.log,
    "Sqrt": cmath.sqrt,
    "Rsqrt": lambda x: 1 / cmath.sqrt(x),
    "Reciprocal": lambda x: 1 / x,
    "Square": lambda x: x * x,
    "Sin": cmath.sin,
    "Cos": cmath.cos,
    "Tan": cmath.tan,
    "Sinh": cmath.sinh,
    "Cosh": cmath.cosh,
    "Tanh": cmath.tanh,
    "Asin": cmath.asin,
    "Acos": cmath.acos,
    "Atan": cmath.atan,
    "Asinh": cmath.asinh,
    "Acosh": cmath.acosh,
    "Atanh": cmath.atanh,
    "Expm1": lambda x: cmath.exp(x) - 1,
    "Log1p": lambda x: cmath.log(1 + x),
    "Sigmoid": lambda x: 1 / (1 + cmath.exp(-x)),
    "Sign": lambda x: x / abs(x),
}
_BINARY: dict[str, Callable[[complex, complex], complex]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "RealDiv": lambda a, b: a / b,
    "Div": lambda a, b: a / b,
    "Pow": lambda a, b: cmath.exp(b * cmath.log(a)),
    "SquaredDifference": lambda a, b: abs(a - b) ** 2,
    "Xdivy": lambda a, b: a / b,
    "Xlogy": lambda a, b: a * cmath.log(b),
}
POINTS = [0.5 + 0.75j, -1.25 + 0.5j, 0.25 - 1.5j, -0.5 - 0.25j]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("op_type", [*_UNARY, *_BINARY])
def test_arithmetic(run: Run, close: Close, op_type: str, dtype: Any) -> None:
    """Operators whose schema lists complex numbers compute with them."""
    x = np.array(POINTS, dtype)
    if op_type in _UNARY:
        (found,) = run(op_type, [x])
        expected = [_UNARY[op_type](value) for value in POINTS]
    else:
        (found,) = run(op_type, [x, x[::-1].copy()])
        expected = [_BINARY[op_type](a, b) for a, b in zip(POINTS, reversed(POINTS), strict=True)]

    assert found.dtype == dtype
    close(found, expected, units=16, floor=0.25)


@pytest.mark.parametrize("op_type", ["FloorDiv", "TruncateDiv"])
def test_what_complex_numbers_have_not(run: Run, op_type: str) -> None:
    """A complex number has no floor: refused by name, whatever the schema lists."""
    x = np.ones(2, np.complex64)
    with pytest.raises(UnsupportedDataType, match=op_type):
        run(op_type, [x, x])


def test_bad_input(run: Run) -> None:
    """A part of another kind, parts of two dtypes."""
    with pytest.raises(UnsupportedDataType, match="Tout is 3; it takes FLOAT"):
        run("Real", [np.ones(2, np.complex64)], {"Tout": 3})
    with pytest.raises(UnsupportedDataType, match="must be equal"):
        run("Complex", [np.ones(2), np.ones(2, np.float32)])
    with pytest.raises(UnsupportedDataType, match="COMPLEX32"):
        run("Complex", [np.ones(2, np.float16)] * 2, {"Tout": DataType.COMPLEX32})
