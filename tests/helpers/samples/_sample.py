"""What a sample is made of."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from aacl.abc import Array
from aacl.dtypes import Format

__all__ = ("Operand", "Sample", "data", "fixed", "host")


@attrs.frozen(eq=False)
class Operand:
    """An input of a sample.

    Attributes:
        array: its contents.
        follows: whether it takes the dtype under test; otherwise it keeps its own.
        is_known: whether the contents are known before the run, as a host value's are.
        format: the layout that its description states.
    """

    array: Array
    follows: bool = True
    is_known: bool = False
    format: Format = Format.ND


def data(*shape: int, low: float = -2, high: float = 2, format: Format = Format.ND) -> Operand:  # noqa: A002
    """Return an input of random numbers, the same ones each time, that takes every dtype under test.

    Integer dtypes get the numbers rounded; unsigned ones and bool their absolute values.
    """
    seed = zlib.crc32(repr((shape, low, high)).encode())
    return Operand(np.random.default_rng(seed).uniform(low, high, shape), format=format)


def fixed(values: Any, dtype: Any, *, format: Format = Format.ND) -> Operand:  # noqa: A002
    """Return an input in device memory that keeps its dtype: indices, masks."""
    return Operand(np.array(values, dtype), follows=False, format=format)


def host(values: Any, dtype: Any = np.int64) -> Operand:
    """Return an input whose contents are known before the run: axes, shapes, sizes."""
    return Operand(np.array(values, dtype), follows=False, is_known=True)


@attrs.frozen(eq=False)
class Sample:
    """A small call of an operator.

    Attributes:
        inputs: in the schema's order, dynamic inputs spread out; None where an optional one is absent.
        attributes: those that are not left to their defaults.
        loose: how much more than usual half precision may differ from float32; 1 for no more.
        is_random: whether two runs differ.
    """

    inputs: Sequence[Operand | None] = ()
    attributes: Mapping[str, Any] = attrs.field(factory=dict)
    loose: float = 1
    is_random: bool = False

    def arrays(self, dtype: np.dtype[Any]) -> list[Array | None]:
        """Return the inputs' contents, those that follow the dtype under test in that one."""
        return [
            None if each is None else _as(each.array, dtype) if each.follows else each.array for each in self.inputs
        ]

    def rounded(self, dtype: np.dtype[Any]) -> Sample:
        """Return the sample with numbers that a dtype holds exactly."""
        inputs = [
            attrs.evolve(each, array=each.array.astype(dtype).astype(np.float64))
            if each is not None and each.follows
            else each
            for each in self.inputs
        ]
        return attrs.evolve(self, inputs=inputs)

    def known(self) -> list[int]:
        """Return the positions of the inputs whose contents are known before the run."""
        return [index for index, each in enumerate(self.inputs) if each is not None and each.is_known]


def _as(numbers: Array, dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "c":
        return (numbers + 0.5j * numbers[..., ::-1] if numbers.ndim else numbers + 0.5j).astype(dtype)
    if dtype.kind in "iub":
        numbers = np.rint(numbers)
        return (abs(numbers) if dtype.kind in "ub" else numbers).astype(dtype)
    return numbers.astype(dtype)
