"""``python -m benchmarks``: measure, print a table, write a JSON file.

The exit status is 0 when every bar is met, or is beyond what the machine itself
gives (the table shows that measurement); 1 when one is missed; 2 for a wrong
command line. A peer that is not installed is named in the table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from benchmarks import _environment, _groups, _report

if TYPE_CHECKING:
    from benchmarks._result import Result

RESULTS = Path("out", "benchmarks.json")
WIDTH = 160


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    options = _parser().parse_args(arguments)
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    environment = _environment.describe()
    groups: dict[str, list[Result]] = {}
    for name in options.groups or _groups.GROUPS:
        title = _groups.GROUPS[name]
        console.print(f"[dim]measuring {title} …[/]")
        groups[title] = _groups.run(name)
    _report.show(console, environment, groups)
    _report.write(options.output, environment, groups)
    console.print(f"written to {options.output.resolve()}", highlight=False, soft_wrap=True)
    return 1 if any(_report.failures(results) for results in groups.values()) else 0


def _parser() -> argparse.ArgumentParser:
    text = (__doc__ or "").partition("\n\n")[2]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=text)
    parser.add_argument("groups", nargs="*", metavar="group", type=_group,
                        help=f"what to measure: {', '.join(_groups.GROUPS)}; by default all")  # fmt: skip
    parser.add_argument("--output", type=Path, default=RESULTS, help="the JSON file (default: %(default)s)")
    return parser


def _group(text: str) -> str:
    if text not in _groups.GROUPS:
        raise argparse.ArgumentTypeError(f"{text!r} is no group; there are {', '.join(_groups.GROUPS)}")
    return text


if __name__ == "__main__":
    sys.exit(main())
