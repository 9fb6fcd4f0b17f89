"""Addresses, sizes and times as programs give them: any number of the right kind, NumPy's included."""

from __future__ import annotations

from math import isfinite
from operator import index

from aacl.errors import InvalidArgument

__all__ = ("seconds", "size", "whole")


def whole(value: object, what: str) -> int:
    """Return a whole number given as any integer type.

    Raises:
        InvalidArgument: it is something else.
    """
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidArgument(f"{what} is a whole number, not {value!r}") from None


def size(value: object) -> int:
    """Return a number of bytes.

    Raises:
        InvalidArgument: it is negative, or no whole number.
    """
    nbytes = whole(value, "a number of bytes")
    if nbytes < 0:
        raise InvalidArgument(f"a number of bytes is not negative; {nbytes} was given")
    return nbytes


def seconds(value: object, what: str) -> float:
    """Return a time above 0.

    Raises:
        InvalidArgument: it is 0, negative or endless, or no number.
    """
    try:
        time = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(f"{what} is a number of seconds, not {value!r}") from None
    if not (isfinite(time) and time > 0):
        raise InvalidArgument(f"{what} is a number of seconds above 0; {value!r} was given")
    return time
