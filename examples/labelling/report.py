"""The tables of the demo."""

from __future__ import annotations

import sysconfig
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from labelling.files import REPOSITORY

if TYPE_CHECKING:
    from rich.console import Console

    from labelling.outcome import Outcome

__all__ = ("show_agreement", "show_files", "show_timings")


def show_files(
    console: Console, paths: Sequence[Path], outcomes: Sequence[Outcome], wrong: Collection[Path], base: Path | None
) -> None:
    """Print file, label and the score of every way."""
    table = Table(title=f"{len(paths)} files, labelled {len(outcomes)} ways", pad_edge=False)
    table.add_column("file", overflow="fold")
    table.add_column("label", no_wrap=True)
    for outcome in outcomes:
        table.add_column(outcome.name, justify="right", no_wrap=True)
    table.add_column("agree", justify="center")
    for place, path in enumerate(paths):
        labels = [outcome.labels[-1][place] for outcome in outcomes]
        scores = [f"{label.score:.4f}" for label in labels]
        agree = "[bold red]NO[/]" if path in wrong else "[green]✓[/]"
        table.add_row(escape(_short(path, base)), labels[-1].name, *scores, agree)
    console.print(table)


def show_agreement(console: Console, count: int, wrong: Mapping[Path, str]) -> None:
    """Print whether the ways agree, and every file on which they do not with what each said."""
    if not wrong:
        console.print(f"[green]The three ways agree on all {count} files.[/]", highlight=False)
        return
    console.print(f"[bold red]The three ways do not agree on {len(wrong)} of {count} files:[/]", highlight=False)
    for path, words in wrong.items():
        console.print(f"  {escape(str(path))}: {escape(words)}", soft_wrap=True, highlight=False)


def show_timings(console: Console, outcomes: Sequence[Outcome], about: dict[str, str]) -> None:
    """Print how long each way took."""
    table = Table(title=f"medians of {len(outcomes[0].seconds)} rounds, one way after the other", pad_edge=False)
    for heading in ("way", "how"):
        table.add_column(heading)
    for heading in ("ready in", "all files in", "files a second"):
        table.add_column(heading, justify="right", no_wrap=True)
    for outcome in outcomes:
        seconds, count = outcome.typical_seconds, len(outcome.labels[-1])
        table.add_row(outcome.name, about[outcome.name], f"{outcome.ready * 1e3:.0f} ms", f"{seconds * 1e3:.0f} ms",
                      f"{count / seconds:.0f}")  # fmt: skip
    console.print(table)


def _short(path: Path, base: Path | None) -> str:
    """Return a path as briefly as it is still clear."""
    if base is not None and path.is_relative_to(base):
        return str(path.relative_to(base))
    paths = sysconfig.get_paths()
    for start in (Path(paths["purelib"]), REPOSITORY, Path(paths["stdlib"]).parent):
        if path.is_relative_to(start):
            return str(path.relative_to(start))
    return str(path)
