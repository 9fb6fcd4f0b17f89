"""Lists of a C structure's two fields, as programs write them."""

from __future__ import annotations

from operator import index
from typing import Any

__all__ = ("fields",)


def fields(entries: Any, first: str, second: str, what: str) -> list[tuple[int, int]]:
    """Return the fields of each entry of a list.

    Args:
        entries: each a pair, or a dict with the fields' names.
        first: the name of a field in C.
        second: that of the other one.
        what: the list is called in texts.

    Raises:
        TypeError: it is no such list.
    """
    if not isinstance(entries, (list, tuple)):
        raise TypeError(f"{what} must be list, not {type(entries).__name__}")
    return [_pair(entry, first, second, what) for entry in entries]


def _pair(entry: Any, first: str, second: str, what: str) -> tuple[int, int]:
    if isinstance(entry, dict) and entry.keys() == {first, second}:
        return index(entry[first]), index(entry[second])
    if isinstance(entry, (list, tuple)) and len(entry) == 2:
        return index(entry[0]), index(entry[1])
    raise TypeError(f"an entry of {what} is {{'{first}': number, '{second}': number}} or a pair of them, not {entry!r}")
