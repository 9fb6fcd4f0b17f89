"""The example of batches, run as a user runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "batches.py"


def run(*arguments: str, program: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the example, or a changed one, from another folder than its own."""
    command = [str(EXAMPLE)] if program is None else ["-c", program]
    return subprocess.run([sys.executable, *command, *arguments], capture_output=True, text=True, check=False, cwd="/")


def rows_of(done: subprocess.CompletedProcess[str]) -> list[list[str]]:
    """Return the cells of the table."""
    bar = "\N{BOX DRAWINGS LIGHT VERTICAL}"
    return [
        [cell.strip() for cell in line.split(bar)[1:-1]] for line in done.stdout.splitlines() if line.startswith(bar)
    ]


@pytest.mark.parametrize(("pictures", "runs"), [(21, [21, 3, 3, 3]), (0, [0, 0, 0, 0])])
def test_all_ways_find_the_same(pictures: int, runs: list[int]) -> None:
    """One by one every picture is a run; in batches of 8 it is one run in eight, and one for the remainder."""
    done = run("--pictures", str(pictures))

    assert (done.returncode, done.stderr) == (0, "")
    rows = rows_of(done)
    assert [int(row[1]) for row in rows] == [pictures] * 4
    assert [int(row[2]) for row in rows] == runs
    assert [row[4] for row in rows] == ["✓"] * 4


def test_other_batches_and_workers() -> None:
    """The options reach the model and the loop."""
    done = run("--pictures", "10", "--batch", "3", "--workers", "1")

    assert done.returncode == 0, done.stderr
    assert [row[:3] for row in rows_of(done)] == [
        ["one by one", "10", "10"],
        ["fixed batch 3", "10", "4"],
        ["gears 1, 2, 3", "10", "4"],
        ["any batch up to 3", "10", "4"],
    ]


def test_a_way_that_differs_is_told() -> None:
    """One answer that is another than NumPy's marks its way, and the status is 1."""
    source = EXAMPLE.read_text()
    changed = source.replace("for _, similarities in results]", "for _, similarities in results][::-1]")
    assert changed != source

    done = run("--pictures", "30", program=changed)

    assert done.returncode == 1, done.stderr
    assert [row[4] for row in rows_of(done)] == ["✓", "✗", "✗", "✗"]


@pytest.mark.parametrize("arguments", [("--batch", "1"), ("--workers", "0"), ("--pictures", "-1"), ("--batch", "x")])
def test_a_wrong_command_line(arguments: tuple[str, ...]) -> None:
    """It is told in a line, with status 2."""
    done = run(*arguments)

    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("batches.py: error:")
