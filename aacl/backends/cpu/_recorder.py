"""ONNX Runtime's own profile, as times of nodes.

A session writes its profile when the profile is ended, and never begins
another: whoever wants more opens a new session. Source: ONNX Runtime's
documentation, "Profiling tools"; times are microseconds since the profile began.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import warnings
import weakref
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aacl.abc import NodeTime
from aacl.backends.cpu.models import open_session

if TYPE_CHECKING:
    from aacl.backends.cpu._graph import Graph

__all__ = ("Recorder",)

_ENDING = "_kernel_time"
_MOST = 200_000
"""Events that a session collects: ONNX Runtime drops those beyond a million."""
_FIRST = 64
"""Runs until it is known how many events a run makes."""


class Recorder:
    """The profiles of one model, one session after the other. One thread uses it at a time."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._folder = tempfile.mkdtemp(prefix="aacl-profile-")
        # Not TemporaryDirectory, which warns where it is dropped: a graph that does not load leaves no one to close it.
        self._remove = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._numbers = count()
        self._session: Any = None
        self._is_over = False
        self._runs = self._before = 0
        self._limit = _FIRST
        self._taken: list[NodeTime] = []

    def session(self) -> Any:
        """Return the session for the next run."""
        if self._session is None:
            self._session = open_session(self._graph, str(Path(self._folder, f"profile{next(self._numbers)}")))
        return self._session

    def ran(self) -> None:
        """Take note of a run."""
        if self._is_over:
            return
        self._runs += 1
        if self._runs >= self._limit:
            self._collect()
            self._session = None

    def take(self, *, last: bool) -> list[NodeTime]:
        """Return what was recorded since it was taken before; with ``last`` nothing more is recorded."""
        if not self._is_over and (self._runs or (last and self._session is not None)):
            self._collect()
            if not last:
                self._session = None
        if last and not self._is_over:
            self._is_over = True
            self._remove()
        taken, self._taken = self._taken, []
        return taken

    def _collect(self) -> None:
        events = self._events()
        began = self._session.get_profiling_start_time_ns()
        times, runs = _times(events, began, self._before)
        self._taken += sorted(times, key=lambda time: (time.run, time.start_ns, -time.end_ns))
        self._limit = max(1, _MOST // (1 + len(events) // max(1, self._runs)))
        self._before, self._runs = runs if events else self._before + self._runs, 0

    def _events(self) -> list[dict[str, Any]]:
        """Read what ONNX Runtime wrote. Where somebody removed it the times are lost, and nothing else is."""
        try:
            path = Path(self._session.end_profiling())
            events: list[dict[str, Any]] = json.loads(path.read_bytes())
            path.unlink()
        except (OSError, ValueError) as error:
            warnings.warn(f"the times of {self._runs} runs are lost: their profile cannot be read ({error})",
                          RuntimeWarning, stacklevel=2)  # fmt: skip
            return []
        return events


def _times(events: list[dict[str, Any]], began_ns: int, run: int) -> tuple[list[NodeTime], int]:
    """Return the nodes among the events, and the number of the run after the last."""
    times = []
    for event in events:
        name: str = event["name"]
        if event["cat"] == "Session" and name == "model_run":  # it comes behind its nodes
            run += 1
        elif event["cat"] == "Node" and name.endswith(_ENDING):
            start = began_ns + event["ts"] * 1000
            op_type = event["args"].get("op_name", "")
            times.append(
                NodeTime(name.removesuffix(_ENDING), op_type, run, event["tid"], start, start + event["dur"] * 1000)
            )
    return times, run
