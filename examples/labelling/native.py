"""The native way: `aacl` on two streams; whichever is free takes the next batch."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import aacl
from labelling.labels import Label, Labeller, batches
from labelling.outcome import Outcome
from labelling.timeline import Span

__all__ = ("label_natively",)

KINDS = ("read", "copy in", "model", "copy out")


async def label_natively(labeller: Labeller, om: Path, paths: Sequence[Path], rounds: int) -> Outcome:
    """Label files ``rounds`` times with a converted model."""
    outcome, began = Outcome("native"), perf_counter()
    async with aacl.Device(0), aacl.Model(om) as model, aacl.Stream() as one, aacl.Stream() as other:
        outcome.ready = perf_counter() - began
        way = NativeWay(labeller, model, (one, other))
        for _ in range(rounds):
            began = perf_counter()
            labels = await way.label(paths)
            outcome.add(labels, perf_counter() - began, way.spans)
    return outcome


class NativeWay:
    """Labels files with a model, on streams that read and compute at the same time.

    Attributes:
        spans: what the streams did in the latest call of `label`.
    """

    def __init__(self, labeller: Labeller, model: aacl.Model, streams: Sequence[aacl.Stream]) -> None:
        """Work with a model and streams that are open."""
        self._labeller, self._model, self._streams = labeller, model, streams
        self.spans: list[Span] = []

    async def label(self, paths: Sequence[Path]) -> list[Label]:
        """Label files, in their order."""
        self.spans = []
        found: dict[int, list[Label]] = {}
        work = enumerate(batches(paths))
        async with asyncio.TaskGroup() as group:
            for number, stream in enumerate(self._streams, 1):
                group.create_task(self._run(f"stream {number}", stream, work, found))
        return [label for number in sorted(found) for label in found[number]]

    async def _run(
        self, row: str, stream: aacl.Stream, work: Iterator[tuple[int, Sequence[Path]]], found: dict[int, list[Label]]
    ) -> None:
        for number, paths in work:
            marks = [stream.record_event()]
            batch = await stream.call(self._labeller.read, paths)  # host code in its place in the queue, off the loop
            marks.append(stream.record_event())
            features = await stream.to_device(batch.rows)
            marks.append(stream.record_event())
            output = stream.execute(self._model(features))  # only submitted: the copy below waits behind it
            marks.append(stream.record_event())
            scores = await stream.to_host(output)
            marks.append(stream.record_event())
            await marks[-1]
            found[number] = self._labeller.name(batch, scores)
            for kind, (begin, end) in zip(KINDS, pairwise(marks), strict=True):
                self.spans.append(Span(row, kind, number, begin.time, end.time))
