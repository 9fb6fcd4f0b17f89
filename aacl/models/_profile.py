"""How long the nodes of a model take."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, final

from aacl.models._observer import ModelObserver

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from aacl.abc import NodeTime
    from aacl.models._model import Model

__all__ = ("OperatorTimes", "Profile", "summarize", "trace_events")


class OperatorTimes(NamedTuple):
    """The executions of all nodes of one operator type."""

    op_type: str
    executions: int
    total: float
    """Seconds."""
    shortest: float
    """Seconds."""
    longest: float
    """Seconds."""

    @property
    def mean(self) -> float:
        """Seconds an execution."""
        return self.total / self.executions


@final
class Profile(ModelObserver):
    """The times of a model's nodes, as the device ran them: it fuses some and adds others, such as reorderings.

    ``async with Profile(model) as profile`` records the runs submitted in the block, on any
    stream; ``profile.nodes`` has their nodes. Profiled runs of one model take turns.
    Nodes inside a loop's or a branch's graph are recorded, too; their times are part of its own.

    Attributes:
        model: the model.
    """

    wants_times = True

    def __init__(self, model: Model) -> None:
        """Prepare a profile; entering or starting it begins it.

        Raises:
            InvalidArgument: it is no model.
        """
        super().__init__(model)
        self._nodes: list[NodeTime] = []
        self._lock = threading.Lock()

    @property
    def nodes(self) -> tuple[NodeTime, ...]:
        """What was recorded and not taken, in the order of runs and starts. It waits for a run that goes on."""
        self._collect()
        with self._lock:
            return tuple(self._nodes)

    def take(self) -> list[NodeTime]:
        """Return what was recorded since this was called last, and forget it; wait for a run that goes on.

        A run that follows is the first of a new session of the device, and slower: do not call it after every run.
        """
        self._collect()
        with self._lock:
            taken, self._nodes = self._nodes, []
        return taken

    def summary(self) -> tuple[OperatorTimes, ...]:
        """Return the times of each operator type, that of the largest total first."""
        return summarize(self.nodes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the times as a JSON file that trace viewers read (Chrome's trace event format).

        Raises:
            OSError: the file cannot be written.
        """
        Path(path).write_text(json.dumps({"traceEvents": trace_events(self.nodes)}), encoding="utf-8")

    def timed(self, times: Sequence[NodeTime]) -> None:
        """Take what was recorded."""
        with self._lock:
            self._nodes += times

    def _collect(self) -> None:
        if self._state == "started":
            self._observation.collect()


def summarize(nodes: Iterable[NodeTime]) -> tuple[OperatorTimes, ...]:
    """Return the times of each operator type, that of the largest total first."""
    groups: dict[str, list[float]] = {}
    for node in nodes:
        groups.setdefault(node.op_type, []).append(node.duration)
    found = [OperatorTimes(name, len(each), sum(each), min(each), max(each)) for name, each in groups.items()]
    return tuple(sorted(found, key=lambda times: -times.total))


def trace_events(nodes: Iterable[NodeTime]) -> list[dict[str, object]]:
    """Return the nodes as complete events of Chrome's trace event format; times are microseconds there."""
    process = os.getpid()
    return [
        {
            "name": node.name,
            "cat": node.op_type,
            "ph": "X",
            "ts": node.start_ns / 1000,
            "dur": (node.end_ns - node.start_ns) / 1000,
            "pid": process,
            "tid": node.thread,
            "args": {"op_type": node.op_type, "run": node.run},
        }
        for node in nodes
    ]
