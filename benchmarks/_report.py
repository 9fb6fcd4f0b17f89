"""The table in the terminal and the JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from rich.console import Console

    from benchmarks._result import Result, Status

__all__ = ("failures", "show", "write")

_STYLES: dict[Status, str] = {
    "met": "green",
    "missed": "bold red",
    "machine": "yellow",
    "missing": "yellow",
    "compared": "dim",
}
_WORDS: dict[Status, str] = {
    "met": "met",
    "missed": "MISSED",
    "machine": "the machine's limit",
    "missing": "missing",
    "compared": "",
}


def failures(results: Sequence[Result]) -> list[Result]:
    """Return the lines whose bar is missed though the machine would allow it."""
    return [result for result in results if result.status == "missed"]


def show(console: Console, environment: Mapping[str, str], groups: Mapping[str, Sequence[Result]]) -> None:
    """Print the head, one table with a section a group, and the count."""
    for name, value in environment.items():
        console.print(f"[dim]{name:>12}[/]  {value}", highlight=False)
    table = Table(pad_edge=False)
    for heading, justify in (("", "left"), ("value", "right"), ("quartiles", "right"), ("bar", "right"), ("", "left")):
        table.add_column(heading, justify=justify, no_wrap=bool(heading))  # type: ignore[arg-type]
    table.add_column("behind it", style="dim", ratio=1)
    for group, results in groups.items():
        table.add_section()
        table.add_row(f"[bold]{group}[/]")
        for result in results:
            table.add_row(*_cells(result))
    console.print(table)
    lines = [result for results in groups.values() for result in results]
    counts = {status: sum(line.status == status for line in lines) for status in _WORDS}
    console.print(
        f"{counts['met']} bars met, {counts['missed']} missed, {counts['machine']} that this machine cannot meet, "
        f"{counts['missing']} not measured"
    )


def write(path: Path, environment: Mapping[str, str], groups: Mapping[str, Sequence[Result]]) -> None:
    """Write everything to a JSON file, its folder made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "environment": dict(environment),
        "groups": {group: [result.as_json() for result in results] for group, results in groups.items()},
    }
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _cells(result: Result) -> tuple[str, ...]:
    status = result.status
    word = f"[{_STYLES[status]}]{_WORDS[status]}[/]" if _WORDS[status] else ""
    detail = result.detail
    if result.ceiling is not None:
        detail = f"{detail}; {result.ceiling:.3g} {result.unit} without this project".removeprefix("; ")
    if result.spread is None:
        return result.name, "", "", result.asked, word, detail
    value, low, high = (_figure(each) for each in (result.spread.value, result.spread.low, result.spread.high))
    return result.name, f"{value} {result.unit}", f"{low} … {high}", result.asked, word, detail


def _figure(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2f}"
