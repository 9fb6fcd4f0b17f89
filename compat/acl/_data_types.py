"""Data types by AscendCL's numbers."""

from __future__ import annotations

from operator import index

import aacl
from aacl.errors import UnsupportedDataType
from acl._status import plain

__all__ = ("data_type_of", "data_type_size")


def data_type_of(number: int) -> aacl.DataType:
    """Return a data type; raises `UnsupportedDataType` if there is no such one."""
    try:
        return aacl.DataType(number)
    except ValueError:
        raise UnsupportedDataType(f"there is no data type {number}") from None


@plain(0)
def data_type_size(data_type: int, /) -> int:
    """Return how many bytes an element takes.

    Args:
        data_type: an ``aclDataType``.

    Returns:
        The bytes; 0 for strings, an undefined type and numbers that are no data type.

    Source: aclDataTypeSize.
    """
    try:
        return aacl.DataType(index(data_type)).itemsize
    except ValueError:
        return 0
