"""The page "From pyACL to aacl" says what is true."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.models_page import GUIDE, renewed

PATTERNS = {"memory", "streams", "events", "callbacks", "operator", "model", "gears", "ranges", "errors", "threads",
            "profile", "cleanup"}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the page's commands were run, and the page with what they printed."""
    made = tmp_path_factory.mktemp("guide")
    (made / "page.md").write_text(renewed(GUIDE.read_text(), made))
    return made


def blocks(page: str) -> Iterator[tuple[str, str]]:
    """Return each command of the page with what it prints."""
    for body in re.findall(r"^```console\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        yield from re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", body, re.MULTILINE)


@pytest.mark.timeout(180)
def test_every_command_prints_what_the_page_says(folder: Path) -> None:
    """The programs and commands, run in order, print exactly what stands there; a stale page says: run make docs."""
    assert (folder / "page.md").read_text() == GUIDE.read_text()


def test_both_faces_print_the_same() -> None:
    """Each pattern stands in both faces, and what they print is the same, and something."""
    printed = dict(blocks(GUIDE.read_text()))
    pairs = {
        command[len("python ") : -len("_acl.py")]: (text, printed[command.replace("_acl.py", "_aacl.py")])
        for command, text in printed.items()
        if command.endswith("_acl.py")
    }

    assert pairs.keys() == PATTERNS
    assert [name for name, (theirs, ours) in pairs.items() if theirs != ours or not theirs] == []


@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_the_programs_leave_nothing_open(folder: Path, name: str) -> None:
    """What the page shows of pyACL's calls is complete: every handle is released."""
    aacl = Path(sys.executable).with_name("aacl")
    done = subprocess.run(
        [str(aacl), "run", f"{name}_acl.py"], cwd=folder, capture_output=True, text=True, check=False,
        env={key: value for key, value in os.environ.items() if not key.startswith("AACL_")},
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "aacl run: nothing left open\n")
