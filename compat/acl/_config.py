"""The JSON file that ``acl.init`` takes. Pure, but for reading the file."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from aacl.errors import InvalidFile, InvalidJson
from acl._dump_config import DumpConfig, dump_config
from acl._profiler_config import profiler_folder
from acl._status import MAX_OPQUEUE_NUM, Refused

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ("Config", "read_config", "read_document")

_DEEPEST = 10
_QUEUE_LENGTH = 20000


class Config(NamedTuple):
    """What the file says; keys that only a real device could honour are kept in the document and change nothing.

    Attributes:
        document: the whole file.
        default_device: the device that threads use which set none, or None.
        shares_texts: whether error texts are the process's (``err_msg_mode`` "1") and not each thread's.
        operator_models: how many operator models are kept (``max_opqueue_num``).
        dump: whose tensors are written (``dump``), None for nobody's.
        profiles: the folder for profiles from the beginning to the end (``profiler``), or None.
    """

    document: Mapping[str, Any] = MappingProxyType({})
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
        Refused: ``max_opqueue_num`` is not a positive number, or the sections ``dump`` or ``profiler`` are wrong.
    """
    if not path:
        return Config()
    document = read_document(path)
    return Config(
        document=document,
        default_device=_default_device(document, path),
        shares_texts=str(document.get("err_msg_mode", "0")) == "1",
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
    deepest = max(_depth(text, "{", "}"), _depth(text, "[", "]"))
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


def _depth(text: str, opening: str, closing: str) -> int:
    """Return how deep brackets of one kind nest, before anything is parsed; those in strings count too."""
    depth = deepest = 0
    for character in text:
        if character == opening:
            depth += 1
            deepest = max(deepest, depth)
        elif character == closing:
            depth -= 1
    return deepest


def _default_device(document: dict[str, Any], path: str) -> int | None:
    section = document.get("defaultDevice")
    if section is None:
        return None
    value = section.get("default_device") if isinstance(section, dict) else None
    try:
        return int(value)  # type: ignore[arg-type] # what is no number is refused below
    except (TypeError, ValueError, OverflowError):
        raise InvalidJson(f'{path!r}: defaultDevice must be like {{"default_device": "0"}}, not {section!r}') from None


def _operator_models(document: dict[str, Any], path: str) -> int:
    value = document.get("max_opqueue_num", _QUEUE_LENGTH)
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = 0
    if number < 1:
        raise Refused(MAX_OPQUEUE_NUM, f"{path!r}: max_opqueue_num is {value!r}; it must be a number from 1 on")
    return number
