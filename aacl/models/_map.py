"""A model over many items: read ahead, put into groups, run on several streams, given back in order.

One task reads the items and submits a run for each group, as far ahead as there
is room. The generator, in the task of who uses it, waits for the oldest run and
hands out its rows. Whatever ends the generator ends that task, which closes the
items; then the streams that were opened for it are closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import AsyncExitStack, suppress
from itertools import count, cycle
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from aacl._closing import shield
from aacl._number import whole
from aacl.errors import ClosedResource, InvalidArgument
from aacl.models._group_runs import GroupRun, GroupRuns
from aacl.models._groups import Entries, Group
from aacl.models._source import Source, check_items
from aacl.streams._stream import Stream

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, Iterator, Sequence

    from aacl.models._model import Model

__all__ = ("Mapped",)

T = TypeVar("T")


class Mapped(Generic[T]):
    """What `Model.map` was asked for; `results` does it."""

    __slots__ = ("_entries", "_items", "_keeps_errors", "_model", "_streams", "_workers")

    def __init__(
        self,
        model: Model,
        items: AsyncIterable[T] | Iterable[T],
        *,
        batch: int | None,
        workers: int,
        streams: Iterable[Stream] | None,
        return_exceptions: bool,
    ) -> None:
        """Check everything that can be checked without the items; see `Model.map` for arguments and errors."""
        check_items(items)
        self._model, self._items, self._keeps_errors = model, items, return_exceptions
        self._entries = Entries(model, None if batch is None else whole(batch, "a batch"))
        self._streams = None if streams is None else _checked_streams(streams, model)
        self._workers = whole(workers, "the number of workers") if self._streams is None else len(self._streams)
        if self._workers < 1:
            raise InvalidArgument(f"map() needs at least 1 worker, or 1 stream; {self._workers} were given")

    async def results(self) -> AsyncGenerator[tuple[T, Any], None]:
        """Yield each item with its result."""
        async with AsyncExitStack() as stack:
            runs = GroupRuns(self._model, self._entries.rows)
            streams = self._streams or [await self._opened(stack) for _ in range(self._workers)]
            reader: _Reader[T] = _Reader(self._entries, runs, streams, stops=not self._keeps_errors)
            reading = asyncio.create_task(reader.read(self._items))
            stack.push_async_callback(_end, reading)
            while (run := await reader.submitted.get()) is not None:
                for entry, result in zip(run.group.entries, await runs.results(run), strict=True):
                    if isinstance(result, Exception) and not self._keeps_errors:
                        raise result
                    yield entry.item, result
                reader.room.release()
            await reading

    async def _opened(self, stack: AsyncExitStack) -> Stream:
        stream = await Stream(self._model.context).open()
        stack.push_async_callback(_close, stream)
        return stream


class _Reader(Generic[T]):
    """Reads items, and submits the runs of their groups to the streams in turn.

    Attributes:
        submitted: the runs in order, and None behind the last one.
        room: for groups that may be read and not be handed out wholly: one more than there are streams.
    """

    __slots__ = ("_entries", "_runs", "_stops", "_streams", "room", "submitted")

    def __init__(self, entries: Entries, runs: GroupRuns, streams: Sequence[Stream], *, stops: bool) -> None:
        """Prepare to read; with ``stops`` nothing is read behind an item that does not fit."""
        self._entries, self._runs, self._stops = entries, runs, stops
        self._streams: Iterator[Stream] = cycle(streams)
        self.submitted: asyncio.Queue[GroupRun | None] = asyncio.Queue()
        self.room = asyncio.Semaphore(len(streams) + 1)

    async def read(self, items: AsyncIterable[T] | Iterable[T]) -> None:
        """Read to the end, or to a failure, which is raised, and close the items if they are a generator."""
        try:
            source = Source(items)
            try:
                await self._read(source)
            finally:
                await source.aclose()
        finally:
            self.submitted.put_nowait(None)

    async def _read(self, source: Source[T]) -> None:
        group = await self._begun()
        try:
            for place in count():
                entry = self._entries.entry(await source.read(), place)
                if not group.takes(entry):
                    await self._submit(group)
                    group = await self._begun()
                group.add(entry)
                if entry.error is not None and self._stops:
                    break
                if group.is_full:
                    await self._submit(group)
                    group = await self._begun()
        except StopAsyncIteration:
            pass
        except Exception:
            await self._submit(group)
            raise
        await self._submit(group)

    async def _begun(self) -> Group[T]:
        """Return a new group, once there is room: nothing is read for it before."""
        await self.room.acquire()
        return Group()

    async def _submit(self, group: Group[T]) -> None:
        if group.entries:
            self.submitted.put_nowait(await self._runs.submit(group, next(self._streams)))


async def _end(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end; further cancellations go to it first. Raises what it then failed with."""
    if task.done():
        return
    held: BaseException | None = None
    task.cancel()
    while not task.done():
        with shield():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as cancelled:
                held = cancelled
                task.cancel()
    failure = held or (None if task.cancelled() else task.exception())
    if failure is not None:
        raise failure


async def _close(stream: Stream) -> None:
    """Close a stream that was opened for the runs, and drop those that have not begun."""
    with suppress(ClosedResource):  # with its context, or its model's
        stream.abort_nowait()
    await stream.aclose()


def _checked_streams(streams: Iterable[Stream], model: Model) -> list[Stream]:
    if isinstance(streams, Stream) or not isinstance(streams, Iterable):
        raise InvalidArgument(f"map() runs on streams, several of them; an iterable is wanted, not {streams!r}")
    found = list(streams)
    for stream in found:
        if not isinstance(stream, Stream):
            raise InvalidArgument(f"map() runs on streams, not on a {type(stream).__name__}")
        stream._check_open("map a model on")
        model._check_runs_on(stream._memory)
    return found
