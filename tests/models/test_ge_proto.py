"""Reading MODEL_DEF in full, against messages made by protobuf itself from the published field numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf import (  # type: ignore[import-untyped] # comes with onnx, without types
    descriptor_pb2,
    descriptor_pool,
    message_factory,
)
from hypothesis import given
from hypothesis import strategies as st

from aacl.models._ge_proto import decode_model_def, plain_value
from aacl.models._wire import WireError, coded

Message = Callable[..., Any]
_TYPES = {"text": 9, "int": 3, "float": 2, "bool": 8, "bytes": 12}


@pytest.fixture(scope="module")
def message() -> Message:
    """Return a function that makes a message of ge.proto, as far as the tests need it."""
    file = descriptor_pb2.FileDescriptorProto(name="ge_test.proto", package="ge", syntax="proto3")
    _add(file, "ListValue", "2 s* bytes, 3 i* int, 4 f* float, 5 b* bool")
    _add(file, "TensorDescriptor", "1 name text, 2 dtype int, 3 shape ShapeDef, 4 layout text")
    _add(file, "ShapeDef", "1 dim* int")
    _add(file, "AttrDef", "1 list ListValue, 2 s bytes, 3 i int, 4 f float, 5 b bool, 13 g GraphDef, 99 new text")
    _add(file, "Entry", "1 key text, 2 value AttrDef")  # a map's entry, written out
    _add(
        file,
        "OpDef",
        "1 name text, 2 type text, 5 input* text, 10 attr* Entry, 25 src_index* int, 33 input_desc* TensorDescriptor, 99 new text",
    )
    _add(file, "GraphDef", "1 name text, 6 op* OpDef, 11 attr* Entry")
    _add(file, "ModelDef", "1 name text, 2 version int, 7 graph* GraphDef, 11 attr* Entry")  # fmt: skip
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)

    def make(kind: str, **fields: Any) -> Any:
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"ge.{kind}"))(**fields)

    return make


def _add(file: descriptor_pb2.FileDescriptorProto, name: str, text: str) -> None:
    kind = file.message_type.add(name=name)
    for row in text.split(","):
        number, field, field_kind = row.split()
        is_repeated = field.endswith("*")
        made = kind.field.add(name=field.rstrip("*"), number=int(number), label=3 if is_repeated else 1)
        made.type = _TYPES.get(field_kind, 11)
        if field_kind not in _TYPES:
            made.type_name = f".ge.{field_kind}"


def test_everything_comes_through(message: Message) -> None:
    """Text, signed numbers, floats, lists packed or not, descriptors, maps and graphs inside attributes are read."""
    inner = message("GraphDef", name="inner", op=[message("OpDef", name="deep")])
    attributes = {
        "soc_version": message("AttrDef", s=b"Ascend310P3"),
        "negative": message("AttrDef", i=-5),
        "ratio": message("AttrDef", f=0.5),
        "flag": message("AttrDef", b=True),
        "sizes": message("AttrDef", list=message("ListValue", i=[1, -2, 300])),
        "words": message("AttrDef", list=message("ListValue", s=[b"a", b"b"])),
        "floats": message("AttrDef", list=message("ListValue", f=[1.5, -2])),
        "graph": message("AttrDef", g=inner),
    }
    desc = message("TensorDescriptor", name="d", dtype=1, shape=message("ShapeDef", dim=[1, -1]), layout="NCHW")
    op = message(
        "OpDef", name="conv", type="Conv2D", input=["x:0", ""], src_index=[0, -1], input_desc=[desc], new="skipped"
    )
    entries = [message("Entry", key=key, value=value) for key, value in attributes.items()]
    model = message("ModelDef", name="net", version=3, graph=[message("GraphDef", name="g", op=[op])], attr=entries)

    found = decode_model_def(model.SerializeToString())

    assert (found["name"], found["version"], found["graph"][0]["name"]) == ("net", 3, "g")
    assert {name: plain_value(value) for name, value in found["attr"].items()} == {
        "soc_version": "Ascend310P3", "negative": -5, "ratio": 0.5, "flag": True, "sizes": [1, -2, 300],
        "words": ["a", "b"], "floats": [1.5, -2.0], "graph": {"name": "inner", "op": [{"name": "deep"}]},
    }  # fmt: skip
    assert found["graph"][0]["op"] == [
        {"name": "conv", "type": "Conv2D", "input": ["x:0", ""], "src_index": [0, -1],
         "input_desc": [{"name": "d", "dtype": "DT_FLOAT", "shape": {"dim": [1, -1]}, "layout": "NCHW"}]}
    ]  # fmt: skip


def test_compressed_names_are_written_out(message: Message) -> None:
    """A key that is an index into the model's list of names gets its name, in operators too."""
    names = [f"name{number}".encode() for number in range(200)]
    table = message("AttrDef", list=message("ListValue", s=names))
    key = "\0" + chr(1 + 150 % 127) + chr(1 + 150 // 127)
    op = message("OpDef", attr=[message("Entry", key=key, value=message("AttrDef", i=7))])
    model = message(
        "ModelDef", graph=[message("GraphDef", op=[op])],
        attr=[message("Entry", key="attr_name_enum", value=table), message("Entry", key="\0\x01", value=message("AttrDef", i=1))],
    )  # fmt: skip

    found = decode_model_def(model.SerializeToString())

    assert found["graph"][0]["op"][0]["attr"] == {"name150": {"i": 7}}
    assert found["attr"]["name0"] == {"i": 1}


def test_endless_nesting_is_refused() -> None:
    """Graphs inside attributes inside graphs, deeper than any model, are refused and not followed."""
    graph = b""
    for _ in range(80):
        attribute = _field(13, graph)
        graph = _field(11, _field(1, b"g") + _field(2, attribute))

    with pytest.raises(WireError, match="nest deeper"):
        decode_model_def(_field(7, graph))


def _field(number: int, data: bytes) -> bytes:
    return coded(number << 3 | 2) + coded(len(data)) + data


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Whatever the bytes are, the outcome is a document or a WireError."""
    with contextlib.suppress(WireError):
        assert isinstance(decode_model_def(data), dict)
