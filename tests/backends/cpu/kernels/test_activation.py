"""Activations, against the math module."""

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
from aacl.errors import InvalidArgument, UnsupportedDataType

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def _phi(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "Relu": lambda x: max(x, 0.0),
    "Relu6": lambda x: min(max(x, 0.0), 6.0),
    "LeakyRelu": lambda x: x if x > 0 else 0.0,
    "Sigmoid": _sigmoid,
    "Tanh": math.tanh,
    "Softplus": lambda x: max(x, 0) + math.log1p(math.exp(-abs(x))),
    "Softsign": lambda x: x / (1 + abs(x)),
    "LogSigmoid": lambda x: -max(-x, 0) - math.log1p(math.exp(-abs(x))),
    "Mish": lambda x: x * math.tanh(max(x, 0) + math.log1p(math.exp(-abs(x)))),
    "Swish": lambda x: x * _sigmoid(x),
    "FastGelu": lambda x: x * math.exp(0.851 * (x - abs(x))) / (1 + math.exp(-1.702 * abs(x))),
    "HardSwish": lambda x: x * min(max(x + 3, 0), 6) / 6,
    "HardSigmoid": lambda x: min(max(x * 0.16666666 + 0.5, 0), 1),
    "Elu": lambda x: x if x > 0 else math.expm1(x),
    "Gelu": lambda x: x * _phi(x),
    "GeluV2": lambda x: x * _phi(x),
    "Erf": math.erf,
}
_NARROW = {"Gelu", "GeluV2", "FastGelu", "Swish", "HardSwish", "Mish", "HardSigmoid", "LogSigmoid"}  # no float64


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op_type", _FUNCTIONS)
def test_values(run: Run, close: Close, op_type: str, dtype: np.dtype[Any]) -> None:
    """Every float dtype, over the range where the function bends and beyond, apart and in place."""
    if op_type in _NARROW and dtype == np.float64:
        with pytest.raises(UnsupportedDataType):
            run(op_type, [np.ones(2)])
        return
    x = np.concatenate([np.linspace(-8, 8, 201), [-60, 60, 1e-3, -1e-3]]).astype(dtype)
    (found,) = run(op_type, [x])
    (same,) = run(op_type, [x], into=0)

    assert found.dtype == dtype
    # Where Gelu's two factors almost cancel, the error is that of float32's erf near 1.
    floor = 2.0 if op_type.startswith("Gelu") else 0.2
    close(found, [_FUNCTIONS[op_type](float(value)) for value in x], units=6, floor=floor)
    assert found.tobytes() == same.tobytes()


@pytest.mark.parametrize("op_type", sorted(set(_FUNCTIONS) - _NARROW))
def test_infinities_and_nan(run: Run, op_type: str) -> None:
    """NaN stays NaN, infinities give the limit, and nothing warns."""
    x = np.array([np.nan, np.inf, -np.inf], np.float32)
    (found,) = run(op_type, [x])
    limits = {"Relu": (np.inf, 0), "Sigmoid": (1, 0), "Tanh": (1, -1), "Erf": (1, -1), "Softplus": (np.inf, 0)}

    assert np.isnan(found[0])
    if op_type in limits:
        assert tuple(found[1:]) == limits[op_type]


@given(st.floats(-6, 6, width=32))
@settings(max_examples=60, deadline=None)
def test_error_function(run: Run, value: float) -> None:
    """Within 4 units in the last place of float32, odd, and never beyond 1."""
    found = float(run("Erf", [np.float32(value)])[0])
    exact = math.erf(value)

    assert abs(found - exact) <= 4 * 2**-23 * abs(exact) + 1e-45
    assert abs(found) <= 1
    assert float(run("Erf", [np.float32(-value)])[0]) == -found


def test_attributes(run: Run, close: Close) -> None:
    """Slopes, scales and forms that are not the defaults."""
    x = np.array([-2.0, -0.5, 0.0, 3.0], np.float32)

    close(run("LeakyRelu", [x], {"negative_slope": 2.0})[0], [-4, -1, 0, 3])
    close(run("Swish", [x], {"scale": 2.0})[0], [v * _sigmoid(2 * v) for v in x.tolist()], units=4)
    elu = {"alpha": 2.0, "scale": 3.0, "input_scale": 0.5}
    close(run("Elu", [x], elu)[0], [3 * v if v > 0 else 6 * math.expm1(v / 2) for v in x.tolist()], units=4)
    tanh = [0.5 * v * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))) for v in x.tolist()]
    close(run("GeluV2", [x], {"approximate": "tanh"})[0], tanh, units=8, floor=0.1)
    with pytest.raises(InvalidArgument, match="approximate is 'erf'; it is 'none' or 'tanh'"):
        run("GeluV2", [x], {"approximate": "erf"})


def test_integers(run: Run) -> None:
    """Relu and Relu6 keep integer dtypes."""
    x = np.array([-3, 0, 9], np.int8)

    assert run("Relu", [x])[0].tolist() == [0, 0, 9]
    (found,) = run("Relu6", [x.astype(np.int64)])
    assert (found.dtype, found.tolist()) == (np.dtype(np.int64), [0, 0, 6])


def _celu(x: float, height: float, width: float, slope: float = 1.0) -> float:
    return slope * x if x >= 0 else height * math.expm1(x / width)


def _fast_gelu_v2(x: float) -> float:
    sign = -1 if x < 0 else 1
    return x * (sign * (-0.1444 / 2 * (min(abs(x), 1.769) - 1.769) ** 2 + 0.5) + 0.5)


_FURTHER: list[tuple[str, dict[str, float], Callable[[float], float]]] = [
    ("Celu", {"alpha1": 1.5, "alpha2": 0.5, "alpha3": 2.0}, lambda x: _celu(x, 1.5, 0.5, 2.0)),
    ("CeluV2", {"alpha": 2.0}, lambda x: _celu(x, 2.0, 2.0)),
    ("Selu", {}, lambda x: 1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * math.expm1(x))),
    ("BNLL", {}, lambda x: max(x, 0) + math.log1p(math.exp(-abs(x)))),
    ("SoftplusV2", {"beta": 2.0, "threshold": 4.0}, lambda x: x if 2 * x > 4 else math.log1p(math.exp(2 * x)) / 2),
    ("Hardswish", {}, lambda x: x * min(max(x + 3, 0), 6) / 6),
    ("FastGeluV2", {}, _fast_gelu_v2),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float16], ids=str)
@pytest.mark.parametrize(("op_type", "attributes", "function"), _FURTHER, ids=[case[0] for case in _FURTHER])
def test_further_values(
    run: Run, close: Close, op_type: str, attributes: Any, function: Callable[[float], float], dtype: Any
) -> None:
    """Attributes that are not the defaults, over both sides of every bend, apart and in place."""
    x = np.linspace(-8, 8, 161).astype(dtype)
    (found,) = run(op_type, [x], attributes)

    close(found, [function(float(value)) for value in x], units=6, floor=0.2)
    assert run(op_type, [x], attributes, into=0)[0].tobytes() == found.tobytes()


def test_selu_of_integers(run: Run) -> None:
    """Computed in float32 and truncated toward zero."""
    assert run("Selu", [np.array([-3, 0, 2, 100], np.int32)])[0].tolist() == [-1, 0, 2, 105]


def test_widths_of_zero_are_refused(run: Run) -> None:
    """What the input, or the result, would be divided by."""
    x = np.ones(1, np.float32)
    for op_type, name in (("Celu", "alpha2"), ("CeluV2", "alpha"), ("SoftplusV2", "beta")):
        with pytest.raises(InvalidArgument, match=f"{op_type}: {name} is 0"):
            run(op_type, [x], {name: 0.0})


@pytest.mark.parametrize("op_type", ["Elu", "Softplus", "LogSigmoid"])
def test_digits_are_kept(run: Run, op_type: str) -> None:
    """Within 4 units in the last place near 0, in the tail, and where e^x is lost beside 1."""
    sizes = np.logspace(-30, 1.9, 4001).astype(np.float32)
    x = np.concatenate([-sizes, sizes])
    (found,) = run(op_type, [x])
    wide = x.astype(np.float64)
    exact = {
        "Elu": np.where(wide > 0, wide, np.expm1(wide)),
        "Softplus": np.maximum(wide, 0) + np.log1p(np.exp(-np.abs(wide))),
        "LogSigmoid": -(np.maximum(-wide, 0) + np.log1p(np.exp(-np.abs(wide)))),
    }[op_type]

    assert np.abs(found / exact - 1).max() < 4 * np.finfo(np.float32).eps


def test_elu_whose_factors_are_no_numbers(run: Run) -> None:
    """Each side of 0 has its own: an infinite one does not reach the other side."""
    x = np.array([-1, 2], np.float32)
    (found,) = run("Elu", [x], {"alpha": float("inf")})

    assert found.tolist() == [-np.inf, 2]
    (found,) = run("Elu", [x], {"input_scale": -1.0})
    np.testing.assert_allclose(found, [math.expm1(1), 2], rtol=1e-6)
