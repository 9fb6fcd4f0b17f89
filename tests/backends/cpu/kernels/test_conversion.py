"""Casts between every pair of dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.abc import Array
from aacl.errors import UnsupportedDataType

Run = Callable[..., list[Array]]
Close = Callable[..., None]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BF16]


_NAMES = ["float32", "float16", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool"]


def _dtype(name: str) -> np.dtype[Any]:
    return BF16 if name == "bfloat16" else np.dtype(name)


@pytest.mark.parametrize("target", _NAMES)
@pytest.mark.parametrize("source", _NAMES)
def test_small_whole_numbers_survive(run: Run, source: str, target: str) -> None:
    """0, 1 and 100 are exact everywhere; bool is ``x != 0``."""
    x = np.array([0, 1, 100]).astype(_dtype(source))
    (found,) = run("Cast", [x], {"dst_type": target})

    assert found.dtype == _dtype(target)
    top = 1 if "bool" in (source, target) else 100
    assert found.astype(np.float64).tolist() == [0, 1, top]


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1))
@settings(max_examples=30, deadline=None)
def test_floats_truncate(run: Run, values: list[float]) -> None:
    """Toward zero, like Python's int."""
    assert run("Cast", [np.array(values, np.float32)], {"dst_type": "int32"})[0].tolist() == [int(v) for v in values]


@pytest.mark.parametrize("target", ["int8", "int16", "int32", "int64", "uint8", "uint64"])
@pytest.mark.parametrize("source", ["float32", "float16", "float64", "bfloat16"])
def test_what_does_not_fit_saturates(run: Run, source: str, target: str) -> None:
    """Infinities and large numbers become the nearest integer, NaN 0; nothing warns."""
    limits, info = np.iinfo(target), ml_dtypes.finfo(_dtype(source))  # type: ignore[no-untyped-call]
    x = np.array([np.inf, -np.inf, np.nan, 5.9, -0.9]).astype(_dtype(source))
    assert run("Cast", [x], {"dst_type": target})[0].tolist() == [limits.max, limits.min, 0, 5, 0]
    huge = np.array([float(info.max), -float(info.max)]).astype(_dtype(source))
    exact = [min(max(int(float(v)), limits.min), limits.max) for v in huge]
    assert run("Cast", [huge], {"dst_type": target})[0].tolist() == exact


@pytest.mark.parametrize("target", ["int8", "int16", "int32", "int64", "uint8", "uint32"])
def test_limits_are_kept(run: Run, target: str) -> None:
    """The dtype's own limits, where a float holds them, pass unchanged; one beyond saturates."""
    limits = np.iinfo(target)
    values = [float(limits.min), float(limits.max), float(limits.max) * 2, float(limits.min) - 1, 0.0]
    exact = [min(max(int(v), limits.min), limits.max) for v in values]

    assert run("Cast", [np.array(values)], {"dst_type": target})[0].tolist() == exact


def test_integers_drop_high_bits(run: Run) -> None:
    """As two's complement does; large int64 values survive among 64-bit types."""
    x = np.array([300, -1, 2**40 + 5], np.int64)

    assert run("Cast", [x], {"dst_type": "uint8"})[0].tolist() == [44, 255, 5]
    assert run("Cast", [x], {"dst_type": "uint64"})[0].tolist() == [300, 2**64 - 1, 2**40 + 5]


def test_complex_numbers(run: Run) -> None:
    """The imaginary part is dropped, but counts for bool."""
    x = np.array([1.9 + 2j, 1j, 0], np.complex64)

    assert run("Cast", [x], {"dst_type": "int32"})[0].tolist() == [1, 0, 0]
    assert run("Cast", [x], {"dst_type": "bool"})[0].tolist() == [True, True, False]
    assert run("Cast", [x], {"dst_type": "complex128"})[0].tolist() == x.astype(complex).tolist()


def test_narrow_floats_overflow_to_infinity(run: Run) -> None:
    """And nothing warns; empty tensors pass."""
    assert run("Cast", [np.array([1e6, -1e6], np.float32)], {"dst_type": "float16"})[0].tolist() == [np.inf, -np.inf]
    assert run("Cast", [np.zeros(0, np.float32)], {"dst_type": "int32"})[0].shape == (0,)
    assert run("Cast", [np.float32(2.5)], {"dst_type": "int32"})[0].tolist() == 2


def test_types_without_a_numpy_equivalent(run: Run) -> None:
    """complex32 is a known type that this device cannot hold."""
    with pytest.raises(UnsupportedDataType, match="COMPLEX32"):
        run("Cast", [np.ones(2, np.complex64)], {"dst_type": 33})


def test_cast_like(run: Run) -> None:
    """The second input gives its dtype and nothing else."""
    (found,) = run("CastLike", [np.array([[1.9, -1.9, np.nan]], np.float32), np.zeros(7, np.int8)])

    assert (found.dtype, found.tolist()) == (np.dtype(np.int8), [[1, -1, 0]])
    assert run("CastLike", [np.array([0, 3], np.int32), np.zeros((), np.bool_)])[0].tolist() == [False, True]
