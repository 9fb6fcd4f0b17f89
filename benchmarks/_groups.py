"""The groups of measurements, each run in a process of its own."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from typing import cast

from benchmarks._result import Result, failed

__all__ = ("GROUPS", "run")

GROUPS = {
    "awaits": "awaiting a tiny Add",
    "compat": "the compat face",
    "models": "models",
    "concurrency": "long kernels",
    "copies": "large copies",
    "imports": "imports",
    "queues": "queued commands",
}
"""What each module of this package measures."""


def run(name: str) -> list[Result]:
    """Measure a group where nothing that another one loaded or left behind is felt.

    A group that breaks gives one line that says so, and counts as missed.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(_measure, name).result()
        except Exception as error:  # whatever it is, the other groups go on
            return [failed(GROUPS[name], f"{type(error).__name__}: {error}")]


def _measure(name: str) -> list[Result]:
    return cast("list[Result]", import_module(f"benchmarks.{name}").measure())
