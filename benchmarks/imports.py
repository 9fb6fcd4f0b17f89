"""What importing costs, each time in a process of its own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

from benchmarks._harness import Side, Spread, alternate
from benchmarks._result import Result, at_most

__all__ = ("measure",)

ROUNDS = 15

_PROGRAM = """
import json, os, sys, threading, time
began = time.perf_counter()
import {module}
elapsed = time.perf_counter() - began
tasks = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else threading.active_count()
print(json.dumps({{"elapsed": elapsed, "tasks": tasks, "python": threading.active_count(),
                   "asyncio": "asyncio" in sys.modules}}))
"""


def measure() -> list[Result]:
    """Measure ``import aacl`` and ``import acl`` beside ``import numpy``."""
    return asyncio.run(_measure())


async def _measure() -> list[Result]:
    facts = {name: _import(name) for name in ("numpy", "aacl", "acl")}  # also writes byte code, where there is none
    samples = await alternate({name: _side(name) for name in facts}, ROUNDS)
    results = []
    for name in ("aacl", "acl"):
        detail = ", ".join(f"{each} {samples.median(each) * 1e3:.0f} ms" for each in (name, "numpy"))
        loaded = "asyncio comes with it" if facts[name]["asyncio"] else "without asyncio"
        results.append(at_most(f"import {name} / import numpy", samples.ratio(name, "numpy"), 1.5, "×",
                               f"{detail}; {loaded}"))  # fmt: skip
        more = facts[name]["tasks"] - facts["numpy"]["tasks"]
        results.append(at_most(f"threads started by import {name}", Spread(more, more, more), 0, "threads",
                               f"{facts[name]['tasks']} in the process, NumPy's own included"))  # fmt: skip
    return results


def _side(module: str) -> Side:
    return lambda: float(_import(module)["elapsed"])


def _import(module: str) -> dict[str, float]:
    program = _PROGRAM.format(module=module)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    facts: dict[str, float] = json.loads(done.stdout)
    return facts
