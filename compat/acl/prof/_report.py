"""The files that a profile leaves, written in parts while it goes on."""

from __future__ import annotations

import csv
import json
import os
from typing import TYPE_CHECKING, NamedTuple

import aacl

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ("MarksFiles", "ModelTimes", "Stamp", "StepTime", "TimesFiles")

_OPERATORS = ("Model ID", "Model Name", "Run", "Op Name", "OP Type", "Thread", "Start Time(us)", "Task Duration(us)")
_STATISTICS = ("Model ID", "Model Name", "OP Type", "Count", "Total Time(us)", "Min Time(us)", "Avg Time(us)",
               "Max Time(us)", "Ratio(%)")  # fmt: skip
_STAMPS = ("pid", "tid", "event_type", "Message", "Start_time(us)", "End_time(us)")
_STEPS = ("Step ID", "Tag", "Stream ID", "Time(us)")


class ModelTimes(NamedTuple):
    """Executed operators of one model."""

    model_id: int
    name: str
    nodes: Sequence[aacl.abc.NodeTime]


class Stamp(NamedTuple):
    """What a program noted down about itself."""

    thread: int
    kind: str
    message: str
    start_ns: int
    end_ns: int


class StepTime(NamedTuple):
    """When a step of a training or a loop began or ended on a stream."""

    step: int
    tag: int
    stream: int
    time_ns: int


class TimesFiles:
    """The executed operators of one device: each execution, sums by operator type, and a timeline."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._operators, self._trace = _Table(folder / "op_summary.csv", _OPERATORS), folder / "trace.json"
        self._sums: dict[tuple[int, str], dict[str, aacl.models.OperatorTimes]] = {}
        self._has_events = False

    def add(self, times: ModelTimes) -> None:
        """Write some of a model's executions."""
        self._operators.add(
            (times.model_id, times.name, node.run, node.name, node.op_type, node.thread, _us(node.start_ns),
             _us(node.end_ns - node.start_ns))
            for node in times.nodes
        )  # fmt: skip
        sums = self._sums.setdefault((times.model_id, times.name), {})
        for each in aacl.models.summarize(times.nodes):
            sums[each.op_type] = _sum(sums.get(each.op_type), each)
        self._add_events(aacl.models.trace_events(times.nodes))

    def finish(self) -> None:
        """Write the sums, and what ends the other files."""
        self._operators.add(())
        rows = (row for (model_id, name), sums in self._sums.items() for row in _statistics(model_id, name, sums))
        _Table(self._folder / "op_statistic.csv", _STATISTICS).add(rows)
        self._add_events(())
        with self._trace.open("a", encoding="utf-8") as file:
            file.write("]}")

    def _add_events(self, events: Iterable[dict[str, object]]) -> None:
        is_new = not self._trace.exists()
        with self._trace.open("a", encoding="utf-8") as file:
            if is_new:
                file.write('{"traceEvents": [')
            for event in events:
                file.write((",\n" if self._has_events else "\n") + json.dumps(event))
                self._has_events = True


class MarksFiles:
    """What the program noted down itself: files that are there if it did."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stamps = _Table(folder / "msprof_tx.csv", _STAMPS)
        self._steps = _Table(folder / "step_trace.csv", _STEPS)

    def add(self, stamps: Sequence[Stamp], steps: Sequence[StepTime]) -> None:
        """Write some notes."""
        if stamps:
            process = os.getpid()
            self._stamps.add(
                (process, each.thread, each.kind, each.message, _us(each.start_ns), _us(each.end_ns)) for each in stamps
            )
        if steps:
            tags = ("start", "end")
            self._steps.add((each.step, tags[each.tag], each.stream, _us(each.time_ns)) for each in steps)

    def finish(self) -> None:
        """Make the folder, whether there is something in it or not."""
        self._folder.mkdir(parents=True, exist_ok=True)


class _Table:
    """A file of rows, which come in parts."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self._path, self._columns = path, columns

    def add(self, rows: Iterable[Sequence[object]]) -> None:
        """Write rows, the first time below the names of the columns."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            if not file.tell():
                writer.writerow(self._columns)
            writer.writerows(rows)


def _sum(old: aacl.models.OperatorTimes | None, new: aacl.models.OperatorTimes) -> aacl.models.OperatorTimes:
    """Return the times of both together."""
    if old is None:
        return new
    return aacl.models.OperatorTimes(
        new.op_type,
        old.executions + new.executions,
        old.total + new.total,
        min(old.shortest, new.shortest),
        max(old.longest, new.longest),
    )


def _statistics(model_id: int, name: str, sums: dict[str, aacl.models.OperatorTimes]) -> Iterable[tuple[object, ...]]:
    found = sorted(sums.values(), key=lambda times: -times.total)
    whole = sum(each.total for each in found)
    for each in found:
        times = [round(seconds * 1e6, 3) for seconds in (each.total, each.shortest, each.mean, each.longest)]
        yield (model_id, name, each.op_type, each.executions, *times, round(100 * each.total / (whole or 1), 3))


def _us(nanoseconds: int) -> str:
    """Return microseconds; as text, since a float does not hold a date to the nanosecond."""
    return f"{nanoseconds // 1000}.{nanoseconds % 1000:03}"
