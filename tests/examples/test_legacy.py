"""The examples in pyACL's calls, run as a user runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "legacy"
SCRIPTS = Path(sysconfig.get_path("scripts"))

LAST_LINES = {
    "allocator": r"all as NumPy finds them; 0 blocks were not given back",
    "callbacks": r"all lines came in order, by the reporting thread",
    "error_handling": r"every mistake was told by its code",
    "events": r"the consumer saw its own round's bytes in 8 of 8 rounds",
    "memory_copies": r"921600 bytes came back the same in 4 ways",
    "multi_device": r"the token was at 0 1 2 0 1 2 0 1 2",
    "profiling": r"20 runs were recorded as a whole",
    "single_operator": r"3 rounds, all as NumPy computes them",
    "threads": r"40 of 40 answers are right",
}
"""What the examples without a test file of their own end with, on three devices."""

MISTAKES = {
    "allocator": ("picture > np.float32(0.9)", "picture > np.float32(0.8)"),
    "callbacks": ("sorted(inbox.told) ==", "sorted(inbox.told) !="),
    "error_handling": ("ACL_ERROR_OP_NOT_FOUND = 100024", "ACL_ERROR_OP_NOT_FOUND = 100025"),
    "events": ("self.block, SIZE, number + 1, SIZE", "self.block, SIZE, number + 2, SIZE"),
    "memory_copies": ("padded, PITCH, WIDTH, HEIGHT", "padded, WIDTH, WIDTH, HEIGHT"),
    "multi_device": ("workers * ROUNDS:", "workers[::-1] * ROUNDS:"),
    "profiling": ("_ in range(RUNS)", "_ in range(RUNS - 1)"),
    "single_operator": ("PERCENT * powers", "powers"),
    "threads": ('execute_v2("Add", [self.desc] * 2, inputs', 'execute_v2("Add", [self.desc] * 2, self.buffers'),
}
"""A change of each that makes its result wrong."""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command with three devices from another folder, without those of the environment on the path."""
    environment = os.environ | {"PATH": os.defpath, "AACL_DEVICES": "3"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, cwd="/")


def test_every_example_is_tested() -> None:
    """A new example has its line here, or a file of its own."""
    others = {"dynamic_batch", "dynamic_operator", "shape_range"}

    assert {path.stem for path in FOLDER.glob("*.py")} == LAST_LINES.keys() | others
    assert MISTAKES.keys() == LAST_LINES.keys()


@pytest.mark.parametrize("name", LAST_LINES)
def test_it_prints_its_result_and_ends_with_0(name: str) -> None:
    """It needs no argument, no path and no folder; nothing goes to stderr."""
    done = run(sys.executable, str(FOLDER / f"{name}.py"))

    assert (done.returncode, done.stderr) == (0, "")
    *lines, last = done.stdout.splitlines()
    assert lines or name == "multi_device"
    assert re.fullmatch(LAST_LINES[name], last)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_wrong_result_is_told_and_nothing_is_left_open(name: str, tmp_path: Path) -> None:
    """With a mistake planted the status is 1, and the handles are released all the same."""
    source = (FOLDER / f"{name}.py").read_text()
    right, wrong = MISTAKES[name]
    assert source.count(right) == 1
    script, python = tmp_path / "changed.py", str(SCRIPTS / "aacl")
    script.write_text(source.replace(right, wrong))

    done = run(python, "run", "--report", str(script))

    assert done.returncode == 1
    assert done.stderr == "aacl run: nothing left open\n"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_they_use_pyacl_alone(path: Path) -> None:
    """A pyACL program imports acl, NumPy and the standard library, and onnx where it needs a model."""
    modules = re.findall(r"^\s*(?:import|from) (\w+)", path.read_text(), re.MULTILINE)

    assert {*modules} - {"__future__", *sys.stdlib_module_names} <= {"acl", "numpy", "onnx"}
