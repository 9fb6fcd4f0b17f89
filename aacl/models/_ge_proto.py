"""Reading MODEL_DEF in full: the messages of the graph engine's ``ge.proto``, as plain values. Pure.

The tables restate the field numbers of the published ``ge_ir.proto``. What they
do not know is skipped: newer writers add fields. Newer writers also compress
attribute names: a key that starts with a zero byte is an index, in base-127
digits each stored one higher, into the model's string list ``attr_name_enum``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aacl.models._wire import WireError, fields, varints

__all__ = ("decode_model_def", "plain_value")

_DEEPEST = 64  # of messages inside messages: graphs as attributes of graphs

# Field number: (name, kind, whether it repeats). Kinds: text, bytes, int, float, bool, map, or a message's name.
_Field = tuple[str, str, bool]


def _table(text: str) -> dict[int, _Field]:
    """Read ``1 name text, 7 graph* GraphDef``; a star repeats."""
    rows = (row.split() for row in text.split(","))
    return {int(number): (name.rstrip("*"), kind, name.endswith("*")) for number, name, kind in rows}


_MESSAGES: dict[str, dict[int, _Field]] = {
    "ModelDef": _table("1 name text, 2 version int, 3 custom_version text, 7 graph* GraphDef, 11 attr map"),
    "GraphDef": _table("1 name text, 4 input* text, 5 output* text, 6 op* OpDef, 11 attr map"),
    "OpDef": _table(
        "1 name text, 2 type text, 5 input* text, 10 attr map, 20 has_out_attr bool, 21 id int, 22 stream_id int,"
        "23 input_name* text, 24 src_name* text, 25 src_index* int, 26 dst_name* text, 27 dst_index* int,"
        "28 input_i* int, 29 output_i* int, 30 workspace* int, 31 workspace_bytes* int, 32 is_input_const* bool,"
        "33 input_desc* TensorDescriptor, 34 output_desc* TensorDescriptor, 35 subgraph_name* text"
    ),
    "TensorDescriptor": _table(
        "1 name text, 2 dtype dtype, 3 shape ShapeDef, 4 layout text, 5 attr map, 9 has_out_attr bool, 10 size int,"
        "11 weight_size int, 12 reuse_input bool, 13 output_tensor bool, 14 device_type text, 15 input_tensor bool,"
        "16 real_dim_cnt int, 17 reuse_input_index int, 18 data_offset int, 19 cmps_size int, 20 cmps_tab bytes,"
        "21 cmps_tab_offset int"
    ),
    "ShapeDef": _table("1 dim* int"),
    "TensorDef": _table("1 desc TensorDescriptor, 2 data bytes"),
    "NamedAttrs": _table("1 name text, 2 attr map"),
    "AttrDef": _table(
        "1 list ListValue, 2 s text, 3 i int, 4 f float, 5 b bool, 7 bt bytes, 10 func NamedAttrs,"
        "11 td TensorDescriptor, 12 t TensorDef, 13 g GraphDef, 14 list_list_int ListListInt, 15 dt int,"
        "16 list_list_float ListListFloat"
    ),
    "ListValue": _table(
        "2 s* text, 3 i* int, 4 f* float, 5 b* bool, 7 bt* bytes, 8 td* TensorDescriptor, 9 t* TensorDef,"
        "10 g* GraphDef, 11 na* NamedAttrs, 12 dt* int, 20 val_type int"
    ),
    "ListListInt": _table("1 list_list_i* ListInt"),
    "ListInt": _table("1 list_i* int"),
    "ListListFloat": _table("1 list_list_f* ListFloat"),
    "ListFloat": _table("1 list_f* float"),
}

_DTYPES = [
    "UNDEFINED",
    "FLOAT",
    "FLOAT16",
    "INT8",
    "UINT8",
    "INT16",
    "UINT16",
    "INT32",
    "INT64",
    "UINT32",
    "UINT64",
    "BOOL",
    "DOUBLE",
    "STRING",
    "DUAL_SUB_INT8",
    "DUAL_SUB_UINT8",
    "COMPLEX64",
    "COMPLEX128",
    "QINT8",
    "QINT16",
    "QINT32",
    "QUINT8",
    "QUINT16",
    "RESOURCE",
    "STRING_REF",
    "DUAL",
    "VARIANT",
    "BF16",
    "INT4",
    "UINT1",
    "INT2",
    "UINT2",
    "COMPLEX32",
]
"""The names of the proto's own DataType numbers, which are not the runtime's."""


def decode_model_def(model_def: bytes | memoryview) -> dict[str, Any]:
    """Return a ModelDef as plain values: dicts, lists, text, numbers, bytes; attributes by their real names.

    Raises:
        WireError: the bytes are no such message, or nest too deep.
    """
    document = _decode(memoryview(model_def), "ModelDef", 0)
    names = plain_value(document.get("attr", {}).get("attr_name_enum"))
    _rename(document, names if isinstance(names, list) else [])
    return document


def plain_value(attribute: Mapping[str, Any] | None) -> Any:
    """Return an attribute's value itself: a number, text, or a list of them; None where there is none."""
    if not attribute:
        return None
    kind, value = next(iter(attribute.items()))
    if kind == "list":
        return next((items for name, items in value.items() if name != "val_type"), [])
    return value


def _decode(message: memoryview, kind: str, depth: int) -> dict[str, Any]:
    if depth > _DEEPEST:
        raise WireError(f"messages nest deeper than {_DEEPEST}")
    table, found = _MESSAGES[kind], dict[str, Any]()
    for number, value in fields(message):
        if number not in table:
            continue
        name, field_kind, is_repeated = table[number]
        if field_kind == "map":
            key, attribute = _entry(value, depth)
            found.setdefault(name, {})[key] = attribute
        elif is_repeated:
            found.setdefault(name, []).extend(_values(value, field_kind, depth))
        else:
            found[name] = next(iter(_values(value, field_kind, depth)), None)
    return found


def _values(value: int | memoryview, kind: str, depth: int) -> Iterator[Any]:
    """Yield the values of one field: packed numbers are several."""
    if isinstance(value, int):
        if kind not in ("int", "bool", "dtype"):
            raise WireError(f"a number stands where a {kind} should")
        yield _number(value, kind)
    elif kind in ("int", "bool", "dtype"):
        yield from (_number(item, kind) for item in varints(value))
    elif kind == "float":
        if len(value) % 4:
            raise WireError(f"{len(value)} bytes of floats")
        yield from (item for (item,) in struct.iter_unpack("<f", value))
    elif kind == "text":
        yield bytes(value).decode(errors="surrogateescape")
    else:
        yield bytes(value) if kind == "bytes" else _decode(value, kind, depth + 1)


def _number(value: int, kind: str) -> int | bool | str:
    if kind == "bool":
        return bool(value)
    signed = value - 2**64 if value >= 2**63 else value
    if kind == "dtype":
        return f"DT_{_DTYPES[signed]}" if 0 <= signed < len(_DTYPES) else str(signed)
    return signed


def _entry(entry: int | memoryview, depth: int) -> tuple[str, dict[str, Any]]:
    key, attribute = "", dict[str, Any]()
    if isinstance(entry, int):
        raise WireError("a number stands where an attribute should")
    for number, value in fields(entry):
        if isinstance(value, int):
            continue
        if number == 1:
            key = bytes(value).decode(errors="surrogateescape")
        elif number == 2:
            attribute = _decode(value, "AttrDef", depth + 1)
    return key, attribute


def _rename(value: Any, names: Sequence[str]) -> None:
    """Undo the compression of attribute names, everywhere inside."""
    if isinstance(value, list):
        for item in value:
            _rename(item, names)
    elif isinstance(value, dict):
        for key in [key for key in value if key.startswith("\0")]:
            attribute = value.pop(key)
            value[_name(key, names)] = attribute
        for item in value.values():
            _rename(item, names)


def _name(key: str, names: Sequence[str]) -> str:
    digits = key.encode(errors="surrogateescape")[1:]
    index = sum((digit - 1) * 127**place for place, digit in enumerate(digits[:8]))
    return names[index] if 0 <= index < len(names) else f"attribute_{index}"
