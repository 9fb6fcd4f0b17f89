"""Small ONNX models as bytes.

Importing onnx takes longer than importing ONNX Runtime, and a thread that prepares an operator would
wait for it; what a graph of a few nodes needs of protobuf is this page. Field numbers are those of the
ONNX protobuf definition:

    ModelProto      ir_version 1, graph 7, opset_import 8 (domain 1, version 2)
    GraphProto      node 1, name 2, initializer 5, input 11, output 12
    NodeProto       input 1, output 2, op_type 4, attribute 5, domain 7
    AttributeProto  name 1, f 2, i 3, s 4, floats 7, ints 8, strings 9, type 20
    TensorProto     dims 1, data_type 2, name 8, raw_data 9
    ValueInfoProto  name 1, type 2 (tensor_type 1 (elem_type 1, shape 2 (dim 1 (dim_value 1))))
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from aacl.backends.cpu._protobuf import delimited, varint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ("Constant", "Node", "Port", "model_bytes")

_IR_VERSION = 8

# AttributeProto's fields and types: for one value, and for a list of them.
_FIELDS = {float: ((2, 1), (7, 6)), int: ((3, 2), (8, 7)), str: ((4, 3), (9, 8))}


class Node(NamedTuple):
    """One ONNX node."""

    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[tuple[str, Any], ...] = ()
    """Names with an int, float or str each, or a tuple of one of them."""
    domain: str = ""


class Port(NamedTuple):
    """An input or output of a model."""

    name: str
    element: int
    """ONNX's number of the dtype."""
    shape: tuple[int, ...]
    """-1 is a dim of any size."""


class Constant(NamedTuple):
    """A tensor that is part of a model."""

    name: str
    element: int
    shape: tuple[int, ...]
    data: bytes


def model_bytes(
    nodes: Iterable[Node],
    inputs: Iterable[Port],
    outputs: Iterable[Port],
    constants: Iterable[Constant],
    opsets: Mapping[str, int],
) -> bytes:
    """Return a model.

    Args:
        nodes: in an order in which they can run.
        inputs: of the model.
        outputs: likewise.
        constants: known to the nodes by their names.
        opsets: versions by domain; ONNX's own is the empty one.
    """
    graph = [
        *(delimited(1, _node(each)) for each in nodes),
        delimited(2, b"operator"),
        *(delimited(5, _constant(each)) for each in constants),
        *(delimited(11, _port(each)) for each in inputs),
        *(delimited(12, _port(each)) for each in outputs),
    ]
    versions = [delimited(8, delimited(1, domain.encode()) + _number(2, version)) for domain, version in opsets.items()]
    return _number(1, _IR_VERSION) + delimited(7, b"".join(graph)) + b"".join(versions)


def _node(each: Node) -> bytes:
    names = [
        delimited(number, name.encode()) for number, part in ((1, each.inputs), (2, each.outputs)) for name in part
    ]
    attributes = [delimited(5, _attribute(name, value)) for name, value in each.attributes]
    return b"".join([*names, delimited(4, each.op_type.encode()), *attributes, delimited(7, each.domain.encode())])


def _attribute(name: str, value: Any) -> bytes:
    is_list = isinstance(value, tuple | list)
    values: Sequence[Any] = value if is_list else (value,)
    kind = next((kind for kind in (float, str) if values and isinstance(values[0], kind)), int)
    number, type_ = _FIELDS[kind][is_list]
    return b"".join([delimited(1, name.encode()), *(_value(number, each) for each in values), _number(20, type_)])


def _value(number: int, value: float | str) -> bytes:
    if isinstance(value, str):
        return delimited(number, value.encode())
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return _number(number, value)


def _constant(each: Constant) -> bytes:
    dims = b"".join(_number(1, dim) for dim in each.shape)
    return dims + _number(2, each.element) + delimited(8, each.name.encode()) + delimited(9, each.data)


def _port(each: Port) -> bytes:
    shape = b"".join(delimited(1, b"" if dim < 0 else _number(1, dim)) for dim in each.shape)
    return delimited(1, each.name.encode()) + delimited(2, delimited(1, _number(1, each.element) + delimited(2, shape)))


def _number(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value & 0xFFFFFFFFFFFFFFFF)
