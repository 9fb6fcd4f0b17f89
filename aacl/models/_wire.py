"""Protobuf's wire format without generated classes. Pure.

Source: the public protobuf encoding guide. Only what files of unknown origin
need: fields of a message one after another, each length checked.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ("WireError", "coded", "fields", "varints")

Value = int | memoryview

_FIXED = {1: 8, 5: 4}


class WireError(ValueError):
    """The bytes are no protobuf message."""


def fields(message: memoryview) -> Iterator[tuple[int, Value]]:
    """Yield each field's number and value: an int (varint), else a view of its bytes.

    Raises:
        WireError: a length runs past the message's end, or a wire type is unknown.
    """
    position, end = 0, len(message)
    while position < end:
        tag, position = _varint(message, position)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, position = _varint(message, position)
            yield number, value
            continue
        size, position = _length(message, position, wire)
        if position + size > end:
            raise WireError(f"field {number} states {size} bytes at {position}, and the message has {end}")
        yield number, message[position : position + size]
        position += size


def coded(value: int) -> bytes:
    """Return a number as a message writes it."""
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)


def varints(packed: memoryview) -> Iterator[int]:
    """Yield the numbers of a packed repeated field.

    Raises:
        WireError: the last one does not end.
    """
    position = 0
    while position < len(packed):
        value, position = _varint(packed, position)
        yield value


def _length(message: memoryview, position: int, wire: int) -> tuple[int, int]:
    if wire == 2:
        return _varint(message, position)
    if wire not in _FIXED:
        raise WireError(f"wire type {wire} at byte {position} is unknown")
    return _FIXED[wire], position


def _varint(message: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(message) and shift < 70:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise WireError(f"a number at byte {position} does not end")
