"""An ONNX model's bytes taken apart: a small skeleton, and the large constants where they lie.

ONNX Runtime parses a whole model into protobuf objects and copies each constant
out of them: a network of 400 MB then takes 1.2 GB and four times as long to
load. Here the bytes of large constants are never parsed: the skeleton names
them as external, and they are handed over as arrays on the original bytes. It
also lifts protobuf's 2 GiB limit.

Field numbers, from the ONNX protobuf definition: ModelProto.graph 7;
GraphProto.initializer 5; TensorProto: dims 1, data_type 2, name 8, raw_data 9,
external_data 13 (key 1, value 2), data_location 14 (1 is external).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from aacl.backends.cpu._protobuf import delimited, varint
from aacl.errors import ModelDataError

if TYPE_CHECKING:
    from aacl.abc import Array

__all__ = ("Graph",)

_THRESHOLD = 1024  # constants that decide shapes (axes, target shapes) are smaller and must stay inside
_ALIGNMENT = 16

# Bytes an element, by ONNX element number; packed types stay inside the skeleton.
_ITEMSIZE = {1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 16: 2, 17: 1, 19: 1}

_FIXED = {1: 8, 5: 4}


class Graph(NamedTuple):
    """A model in two parts."""

    skeleton: bytes
    """The model, large constants declared external."""
    constants: dict[str, tuple[Array, int]]
    """Each large constant's bytes, as unsigned integers of its item size and its shape, and its ONNX element number."""

    @classmethod
    def split(cls, model: memoryview) -> Graph:
        """Take a model apart.

        Raises:
            ModelDataError: the bytes are not protobuf.
        """
        constants: dict[str, tuple[Array, int]] = {}
        parts: list[bytes | memoryview] = []
        for field in _fields(model):
            if field.number == 7 and field.wire == 2:
                parts += _message(7, _graph_parts(model[field.start : field.end], constants))
            else:
                parts.append(model[field.tag : field.end])
        return cls(b"".join(parts), constants)


class _Field(NamedTuple):
    number: int
    wire: int
    tag: int
    """Where the field begins."""
    start: int
    """Where its value begins."""
    end: int
    value: int
    """A varint's value, else 0."""


def _graph_parts(graph: memoryview, constants: dict[str, tuple[Array, int]]) -> list[bytes | memoryview]:
    parts: list[bytes | memoryview] = []
    for field in _fields(graph):
        whole = graph[field.tag : field.end]
        stub = None
        if field.number == 5 and field.wire == 2 and len(whole) > _THRESHOLD:
            stub = _take_out(graph[field.start : field.end], constants)
        parts += [whole] if stub is None else _message(5, [stub])
    return parts


def _take_out(tensor: memoryview, constants: dict[str, tuple[Array, int]]) -> bytes | None:
    """Record a large constant and return what stands for it; None when it must stay as it is."""
    dims: list[int] = []
    name, element, raw, kept = "", 0, None, bytearray()
    for field in _fields(tensor):
        if field.number == 9:
            raw = tensor[field.start : field.end]
            continue
        if field.number == 1:
            dims += [field.value] if field.wire == 0 else list(_packed(tensor[field.start : field.end]))
        elif field.number == 2:
            element = field.value
        elif field.number == 8:
            name = bytes(tensor[field.start : field.end]).decode(errors="replace")
        elif field.number == 14:
            return None
        kept += tensor[field.tag : field.end]
    itemsize = _ITEMSIZE.get(element, 0)
    if raw is None or not itemsize or len(raw) < _THRESHOLD or math.prod(dims) * itemsize != len(raw):
        return None
    constants[name] = (_array(raw, itemsize, dims), element)
    return bytes(kept) + _external(len(raw))


def _array(raw: memoryview, itemsize: int, dims: list[int]) -> Array:
    array: Array = np.frombuffer(raw, f"u{itemsize}").reshape(dims)
    return array if array.ctypes.data % min(_ALIGNMENT, itemsize * 4) == 0 else array.copy()


def _external(size: int) -> bytes:
    """The fields that declare a constant external."""
    entries = (("location", "constants"), ("offset", "0"), ("length", str(size)))
    coded = b"".join(delimited(13, delimited(1, key.encode()) + delimited(2, value.encode())) for key, value in entries)
    return coded + b"\x70\x01"  # data_location = EXTERNAL


def _message(number: int, parts: list[Any]) -> list[Any]:
    """Return a length-delimited field in pieces."""
    return [varint(number << 3 | 2) + varint(sum(map(len, parts))), *parts]


def _fields(message: memoryview) -> Iterator[_Field]:
    position, end = 0, len(message)
    while position < end:
        tag = position
        key, position = _varint(message, position)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, stop = _varint(message, position)
            yield _Field(number, wire, tag, position, stop, value)
            position = stop
            continue
        size, position = _varint(message, position) if wire == 2 else (_FIXED.get(wire, end + 1), position)
        if position + size > end:
            raise ModelDataError(f"the model's graph is no ONNX model: field {number} at byte {tag} runs past its end")
        yield _Field(number, wire, tag, position, position + size, 0)
        position += size


def _packed(values: memoryview) -> Iterator[int]:
    position = 0
    while position < len(values):
        value, position = _varint(values, position)
        yield value


def _varint(message: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(message) and shift < 70:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise ModelDataError(f"the model's graph is no ONNX model: a number at byte {position} does not end")
