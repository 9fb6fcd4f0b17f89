"""What a device-compiled ``.om`` says of itself: the attributes of its MODEL_DEF. Pure.

MODEL_DEF is a protobuf ``ge.proto.ModelDef``: name 1, attr 11 (map string ->
AttrDef); AttrDef: list 1, s 2, i 3; ListValue: s 2. Newer writers compress the
attribute names: a key that starts with a zero byte is an index, in base-127
digits each stored one higher, into the string list ``attr_name_enum``.
"""

from __future__ import annotations

import attrs

from aacl.models._om import OmFile, PartitionType
from aacl.models._wire import WireError, fields

__all__ = ("CompiledModel", "describe_compiled")

_Attribute = str | int | tuple[str, ...] | None


@attrs.frozen
class CompiledModel:
    """The facts of a device-compiled model that MODEL_DEF states; empty where it does not."""

    name: str = ""
    soc_version: str = ""
    command_line: str = ""

    @classmethod
    def read(cls, model_def: bytes | memoryview) -> CompiledModel:
        """Read MODEL_DEF; bytes that are no such message give empty facts."""
        try:
            name, attributes = _read(memoryview(model_def))
        except WireError:
            return cls()
        return cls(name, _text(attributes.get("soc_version")), _text(attributes.get("atc_cmdline")))


def describe_compiled(file: OmFile) -> str:
    """Say that a file is compiled for a device, for which one, and what to do instead."""
    model_def = file.partition(PartitionType.MODEL_DEF)
    facts = CompiledModel() if model_def is None else CompiledModel.read(model_def.data)
    kinds = sorted({_kind(part.type) for model in file.models for part in model})
    target = facts.soc_version or "an unnamed SoC"
    made_by = f" (made by: {facts.command_line})" if facts.command_line else ""
    return (
        f"this .om file was compiled for {target} and holds device code only (partitions {', '.join(kinds)}), which "
        f"the CPU cannot run{made_by}; convert the original ONNX model with this package's atc instead"
    )


def _kind(number: int) -> str:
    return PartitionType(number).name if number in PartitionType.__members__.values() else str(number)


def _read(message: memoryview) -> tuple[str, dict[str, _Attribute]]:
    name, raw = "", {}
    for number, value in fields(message):
        if isinstance(value, int):
            continue
        if number == 1:
            name = bytes(value).decode(errors="replace")
        elif number == 11:
            key, attribute = _entry(value)
            raw[key] = attribute
    names = raw.get(b"attr_name_enum")
    table = names if isinstance(names, tuple) else ()
    return name, {_plain(key, table): attribute for key, attribute in raw.items()}


def _entry(entry: memoryview) -> tuple[bytes, _Attribute]:
    key, attribute = b"", None
    for number, value in fields(entry):
        if isinstance(value, int):
            continue
        if number == 1:
            key = bytes(value)
        elif number == 2:
            attribute = _attribute(value)
    return key, attribute


def _attribute(message: memoryview) -> _Attribute:
    for number, value in fields(message):
        if number == 2 and not isinstance(value, int):
            return bytes(value).decode(errors="replace")
        if number == 3 and isinstance(value, int):
            return value
        if number == 1 and not isinstance(value, int):
            return tuple(bytes(item).decode(errors="replace") for item in _strings(value))
    return None


def _strings(message: memoryview) -> list[memoryview]:
    return [value for number, value in fields(message) if number == 2 and not isinstance(value, int)]


def _plain(key: bytes, names: tuple[str, ...]) -> str:
    """Undo the compression of one attribute name."""
    if not key.startswith(b"\0"):
        return key.decode(errors="replace")
    index = sum((digit - 1) * 127**place for place, digit in enumerate(key[1:]))
    return names[index] if 0 <= index < len(names) else ""


def _text(attribute: _Attribute) -> str:
    return attribute if isinstance(attribute, str) else ""
