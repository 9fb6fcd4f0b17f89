"""The example of a fused operator, run as a user runs it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "own_kernel.py"


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the example in a wide terminal."""
    return subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE), *arguments],
        capture_output=True, text=True, env={**os.environ, "COLUMNS": "120", **environment}, check=False,
    )  # fmt: skip


def _ways(output: str) -> list[str]:
    """Return what the rows of the table are made of."""
    return re.findall(r"\d+ x 4096 +│ ([\w ]+?) +│", output)


@pytest.mark.skipif(
    shutil.which("cc") is None, reason="no C compiler is installed: the example does without its kernel"
)
def test_all_kernels_agree() -> None:
    """With a compiler there are three ways for each of three shapes; they agree, with checks on too."""
    for checked in ("0", "1"):
        done = run("--runs", "2", AACL_CHECK_KERNELS=checked)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        assert _ways(done.stdout) == ["catalogue", "Python kernel", "C kernel"] * 3
        assert "All ways agree." in done.stdout


def test_without_a_compiler() -> None:
    """The Python kernel does it, and the program says why it is alone."""
    for done in (run("--runs", "1", CC="there-is-no-such-compiler"), run("--runs", "1", "--python")):
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        assert _ways(done.stdout) == ["catalogue", "Python kernel"] * 3
        assert re.search("No C kernel: (there is no compiler here|as asked)", done.stdout)


def test_a_wrong_command_line() -> None:
    """It says how it is used, and ends with 2."""
    for done in (run("--fast"), run("--runs", "0")):
        assert done.returncode == 2
        assert "usage:" in done.stderr
