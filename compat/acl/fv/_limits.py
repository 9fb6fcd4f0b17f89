"""What features, tables and searches may measure. Pure.

The sizes are those of the public reference and header of feature retrieval: a short feature has 36 bytes, a table
32 KiB, a query table holds at most 6 tables.
"""

from __future__ import annotations

from operator import index

from aacl.errors import InvalidArgument

__all__ = (
    "CODE_NBYTES",
    "FEATURE_NBYTES",
    "MOST_QUERIES",
    "NUMBER_NBYTES",
    "TABLE_NBYTES",
    "TOP_DEFAULTS",
    "UINT32_MOST",
    "UINT64_MOST",
    "address_of",
    "room_for",
    "within",
)

FEATURE_NBYTES = 36
CODE_NBYTES = 32
"""Bytes of a feature that a table has a row of distances for: 32 rows of 256 float32 make 32 KiB."""
TABLE_NBYTES = 32 * 1024
MOST_QUERIES = 6
NUMBER_NBYTES = 4  # of an id, an offset, a distance and a count in results
TOP_DEFAULTS = (4800, 500)
"""The most results of a query, 1:N and N:M, where the program says nothing."""
UINT32_MOST, UINT64_MOST = (1 << 32) - 1, (1 << 64) - 1


def within(what: str, value: int, least: int, most: int) -> int:
    """Return a number.

    Raises:
        InvalidArgument: it is not from ``least`` to ``most``.
        TypeError: it is no whole number.
    """
    number = index(value)
    if not least <= number <= most:
        span = f"{least}" if least == most else f"from {least} to {most}"
        raise InvalidArgument(f"{what} is {number}; it must be {span}")
    return number


def address_of(what: str, value: int) -> int:
    """Return an address; raises `InvalidArgument` for null and for what no address is."""
    if not index(value):
        raise InvalidArgument(f"the address of {what} is null")
    return within(f"the address of {what}", value, 1, UINT64_MOST)


def room_for(what: str, nbytes: int, least: int) -> int:
    """Return the length of an area in bytes; raises `InvalidArgument` if it has fewer than ``least``."""
    number = index(nbytes)
    if not least <= number <= UINT32_MOST:
        raise InvalidArgument(f"{what} has {number} bytes; {least} are needed, and {UINT32_MOST} are the most")
    return number
