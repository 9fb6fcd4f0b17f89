"""The JSON file that ``acl.init`` takes. It changes nothing: what it says is for others to do."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import aacl
from aacl.errors import InvalidDevice, InvalidFile, InvalidJson
from acl._dump_config import DumpConfig, dump_config
from acl._profiler_config import profiler_folder
from acl._status import MAX_OPQUEUE_NUM, Refused

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ("Config", "read_config", "read_document")

_DEEPEST = 10
_QUEUE_LENGTH = 20000
_DIGITS = re.compile(r"-?[0-9]{1,18}")
_KEYS = ("dump", "profiler", "max_opqueue_num", "err_msg_mode", "defaultDevice", "StackSize")


class Config(NamedTuple):
    """What the file says; ``StackSize``, which only a real device could honour, is in the document and changes nothing.

    Attributes:
        document: the whole file.
        unknown: the keys that mean nothing, sorted.
        default_device: the device that threads use which set none, or None.
        shares_texts: whether error texts are the process's (``err_msg_mode`` "1") and not each thread's.
        operator_models: how many operator models are kept (``max_opqueue_num``).
        dump: whose tensors are written (``dump``), None for nobody's.
        profiles: the folder for profiles from the beginning to the end (``profiler``), or None.
    """

    document: Mapping[str, Any] = MappingProxyType({})
    unknown: tuple[str, ...] = ()
    default_device: int | None = None
    shares_texts: bool = False
    operator_models: int = _QUEUE_LENGTH
    dump: DumpConfig | None = None
    profiles: Path | None = None


def read_config(path: str) -> Config:
    """Read a file; an empty path means the defaults. Source: the page of ``acl.init``.

    Raises:
        InvalidFile: the file is missing or cannot be read.
        InvalidJson: it is no JSON object, nests deeper than 10, or a key has a value of the wrong kind.
        InvalidDevice: ``defaultDevice`` is a device that there is not.
        Refused: ``max_opqueue_num`` is not a positive number, or the sections ``dump`` or ``profiler`` are wrong.
    """
    if not path:
        return Config()
    document = read_document(path)
    _check_stack_size(document, path)
    return Config(
        document=document,
        unknown=_unknown(document),
        default_device=_default_device(document, path),
        shares_texts=_shares_texts(document, path),
        operator_models=_operator_models(document, path),
        dump=dump_config(document, path),
        profiles=profiler_folder(document, path),
    )


def read_document(path: str) -> dict[str, Any]:
    """Return the object of a JSON file; raises `InvalidFile` and `InvalidJson` as `read_config`."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, ValueError) as error:
        raise InvalidFile(f"cannot read the configuration {path!r}: {error}; give the path of a JSON file") from None
    return _parse(text, path)


def _parse(text: str, path: str) -> dict[str, Any]:
    deepest = _deepest(text)
    if deepest > _DEEPEST:
        raise InvalidJson(f"{path!r} nests {deepest} levels deep; {_DEEPEST} are allowed")
    try:
        import json  # few programs bring a configuration

        document = json.loads(text)
    except ValueError as error:
        raise InvalidJson(f"{path!r} is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise InvalidJson(f"{path!r} holds a JSON {type(document).__name__}; it must be an object, such as {{}}")
    return document


def _deepest(text: str) -> int:
    """Return how deep braces nest, or brackets if that is more, before anything is parsed; those in strings are text."""
    depths, deepest = {"{": 0, "[": 0}, 0
    in_string = escaped = False
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in depths:
            depths[character] += 1
            deepest = max(deepest, depths[character])
        elif character in "}]":
            depths["{" if character == "}" else "["] -= 1
    return deepest


def _unknown(document: dict[str, Any]) -> tuple[str, ...]:
    section = document.get("defaultDevice")
    inner = [f"defaultDevice.{key}" for key in section if key != "default_device"] if isinstance(section, dict) else []
    return tuple(sorted([*(key for key in document if key not in _KEYS), *inner]))


def _default_device(document: dict[str, Any], path: str) -> int | None:
    section = document.get("defaultDevice")
    if section is None:
        return None
    number = _whole(section.get("default_device")) if isinstance(section, dict) else None
    if number is None:
        raise InvalidJson(f'{path!r}: defaultDevice must be like {{"default_device": "0"}}, not {section!r}')
    if not 0 <= number < aacl.device_count():
        raise InvalidDevice(f"{path!r}: defaultDevice is {number}; there are {aacl.device_count()} devices, from 0 on")
    return number


def _shares_texts(document: dict[str, Any], path: str) -> bool:
    value = document.get("err_msg_mode", "0")
    if _whole(value) not in (0, 1):
        raise InvalidJson(f'{path!r}: err_msg_mode is {value!r}; it must be "0" (a thread) or "1" (the process)')
    return _whole(value) == 1


def _operator_models(document: dict[str, Any], path: str) -> int:
    value = document.get("max_opqueue_num", _QUEUE_LENGTH)
    number = _whole(value)
    if number is None or number < 1:
        raise Refused(MAX_OPQUEUE_NUM, f"{path!r}: max_opqueue_num is {value!r}; it must be a number from 1 on")
    return number


def _check_stack_size(document: dict[str, Any], path: str) -> None:
    section = document.get("StackSize", {})
    if not isinstance(section, dict) or None in [_whole(value) for value in section.values()]:
        raise InvalidJson(f'{path!r}: StackSize must be like {{"aicore_stack_size": 32768}}, not {section!r}')


def _whole(value: object) -> int | None:
    """Return a whole number that is given as one or as its digits, else None."""
    if isinstance(value, str) and _DIGITS.fullmatch(value.strip()):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
