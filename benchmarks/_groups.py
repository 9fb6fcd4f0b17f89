"""The groups of measurements, each run in a process of its own."""

from __future__ import annotations

import traceback
from importlib import import_module
from multiprocessing import get_context
from typing import TYPE_CHECKING, cast

from benchmarks._result import failed

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from benchmarks._result import Result

__all__ = ("GROUPS", "run")

GROUPS = {
    "awaits": "awaiting a tiny Add",
    "compat": "the compat face",
    "models": "models",
    "real_models": "runs of models, both faces",
    "requests": "requests in flight, and chains",
    "loading": "loading models, and memory over many runs",
    "aipp": "pictures",
    "concurrency": "long kernels",
    "copies": "large copies",
    "operators": "operators",
    "own_kernels": "own kernels",
    "imports": "imports",
    "queues": "queued commands",
}
"""What each module of this package measures."""
LIMIT_SECONDS = 180


def run(name: str) -> list[Result]:
    """Measure a group where nothing that another one loaded or left behind is felt.

    A group that breaks or hangs gives one line that says so, and counts as missed.
    """
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(name, sender))
    process.start()
    sender.close()  # ours: once the process has ended too, `recv` does not wait for ever
    try:
        answer = receiver.recv() if receiver.poll(LIMIT_SECONDS) else f"it was not over after {LIMIT_SECONDS} s"
    except EOFError:
        process.join()
        answer = f"its process ended with status {process.exitcode}"
    if process.is_alive() and isinstance(answer, str):
        process.kill()
    process.join()
    return [failed(GROUPS[name], answer)] if isinstance(answer, str) else cast("list[Result]", answer)


def _measure(name: str, sender: Connection) -> None:
    """Send a group's lines, or what it broke with."""
    try:
        sender.send(import_module(f"benchmarks.{name}").measure())
    except Exception as error:  # whatever it is, the other groups go on
        traceback.print_exc()
        sender.send(f"{type(error).__name__}: {error}")
