"""Write pages of docs anew: run every program and command that they show, and put in what came out.

A block behind a line that ends in "`name.py`:" is a file. In a block of console, lines that begin with
"$ " are commands, a backslash at their end goes on with the next line, and the rest is what they printed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ("GUIDE", "PAGE", "renewed")

_DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE, GUIDE = _DOCS / "models.md", _DOCS / "from-pyacl.md"
_BLOCK = re.compile(r"(?:`(?P<name>[\w.]+)`:\n\n)?```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)


def renewed(page: str, folder: Path) -> str:
    """Return a page with what its commands print in an empty folder, one after the other."""

    def renew(block: re.Match[str]) -> str:
        if block["name"] is not None:
            (folder / block["name"]).write_text(block["body"])
        elif block["kind"] == "console":
            pairs = [f"$ {command}\n{_printed(command, folder)}" for command in _commands(block["body"])]
            return f"```console\n{''.join(pairs)}```"
        return block[0]

    return _BLOCK.sub(renew, page)


def _commands(body: str) -> Iterator[str]:
    lines = iter(body.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command += "\n" + next(lines)
            yield command


def _printed(command: str, folder: Path) -> str:
    """Return what a command prints, as a terminal shows it."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AACL_")} | {"PATH": path}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def main() -> None:
    """Write the pages."""
    for page in (PAGE, GUIDE):
        with tempfile.TemporaryDirectory() as folder:
            page.write_text(renewed(page.read_text(), Path(folder)))


if __name__ == "__main__":
    main()
