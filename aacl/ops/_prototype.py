"""Read one line of the catalogue: the table's own small language.

A line has five fields divided by tabs: the type's name; inputs and outputs, each
``name:optional:dynamic:dtypes`` joined by ``;``; optional attributes ``name:Kind=default`` and
required ones ``name:Kind``, joined alike.
"""

from __future__ import annotations

import re
from typing import Any

from aacl.dtypes import DataType
from aacl.ops._attribute import Attribute
from aacl.ops._schema import OperatorSchema, Parameter

__all__ = ("parse_prototype",)

_EVERY = frozenset(DataType) - {DataType.UNDEFINED}


def _group(names: str) -> frozenset[DataType]:
    return frozenset(DataType[name] for name in names.split())


_INTEGERS = _group("INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64")
_REALS = _INTEGERS | _group("FLOAT16 FLOAT DOUBLE BF16")
_NUMBERS = _REALS | _group("COMPLEX64 COMPLEX128")

# The headers' groups, without the quantised and handle types that no tensor description can have.
_GROUPS: dict[str, frozenset[DataType]] = {
    "ALL": _EVERY,
    "NumberType": _NUMBERS,
    "RealNumberType": _REALS,
    "BasicType": _NUMBERS | {DataType.COMPLEX32},
    "OrdinaryType": _NUMBERS | {DataType.BOOL},
    "IndexNumberType": _group("INT32 INT64"),
    "IntegerDataType": _INTEGERS,
    "FloatingDataType": _group("FLOAT16 FLOAT DOUBLE"),
    "UnaryDataType": _group("FLOAT16 FLOAT DOUBLE BF16 COMPLEX32 COMPLEX64 COMPLEX128"),
    "Int": _group("INT32"),
}
_CONSTANTS: dict[str, tuple[int, ...]] = {"ge::UNKNOWN_RANK": (-2,), "ge::UNKNOWN_SHAPE": (-1,)}


def parse_prototype(line: str) -> OperatorSchema:
    """Return the schema that a line of the catalogue describes."""
    op_type, inputs, outputs, optional, required = line.split("\t")
    return OperatorSchema(
        op_type,
        tuple(map(_parameter, _parts(inputs))),
        tuple(map(_parameter, _parts(outputs))),
        (*map(_optional, _parts(optional)), *map(_required, _parts(required))),
    )


def _parts(field: str) -> list[str]:
    return field.split(";") if field else []


def _parameter(text: str) -> Parameter:
    name, is_optional, is_dynamic, dtypes = text.split(":")
    return Parameter(name, is_optional == "1", is_dynamic == "1", _dtypes(dtypes))


def _dtypes(text: str) -> frozenset[DataType]:
    found: frozenset[DataType] = frozenset()
    for name in text.split(","):
        if name in _GROUPS:
            found |= _GROUPS[name]
        elif name.startswith("Promote("):  # the inputs' common type: any of them
            found |= _EVERY
        elif name in DataType.__members__:
            found |= {DataType[name]}
    return found


def _optional(text: str) -> Attribute:
    head, _, default = text.partition("=")
    name, kind = head.split(":")
    return Attribute(name, kind, _default(kind, default), False)


def _required(text: str) -> Attribute:
    name, kind = text.split(":")
    return Attribute(name, kind, None, True)


def _default(kind: str, text: str) -> Any:
    if kind.startswith("List"):
        return _CONSTANTS[text] if text in _CONSTANTS else _list(kind[4:], text)
    if kind == "Bool":
        return text in ("true", "1")
    if kind == "String":
        return text[1:-1]
    if kind == "Float":
        return float(text)
    if kind == "Tensor":
        return None
    number = DataType[text[3:]] if text.startswith("DT_") else int(text)
    return DataType(number) if kind == "Type" else int(number)


def _list(kind: str, text: str) -> tuple[Any, ...]:
    inner = text[1:-1]
    if kind.startswith("List"):
        return tuple(_list(kind[4:], part) for part in re.findall(r"\{[^{}]*\}", inner))
    return tuple(_default(kind, part) for part in inner.split(",") if part)
