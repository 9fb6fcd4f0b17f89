"""Programs in processes of their own: for crashes, hangs, signals and the end of the interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import NamedTuple

PREAMBLE = """\
import asyncio, os, signal, sys, threading
import numpy as np
import aacl
from aacl import blocking, memory, ops
"""


class Finished(NamedTuple):
    """How a program ended: its exit status (negative: the signal that killed it) and what it said."""

    status: int
    output: str
    errors: str


def run_python(program: str, *, timeout: float = 10.0, warnings: str = "error", **environment: str) -> Finished:
    """Run a program after the usual imports and return how it ended; one that does not end fails the test.

    Args:
        program: its source.
        timeout: seconds.
        warnings: what becomes of warnings, as for ``python -W``; "" leaves it to Python.
        **environment: variables to set, beside those of this process.
    """
    source = PREAMBLE + textwrap.dedent(program)
    plain = {name: value for name, value in os.environ.items() if not name.startswith("AACL_")}
    try:
        done = subprocess.run(
            [sys.executable, *(("-W", warnings) if warnings else ()), "-c", source],
            capture_output=True,
            text=True,
            timeout=timeout,
            env=plain | environment,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise AssertionError(
            f"the program did not end in {timeout} s; it said {late.stdout!r}, {late.stderr!r}"
        ) from None
    return Finished(done.returncode, done.stdout.strip(), done.stderr.strip())
