"""The two pieces of protobuf's wire format that ONNX graphs are written with."""

from __future__ import annotations

__all__ = ("delimited", "varint")


def varint(value: int) -> bytes:
    """Return a number from 0 on, seven bits a byte, the lowest first."""
    coded = bytearray()
    while value > 0x7F:
        coded.append(value & 0x7F | 0x80)
        value >>= 7
    coded.append(value)
    return bytes(coded)


def delimited(number: int, data: bytes) -> bytes:
    """Return a length-delimited field: text, bytes or a message."""
    return varint(number << 3 | 2) + varint(len(data)) + data
