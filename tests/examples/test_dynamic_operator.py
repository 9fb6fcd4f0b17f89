"""The example of an operator whose output shape values decide."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "legacy" / "dynamic_operator.py"

_LYING = """
import runpy, sys
import numpy as np
np.array_equal = lambda *arrays: False
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """Run Python from another folder than the example's, without the commands of its environment on the path."""
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True, text=True, env=os.environ | {"PATH": os.defpath}, check=False, cwd="/",
    )  # fmt: skip


def test_every_map_gets_its_exact_number_of_spots() -> None:
    """The table has a row a map: its largest result, the exact one and the first places; nothing else is printed."""
    done = run(str(EXAMPLE))

    assert (done.returncode, done.stderr) == (0, "")
    head, *rows, end = done.stdout.splitlines()
    assert head.split() == ["map", "at", "most", "spots", "first", "ones"]
    assert end == "all as NumPy finds them"
    sizes = {row.split()[0]: [int(number) for number in row.split()[1:3]] for row in rows}
    assert list(sizes) == ["4x6", "48x64", "240x320", "1x1"]
    assert all(0 < spots <= most for most, spots in sizes.values())
    assert sizes["240x320"][0] == 240 * 320
    assert all("(0, 0)" in row for row in rows)


def test_a_difference_is_told() -> None:
    """Where the comparison fails the status is 1, and the last line says so."""
    done = run("-c", _LYING, str(EXAMPLE))

    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "NumPy finds others"


def test_it_uses_pyacl_alone() -> None:
    """A pyACL program imports acl, NumPy and the standard library."""
    imports = {line.split()[1].partition(".")[0] for line in EXAMPLE.read_text().splitlines()
               if line.startswith(("import ", "from "))}  # fmt: skip

    assert imports - {"__future__", *sys.stdlib_module_names} == {"acl", "numpy"}
