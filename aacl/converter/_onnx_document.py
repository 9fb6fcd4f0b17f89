"""An ONNX graph in the form of a GraphDef: Data, Const, the operators, NetOutput. Constants' bytes are never read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from aacl.converter._reports import ModelUnreadable
from aacl.converter._types import data_type_of
from aacl.errors import NotSupported
from aacl.models._wire import WireError, coded, fields

if TYPE_CHECKING:
    from onnx import AttributeProto, GraphProto, NodeProto, TypeProto

__all__ = ("onnx_document",)

_GRAPH, _INITIALIZER = 7, 5  # fields of ModelProto and GraphProto
_TENSOR_FIELDS = (1, 2, 8)  # dims, data_type, name


def onnx_document(model: memoryview) -> dict[str, Any]:
    """Return the graph of a model's bytes as a document; models of any size are read.

    Raises:
        ModelUnreadable: the bytes are no ONNX model.
    """
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped] # comes with onnx, without types

    try:
        return _document(_graph(model))
    except (DecodeError, WireError, UnicodeDecodeError) as error:
        raise ModelUnreadable("E10041", f"the graph inside is no ONNX model: {error}") from error


def _graph(model: memoryview) -> GraphProto:
    import onnx

    graph = onnx.GraphProto()
    for number, value in fields(model):
        if number == _GRAPH and not isinstance(value, int):
            graph.MergeFromString(b"".join(_without_data(value)))
    return graph


def _without_data(graph: memoryview) -> Iterator[bytes]:
    """Yield a graph's fields again, its constants without their values."""
    for number, value in fields(graph):
        if isinstance(value, int):
            continue
        body = b"".join(_tensor_head(value)) if number == _INITIALIZER else bytes(value)
        yield coded(number << 3 | 2) + coded(len(body)) + body


def _tensor_head(tensor: memoryview) -> Iterator[bytes]:
    for number, value in fields(tensor):
        if number in _TENSOR_FIELDS:
            if isinstance(value, int):
                yield coded(number << 3) + coded(value)
            else:
                yield coded(number << 3 | 2) + coded(len(value)) + bytes(value)


def _document(graph: GraphProto) -> dict[str, Any]:
    makers = {
        name: f"{node.name or node.op_type}:{place}" for node in graph.node for place, name in enumerate(node.output)
    }
    constants = {tensor.name for tensor in graph.initializer}
    given = [value for value in graph.input if value.name not in constants]
    data = [
        {"name": value.name, "type": "Data", "attr": [_pair("index", {"i": place})], "output_desc": [_type(value.type)]}
        for place, value in enumerate(given)
    ]
    consts = [
        {"name": tensor.name, "type": "Const", "output_desc": [_described(tensor.data_type, list(tensor.dims))]}
        for tensor in graph.initializer
    ]
    result = {
        "name": "Node_Output", "type": "NetOutput",
        "input": [makers.get(value.name, f"{value.name}:0") for value in graph.output],
        "input_desc": [_type(value.type) for value in graph.output],
    }  # fmt: skip
    nodes = [_operator(node, makers) for node in graph.node]
    return {"name": graph.name, "op": [*data, *consts, *nodes, result]}


def _operator(node: NodeProto, makers: dict[str, str]) -> dict[str, Any]:
    return {
        "name": node.name or node.op_type,
        "type": node.op_type,
        "input": [makers.get(name, f"{name}:0") if name else "" for name in node.input],
        "attr": [_pair(attribute.name, _attribute(attribute)) for attribute in node.attribute],
    }


def _attribute(attribute: AttributeProto) -> dict[str, Any]:
    from onnx import AttributeProto

    kind = AttributeProto.AttributeType.Name(attribute.type)
    values: dict[str, Any] = {
        "INT": lambda: {"i": attribute.i},
        "FLOAT": lambda: {"f": attribute.f},
        "STRING": lambda: {"s": attribute.s.decode(errors="replace")},
        "INTS": lambda: {"list": {"i": list(attribute.ints)}},
        "FLOATS": lambda: {"list": {"f": list(attribute.floats)}},
        "STRINGS": lambda: {"list": {"s": [text.decode(errors="replace") for text in attribute.strings]}},
        "TENSOR": lambda: {"t": {"desc": _described(attribute.t.data_type, list(attribute.t.dims))}},
        "GRAPH": lambda: {"g": _document(attribute.g)},
    }
    made: dict[str, Any] = values.get(kind, dict)()
    return made


def _pair(key: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"key": key, "value": value}


def _type(kind: TypeProto) -> dict[str, Any]:
    tensor = kind.tensor_type
    dims = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in tensor.shape.dim]
    return _described(tensor.elem_type, dims)


def _described(element: int, dims: list[int]) -> dict[str, Any]:
    try:
        name = f"DT_{data_type_of(element, 'a tensor').name}"
    except NotSupported:
        name = f"DT_UNDEFINED({element})"
    return {"dtype": name, "shape": {"dim": dims}}
