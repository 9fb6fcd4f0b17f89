"""The tables of ``aacl run --report``: what a program left open, and what was closed for it."""

from __future__ import annotations

import linecache
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from aacl.cli._words import size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ("Leak", "leak_of", "left_open_table", "swept_tables")

_HEAD = ("kind", "number", "handle", "size", "made at")
_SOURCE = 60  # characters of a source line that are shown


class Leak(NamedTuple):
    """One object that a program did not end.

    Attributes:
        kind: of the object.
        handle: its number; the address of memory.
        nbytes: of memory, else None.
        file: the file that made it; empty if no line of the program did.
        line: of the file; without one, 0 says that nothing is known.
    """

    kind: str
    handle: int
    nbytes: int | None
    file: str
    line: int


def left_open_table(leaks: Iterable[Leak], counts: Mapping[str, int]) -> list[str]:
    """Return the lines that tell what is open, none if nothing is.

    Args:
        leaks: what is known one by one.
        counts: how many of each kind there are in all.
    """
    rows = [*_rows(leaks)]
    told: dict[str, int] = {}
    for kind, number, *_ in rows:
        told[kind] = told.get(kind, 0) + int(number)
    for kind, count in counts.items():
        more = count - told.get(kind, 0)
        if more > 0 and not kind.endswith(" bytes"):
            rows.append((kind, str(more), "", "", ""))
    return ["left open:", *_table(rows)] if rows else []


def swept_tables(swept: Iterable[tuple[Leak, str, str, int]]) -> list[str]:
    """Return the lines that tell what was ended for the program.

    Args:
        swept: each object, the call that ended it, and the file and line that made the call.
    """
    calls: dict[tuple[str, str, int], list[Leak]] = {}
    for leak, name, file, line in swept:
        calls.setdefault((name, file, line), []).append(leak)
    lines: list[str] = []
    for (name, file, line), leaks in calls.items():
        where = f" at {_place(file, line)}" if file else ""
        lines += [f"{name}{where} ended what was still open:", *_table([*_rows(leaks)])]
    return lines


def _rows(leaks: Iterable[Leak]) -> Iterator[tuple[str, ...]]:
    """Put together what one line made of one kind."""
    groups: dict[tuple[str, str, int], list[Leak]] = {}
    for leak in leaks:
        groups.setdefault((leak.kind, leak.file, leak.line), []).append(leak)
    for (kind, file, line), members in groups.items():
        first = members[0]
        sizes = [leak.nbytes for leak in members if leak.nbytes is not None]
        handle = str(first.handle) if first.nbytes is None else f"{first.handle:#x}"
        yield (
            kind,
            str(len(members)),
            handle if len(members) == 1 else f"{handle}, ...",
            size(sum(sizes)) if sizes else "",
            _place_and_source(file, line),
        )


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
    for row in (_HEAD, *rows):
        yield (
            "  "
            + "  ".join(
                cell.rjust(width) if name in ("number", "size") else cell.ljust(width)
                for name, cell, width in zip(_HEAD, row, widths, strict=True)
            ).rstrip()
        )


def _place_and_source(file: str, line: int) -> str:
    if not file:
        return "the runtime, for the program" if line else "not known"
    source = linecache.getline(file, line).strip()
    if len(source) > _SOURCE:
        source = source[: _SOURCE - 3] + "..."
    return f"{_place(file, line)}  {source}".rstrip()


def _place(file: str, line: int) -> str:
    """Write a line of a file, from the current folder if it lies in there."""
    with suppress(OSError):  # the folder may be gone
        file = file.removeprefix(os.getcwd() + os.sep)
    return f"{file}:{line}"


def leak_of(thing: Any, place: Any) -> Leak:
    """Make a row of what `acl` tells: an open object, and where it was made."""
    return Leak(thing.kind, thing.handle, thing.nbytes, place.file, place.line)
