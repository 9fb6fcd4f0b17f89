"""The examples of models with batch gears, and with a range of shapes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "legacy"
BATCH, RANGE = FOLDER / "dynamic_batch.py", FOLDER / "shape_range.py"

_LYING = """
import runpy, sys
import numpy as np
np.allclose = lambda *arrays, **limits: False
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """Run Python from another folder than the example's, without the commands of its environment on the path."""
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True, text=True, env=os.environ | {"PATH": os.defpath}, check=False, cwd="/",
    )  # fmt: skip


def test_every_batch_gets_the_smallest_gear_that_takes_it() -> None:
    """The table has a row a batch: how many came in, in how many runs, and their gears; nothing else is printed."""
    done = run(str(BATCH))

    assert (done.returncode, done.stderr) == (0, "")
    head, *rows, end = done.stdout.splitlines()
    assert head.split() == ["came", "in", "runs", "gears"]
    assert end == "all as NumPy labels them"
    assert [row.split(maxsplit=2) for row in rows] == [
        ["1", "1", "1"],
        ["5", "1", "8"],
        ["8", "1", "8"],
        ["3", "1", "4"],
        ["2", "1", "2"],
        ["11", "2", "8, 4"],
        ["1", "1", "1"],
    ]


def test_every_picture_gets_its_exact_number_of_edges() -> None:
    """The table has a row a picture, with fewer edges than pixels; nothing else is printed."""
    done = run(str(RANGE))

    assert (done.returncode, done.stderr) == (0, "")
    head, *rows, end = done.stdout.splitlines()
    assert head.split() == ["picture", "edges"]
    assert end == "all as NumPy finds them"
    edges = [(row.split()[0], int(row.split()[1])) for row in rows]
    assert [size for size, _ in edges] == ["12x16", "240x320", "3x3", "64x1000", "12x16"]
    assert 0 < edges[1][1] < 240 * 320


@pytest.mark.parametrize("example", [BATCH, RANGE], ids=["batch", "range"])
def test_a_difference_is_told(example: Path) -> None:
    """Where the comparison fails the status is 1, and the last line says so."""
    done = run("-c", _LYING, str(example))

    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("NumPy ")


@pytest.mark.parametrize("example", [BATCH, RANGE], ids=["batch", "range"])
def test_they_use_pyacl_alone(example: Path) -> None:
    """A pyACL program imports acl, NumPy and the standard library, and onnx to have a model."""
    imports = {line.split()[1].partition(".")[0] for line in example.read_text().splitlines()
               if line.startswith(("import ", "from "))}  # fmt: skip

    assert imports - {"__future__", *sys.stdlib_module_names} == {"acl", "numpy", "onnx"}
