"""Dtypes and sizes that attributes ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.errors import UnsupportedDataType
from aacl.ops._infer._dims import FREE, Dim, Shape, fixed, product

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.ops._infer._rules import Call

__all__ = ("asked_dtype", "asked_shape", "asked_sizes", "at_most")


def asked_dtype(call: Call, name: str, output: int = 0) -> DataType:
    """Return the dtype that an attribute names for an output.

    Raises:
        UnsupportedDataType: the operator does not give it.
    """
    number = call.attributes[name]
    allowed = call.schema.outputs[output].dtypes
    if number not in allowed:
        names = ", ".join(map(_named, sorted(allowed)))
        raise UnsupportedDataType(f"operator {call.schema.op_type}: {name} is {_named(number)}; it takes {names}")
    return DataType(number)


def at_most(shape: Shape) -> Dim:
    """Return a dim of at most as many as a shape has elements."""
    return FREE if shape is None else Dim(0, product(shape).most)


def asked_sizes(call: Call, sizes: Sequence[int]) -> tuple[Dim, ...]:
    """Return the dims of a shape that a value or an attribute gives.

    Raises:
        InvalidArgument: one is negative.
    """
    if any(size < 0 for size in sizes):
        raise call.error(f"the shape asked for, {tuple(sizes)}, has a negative dim")
    return fixed(*sizes)


def asked_shape(call: Call, index: int) -> Shape:
    """Return the shape that an input holds: free dims where only their number is known.

    Raises:
        InvalidArgument: the input has more than one dim, or a number is negative.
    """
    sizes, count = call.integers(index), call.length(index)
    if sizes is None:
        return None if count is None else (FREE,) * count
    return asked_sizes(call, sizes)


def _named(number: int) -> str:
    """Return a dtype's name and number; the number alone where there is no such dtype."""
    try:
        return f"{DataType(number).name} ({int(number)})"
    except ValueError:
        return str(number)
