"""The example of models in a chain, run as a user runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "chain.py"


def run(*arguments: str, program: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the example, or a changed one, from another folder than its own."""
    command = [str(EXAMPLE)] if program is None else ["-c", program]
    return subprocess.run([sys.executable, *command, *arguments], capture_output=True, text=True, check=False, cwd="/")


def test_the_chain_makes_what_one_model_makes() -> None:
    """The square's edges are drawn, and nowhere else; both times and the difference are told."""
    done = run("--size", "64", "--rounds", "3")

    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) == 10
    assert {place for place, line in enumerate(lines[:8]) if line.strip()} == {1, 2, 3, 4}
    assert "a chain of three" in lines[8]
    assert lines[9].startswith("largest difference: ")


def test_a_difference_is_told() -> None:
    """Where the merged model makes something else, the status is 1."""
    source = EXAMPLE.read_text()
    changed = source.replace("return Outcome(session.run(None, {", "return Outcome(-session.run(None, {")
    assert changed != source

    done = run("--size", "64", "--rounds", "1", program=changed)

    assert done.returncode == 1, done.stderr
    assert "largest difference" in done.stdout


@pytest.mark.parametrize("arguments", [("--size", "20"), ("--rounds", "0"), ("--size", "x")])
def test_a_wrong_command_line(arguments: tuple[str, ...]) -> None:
    """It is told in a line, with status 2."""
    done = run(*arguments)

    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("chain.py: error:")
