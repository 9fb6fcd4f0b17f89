"""The example of operators natively, run as a user runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "operators.py"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the example from another folder than its own."""
    return subprocess.run(
        [sys.executable, str(EXAMPLE), *arguments], capture_output=True, text=True, check=False, cwd="/"
    )


def test_every_star_is_found() -> None:
    """Each is within a pixel of where it was put, the bounds of the result are told, and nothing else is printed."""
    done = run("--size", "256", "--stars", "9", "--seed", "3")

    assert (done.returncode, done.stderr) == (0, "")
    assert "65536" in done.stdout
    rows = [[cell.strip() for cell in line.split("\N{BOX DRAWINGS LIGHT VERTICAL}")[1:-1]]
            for line in done.stdout.splitlines() if line.startswith("\N{BOX DRAWINGS LIGHT VERTICAL}")]  # fmt: skip
    assert len(rows) == 9
    for put, _, found in rows:
        places = [list(map(int, place.split(","))) for place in (put, found)]
        assert all(abs(a - b) <= 1 for a, b in zip(*places, strict=True))


def test_a_star_that_is_not_found_is_told() -> None:
    """Stars that drown in the noise are listed as missed, and the status is 1."""
    source = EXAMPLE.read_text().replace("NOISE, LIMIT = 0.05, 0.25", "NOISE, LIMIT = 0.05, 1.0")
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False, cwd="/")

    assert done.returncode == 1
    assert "missed" in done.stdout


@pytest.mark.parametrize("arguments", [("--stars", "0"), ("--size", "64", "--stars", "5"), ("--size", "x")])
def test_a_wrong_command_line(arguments: tuple[str, ...]) -> None:
    """It is told in a line, with status 2."""
    done = run(*arguments)

    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("operators.py: error:")
