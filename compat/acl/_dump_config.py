"""The ``dump`` section of a configuration: whose tensors are written, and where. Pure, but for a look at the folder."""

from __future__ import annotations

import os
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from acl._status import INVALID_DUMP_CONFIG, Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ("DumpConfig", "dump_config")

_MODES = {"input": (True, False), "output": (False, True), "all": (True, True)}
_DATA = ("tensor", "stats")


class DumpConfig(NamedTuple):
    """What is dumped.

    Attributes:
        folder: where.
        models: the nodes looked at by the model's name, None for all of them; the name "" stands for every model.
        inputs: whether what goes into nodes is wanted.
        outputs: whether what comes out is.
        steps: which runs of a model, first and last, from 0 on; empty for all.
        is_statistics: whether extremes and means are wanted instead of the elements.
    """

    folder: Path
    models: Mapping[str, frozenset[str] | None] = MappingProxyType({})
    inputs: bool = False
    outputs: bool = True
    steps: tuple[tuple[int, int], ...] = ()
    is_statistics: bool = False

    def has_model(self, name: str) -> bool:
        """Whether a model is dumped."""
        return name in self.models or "" in self.models

    def nodes_of(self, name: str) -> frozenset[str] | None:
        """Return the nodes that are looked at of a model that is dumped, None for all."""
        return self.models[name] if name in self.models else self.models[""]

    def has_step(self, number: int) -> bool:
        """Whether a run is dumped."""
        return not self.steps or any(first <= number <= last for first, last in self.steps)


def dump_config(document: Mapping[str, Any], path: str) -> DumpConfig | None:
    """Return what the section says, None without a section or a model to dump. Source: the page of ``acl.init``.

    Raises:
        Refused: a value is wrong, or the folder cannot be written (100009).
    """
    section = document.get("dump")
    if section is None:
        return None
    if not isinstance(section, dict):
        raise _wrong(path, f"must be an object, not {section!r}")
    if section.get("dump_op_switch", "off") != "off":
        raise _wrong(path, "dump_op_switch: operators that are executed alone cannot be dumped; set it to off")
    models = _models(section.get("dump_list", []), path)
    inputs, outputs = _choice(section, "dump_mode", "output", _MODES, path)
    is_statistics = _choice(section, "dump_data", "tensor", dict.fromkeys(_DATA), path, keep=True) == "stats"
    steps = _steps(section.get("dump_step", ""), path)
    if not models:
        return None
    return DumpConfig(_folder(section.get("dump_path"), path), models, inputs, outputs, steps, is_statistics)


def _wrong(path: str, text: str) -> Refused:
    return Refused(INVALID_DUMP_CONFIG, f"{path!r}: dump {text}")


def _choice(
    section: dict[str, Any], key: str, default: str, known: Mapping[str, Any], path: str, *, keep: bool = False
) -> Any:
    value = section.get(key, default)
    if not isinstance(value, str) or value not in known:
        raise _wrong(path, f"{key} is {value!r}; it must be one of {', '.join(known)}")
    return value if keep else known[value]


def _models(entries: Any, path: str) -> dict[str, frozenset[str] | None]:
    if not isinstance(entries, list):
        raise _wrong(path, f"dump_list must be a list, not {entries!r}")
    models: dict[str, frozenset[str] | None] = {}
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("model_name", ""), str):
            raise _wrong(path, f'dump_list has {entry!r}; an entry is like {{"model_name": "net", "layer": ["conv1"]}}')
        layers = entry.get("layer")
        if layers is not None and not (isinstance(layers, list) and all(isinstance(each, str) for each in layers)):
            raise _wrong(path, f"layer must be a list of node names, not {layers!r}")
        models[entry.get("model_name", "")] = frozenset(layers) if layers else None
    return models


def _steps(text: Any, path: str) -> tuple[tuple[int, int], ...]:
    """Return the runs of a text like ``0|3-5|10``."""
    if text == "":
        return ()
    steps = []
    for part in text.split("|") if isinstance(text, str) else [None]:
        first, dash, last = (part or "").partition("-")
        ends = (first, last) if dash else (first, first)
        if not all(each.isdecimal() and each.isascii() and len(each) < 19 for each in ends) or int(ends[0]) > int(
            ends[1]
        ):
            raise _wrong(path, f"dump_step is {text!r}; it must be like 0|3-5|10")
        steps.append((int(ends[0]), int(ends[1])))
    return tuple(steps)


def _folder(value: Any, path: str) -> Path:
    if not isinstance(value, str) or not value or "\0" in value:
        raise _wrong(path, f"dump_path is {value!r}; it must be the path of a folder")
    folder = Path(value).absolute()
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise _wrong(path, f"dump_path {value!r} is no folder that can be written; make it first")
    return folder
