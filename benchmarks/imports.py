"""What importing costs, each time in a process of its own.

`aacl` loads its rooms when their names are first used, so the plain import says little: a second
line imports it and uses a name of every room that a program with one operator needs.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

from benchmarks._harness import Side, Spread, alternate
from benchmarks._result import Result, at_most, compared

__all__ = ("environment", "measure")

ROUNDS = 15

STATEMENTS = {
    "import numpy": "import numpy",
    "import aacl": "import aacl",
    "import aacl, with its rooms": "import aacl; aacl.Device, aacl.Stream, aacl.Tensor, aacl.empty, aacl.ops.Add",
    "import acl": "import acl",
    "import acl.rt, acl.op, acl.mdl": "import acl.rt, acl.op, acl.mdl",
}

BARS = ("import aacl", "import acl")

_PROGRAM = """
import json, os, sys, threading, time
def tasks():
    return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else threading.active_count()
began = time.perf_counter()
{statement}
elapsed, loop = time.perf_counter() - began, "asyncio" in sys.modules
import numpy
print(json.dumps({{"elapsed": elapsed, "tasks": tasks(), "asyncio": loop}}))
"""


def measure() -> list[Result]:
    """Measure importing `aacl` and `acl` beside importing NumPy, and count the threads afterwards."""
    return asyncio.run(_measure())


async def _measure() -> list[Result]:
    facts = {name: _run(statement) for name, statement in STATEMENTS.items()}  # also writes byte code, if need be
    samples = await alternate({name: _side(statement) for name, statement in STATEMENTS.items()}, ROUNDS)
    bare, *ours = STATEMENTS
    results = []
    for name in ours:
        times = ", ".join(f"{samples.median(each) * 1e3:.0f} ms" for each in (name, bare))
        loaded = "with asyncio" if facts[name]["asyncio"] else "without asyncio"
        ratio, label, detail = samples.ratio(name, bare), f"{name} / {bare}", f"{times}; {loaded}"
        results.append(
            at_most(label, ratio, 1.5, detail=detail) if name in BARS else compared(label, ratio, detail=detail)
        )
    more = max(facts[name]["tasks"] for name in ours) - facts[bare]["tasks"]
    detail = f"the process has {facts[bare]['tasks']} with NumPy alone"
    return [*results, at_most("threads started by any of these", Spread(more, more, more), 0, "threads", detail)]


def environment() -> dict[str, str]:
    """Return this process's environment without what keeps Python from keeping byte code.

    A package that is compiled at each import would be compared with a NumPy that was compiled when it was installed.
    """
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _side(statement: str) -> Side:
    return lambda: float(_run(statement)["elapsed"])


def _run(statement: str) -> dict[str, Any]:
    """Run a statement in a new process and return what it took, and the threads there once NumPy is loaded too."""
    command = [sys.executable, "-c", _PROGRAM.format(statement=statement)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts
