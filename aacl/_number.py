"""Addresses and sizes as programs give them: any whole number, NumPy's included."""

from __future__ import annotations

from operator import index

from aacl.errors import InvalidArgument

__all__ = ("size", "whole")


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
