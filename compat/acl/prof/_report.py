"""The files that a profile leaves."""

from __future__ import annotations

import csv
import json
import os
from typing import TYPE_CHECKING, NamedTuple

import aacl

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ("ModelTimes", "Stamp", "StepTime", "write_marks", "write_times")

_OPERATORS = ("Model ID", "Model Name", "Run", "Op Name", "OP Type", "Thread", "Start Time(us)", "Task Duration(us)")
_STATISTICS = ("Model ID", "Model Name", "OP Type", "Count", "Total Time(us)", "Min Time(us)", "Avg Time(us)",
               "Max Time(us)", "Ratio(%)")  # fmt: skip
_STAMPS = ("pid", "tid", "event_type", "Message", "Start_time(us)", "End_time(us)")
_STEPS = ("Step ID", "Tag", "Stream ID", "Time(us)")


class ModelTimes(NamedTuple):
    """The executed operators of one model."""

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


def write_times(folder: Path, models: Sequence[ModelTimes]) -> None:
    """Write each execution, sums by operator type, and a timeline, of the models of one device."""
    folder.mkdir(parents=True, exist_ok=True)
    operators = (
        (model.model_id, model.name, node.run, node.name, node.op_type, node.thread, _us(node.start_ns),
         _us(node.end_ns - node.start_ns))
        for model in models for node in model.nodes
    )  # fmt: skip
    _write(folder / "op_summary.csv", _OPERATORS, operators)
    _write(folder / "op_statistic.csv", _STATISTICS, (row for model in models for row in _statistics(model)))
    events = [event for model in models for event in aacl.models.trace_events(model.nodes)]
    (folder / "trace.json").write_text(json.dumps({"traceEvents": events}), encoding="utf-8")


def write_marks(folder: Path, stamps: Sequence[Stamp], steps: Sequence[StepTime]) -> None:
    """Write what the program noted down itself, if it did."""
    folder.mkdir(parents=True, exist_ok=True)
    if stamps:
        process = os.getpid()
        rows = [
            (process, each.thread, each.kind, each.message, _us(each.start_ns), _us(each.end_ns)) for each in stamps
        ]
        _write(folder / "msprof_tx.csv", _STAMPS, rows)
    if steps:
        tags = ("start", "end")
        _write(folder / "step_trace.csv", _STEPS, [(e.step, tags[e.tag], e.stream, _us(e.time_ns)) for e in steps])


def _statistics(model: ModelTimes) -> Iterable[tuple[object, ...]]:
    found = aacl.models.summarize(model.nodes)
    whole = sum(each.total for each in found)
    for each in found:
        times = [round(seconds * 1e6, 3) for seconds in (each.total, each.shortest, each.mean, each.longest)]
        yield (
            model.model_id,
            model.name,
            each.op_type,
            each.executions,
            *times,
            round(100 * each.total / (whole or 1), 3),
        )


def _us(nanoseconds: int) -> str:
    """Return microseconds; as text, since a float does not hold a date to the nanosecond."""
    return f"{nanoseconds // 1000}.{nanoseconds % 1000:03}"


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
