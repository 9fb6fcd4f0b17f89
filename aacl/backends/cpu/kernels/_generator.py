"""Where random numbers come from: NumPy's counter-based generator Philox, keyed by seeds.

The numbers are this device's own, not those of the hardware, nor TensorFlow's or torch's: equal seeds give
equal numbers, run after run, and seeds of 0 numbers that nobody can foretell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from aacl.abc import Array

__all__ = ("below_one", "generator", "keyed", "normal", "store")

_MASK = (1 << 64) - 1


def generator(seed: int, second: int = 0) -> np.random.Generator:
    """Return the generator of two seeds; both 0 mean an unforeseeable one."""
    return keyed(seed, second) if seed or second else np.random.Generator(np.random.Philox())


def keyed(key: int, second: int = 0, counter: int = 0) -> np.random.Generator:
    """Return the generator of a key, started at a counter; 0 is a key like any other."""
    words = np.array([key & _MASK, second & _MASK], np.uint64)
    place = np.array([counter >> shift & _MASK for shift in (0, 64, 128, 192)], np.uint64)
    return np.random.Generator(np.random.Philox(key=words, counter=place))


def below_one(random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return numbers that are uniform in [0, 1) and stay below 1 in their dtype."""
    if dtype.itemsize > 2:
        found: Array = random.random(shape, dtype.type)
        return found
    bits = 11 if dtype == np.float16 else 8  # the digits of each type: every number is exact
    return np.ldexp(random.integers(0, 1 << bits, shape, np.uint16).astype(np.float32), -bits).astype(dtype)


def normal(random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return normal numbers in float64 for that dtype, else in float32."""
    return np.asarray(random.standard_normal(shape, np.float64 if dtype == np.float64 else np.float32))


def store(found: Any, out: Array) -> None:
    """Write numbers, rounded or converted to the dtype of the output."""
    np.copyto(out, found, casting="unsafe")
