"""The pyACL way: the blocking, handle-style calls of existing scripts, on one stream."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any, Self

import numpy as np

import acl
from labelling.labels import Label, Labeller, Scores, batches
from labelling.outcome import Outcome
from labelling.timeline import Span

__all__ = ("label_by_acl",)

ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST = 1, 2
ACL_MEM_MALLOC_HUGE_FIRST = 0
DEVICE = 0


def check(ret: int, what: str) -> None:
    """Stop with the runtime's own text if a call failed."""
    if ret != 0:
        raise RuntimeError(f"{what} failed with {ret}: {acl.get_recent_err_msg()}")


def checked(result: tuple[Any, int], what: str) -> Any:
    """Return the value of a (value, ret) pair."""
    value, ret = result
    check(ret, what)
    return value


def label_by_acl(labeller: Labeller, om: Path, paths: Sequence[Path], rounds: int) -> Outcome:
    """Label files ``rounds`` times with a converted model."""
    outcome, began = Outcome("acl"), perf_counter()
    with LegacyWay(labeller, om) as way:
        outcome.ready = perf_counter() - began
        for _ in range(rounds):
            began = perf_counter()
            labels = way.label(paths)
            outcome.add(labels, perf_counter() - began, way.spans)
    return outcome


class LegacyWay:
    """Labels files as a pyACL script does: one buffer in, one out, copy, execute, copy.

    Attributes:
        spans: what the stream did in the latest call of `label`.
    """

    def __init__(self, labeller: Labeller, om: Path) -> None:
        """Prepare the script; entering it takes the device and loads the model."""
        self._labeller, self._om = labeller, om
        self.spans: list[Span] = []

    def __enter__(self) -> Self:
        check(acl.init(), "acl.init")
        check(acl.rt.set_device(DEVICE), "acl.rt.set_device")
        self._stream = checked(acl.rt.create_stream(), "acl.rt.create_stream")
        self._model = checked(acl.mdl.load_from_file(str(self._om)), "acl.mdl.load_from_file")
        self._desc = acl.mdl.create_desc()
        check(acl.mdl.get_desc(self._desc, self._model), "acl.mdl.get_desc")
        self._in_size = acl.mdl.get_input_size_by_index(self._desc, 0)
        self._out_size = acl.mdl.get_output_size_by_index(self._desc, 0)
        self._pointers: list[int] = []
        self._datasets = [self._dataset(size) for size in (self._in_size, self._out_size)]
        self._events = [checked(acl.rt.create_event(), "acl.rt.create_event") for _ in range(5)]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for event in self._events:
            check(acl.rt.destroy_event(event), "acl.rt.destroy_event")
        for dataset in self._datasets:
            check(acl.destroy_data_buffer(acl.mdl.get_dataset_buffer(dataset, 0)), "acl.destroy_data_buffer")
            check(acl.mdl.destroy_dataset(dataset), "acl.mdl.destroy_dataset")
        for pointer in self._pointers:
            check(acl.rt.free(pointer), "acl.rt.free")
        check(acl.mdl.destroy_desc(self._desc), "acl.mdl.destroy_desc")
        check(acl.mdl.unload(self._model), "acl.mdl.unload")
        check(acl.rt.destroy_stream(self._stream), "acl.rt.destroy_stream")
        check(acl.rt.reset_device(DEVICE), "acl.rt.reset_device")
        check(acl.finalize(), "acl.finalize")

    def label(self, paths: Sequence[Path]) -> list[Label]:
        """Label files, in their order."""
        self.spans = []
        found: list[Label] = []
        origin = checked(acl.rt.create_event(), "acl.rt.create_event")
        self._record(origin)
        for number, some in enumerate(batches(paths)):
            found += self._run(number, some, origin)
        check(acl.rt.destroy_event(origin), "acl.rt.destroy_event")
        return found

    def _run(self, number: int, paths: Sequence[Path], origin: int) -> list[Label]:
        events = self._events
        self._record(events[0])
        batch = self._labeller.read(paths)
        self._record(events[1])
        data = batch.rows.tobytes()
        check(acl.rt.memcpy(self._pointers[0], self._in_size, acl.util.bytes_to_ptr(data), len(data),
                            ACL_MEMCPY_HOST_TO_DEVICE), "acl.rt.memcpy")  # fmt: skip
        self._record(events[2])
        source, target = self._datasets
        check(acl.mdl.execute_async(self._model, source, target, self._stream), "acl.mdl.execute_async")
        self._record(events[3])
        check(acl.rt.synchronize_stream(self._stream), "acl.rt.synchronize_stream")
        scores = self._scores()
        self._record(events[4])
        check(acl.rt.synchronize_stream(self._stream), "acl.rt.synchronize_stream")
        self._keep_spans(number, origin)
        return self._labeller.name(batch, scores)

    def _scores(self) -> Scores:
        result = bytes(self._out_size)
        check(acl.rt.memcpy(acl.util.bytes_to_ptr(result), self._out_size, self._pointers[1], self._out_size,
                            ACL_MEMCPY_DEVICE_TO_HOST), "acl.rt.memcpy")  # fmt: skip
        return np.frombuffer(result, np.float32).reshape(-1, self._labeller.classes)

    def _dataset(self, size: int) -> int:
        pointer = checked(acl.rt.malloc(size, ACL_MEM_MALLOC_HUGE_FIRST), "acl.rt.malloc")
        self._pointers.append(pointer)
        dataset: int = acl.mdl.create_dataset()
        checked(acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(pointer, size)), "add_dataset_buffer")
        return dataset

    def _record(self, event: int) -> None:
        check(acl.rt.record_event(event, self._stream), "acl.rt.record_event")

    def _keep_spans(self, number: int, origin: int) -> None:
        times = [checked(acl.rt.event_elapsed_time(origin, each), "acl.rt.event_elapsed_time") for each in self._events]
        for kind, (begin, end) in zip(("read", "copy in", "model", "copy out"), pairwise(times), strict=True):
            self.spans.append(Span("stream", kind, number, begin / 1e3, end / 1e3))
