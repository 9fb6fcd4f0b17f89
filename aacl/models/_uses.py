"""Who uses a model: runs that wait in streams, and runs that go on. Closing the model waits for them.

Whoever stops using the model leaves a set and then looks whether a closing
waits; a closing registers itself and then looks at the sets. Neither side needs
a lock, and leaving twice is harmless, so that an interrupt in between leaves
nothing behind that would be waited for.
"""

from __future__ import annotations

import threading
from concurrent import futures
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Generator, Hashable

    from aacl.streams._completion import Completion

__all__ = ("Ending", "ModelStatistics", "Tally", "Uses")


class ModelStatistics(NamedTuple):
    """A model at one moment."""

    runs: int
    """Runs that ended well."""
    errors: int
    """Runs that failed."""
    cancelled: int
    """Waits for `Model.infer` that were cancelled; the runs themselves go on, and are counted as runs."""
    queued: int
    """Runs that streams hold: those that have not started, and those that workers run now."""
    graph_nbytes: int
    """Bytes of the graph, weights included."""


class Uses:
    """The uses of one model, now and in sum.

    Attributes:
        pending: the commands of runs that are in a stream's queue, or that a worker runs.
        running: what runs at this moment, on whatever thread.
        dropped: whether runs that have not started are not to start any more.
        endings: what waits for the last use.
        runs: how many ended well.
        errors: how many failed.
        cancelled: how many waits for an inference were cancelled.
    """

    __slots__ = ("cancelled", "dropped", "endings", "errors", "pending", "running", "runs")

    def __init__(self) -> None:
        self.pending: set[Completion[Any]] = set()
        self.running: set[Hashable] = set()
        self.dropped = False
        self.endings: list[Ending] = []
        self.runs, self.errors, self.cancelled = Tally(), Tally(), Tally()

    def queue(self, command: Completion[Any]) -> None:
        """Take note of a queued run, until it is over in one way or the other."""
        self.pending.add(command)

    def leave_queue(self, command: Completion[Any]) -> None:
        """Take note that a queued run is over."""
        self.pending.discard(command)
        if self.endings:
            self.look()

    def statistics(self, graph_nbytes: int) -> ModelStatistics:
        """Return the numbers now, for a graph of that size."""
        numbers = self.runs.value, self.errors.value, self.cancelled.value
        return ModelStatistics(*numbers, len(self.pending), graph_nbytes)

    def settle(self, drop: bool) -> Ending:
        """Return what is reached once nobody uses the model; with ``drop``, once nothing runs."""
        self.dropped = self.dropped or drop
        ending = Ending()
        self.endings.append(ending)
        self.look()
        return ending

    def look(self) -> None:
        """Reach the endings, if the last use is over."""
        if self.running or (self.pending and not self.dropped):
            return
        while self.endings:
            try:
                ending = self.endings.pop()
            except IndexError:
                return
            ending.reach()


class Ending:
    """The moment when nobody uses a model any more, to be awaited or blocked for."""

    __slots__ = ("_future",)

    def __init__(self) -> None:
        self._future: futures.Future[None] = futures.Future()
        self._future.set_running_or_notify_cancel()  # so that cancelling a wait leaves it alone

    def reach(self) -> None:
        """Let everybody go on who waits; once."""
        self._future.set_result(None)

    def done(self) -> bool:
        return self._future.done()

    def wait(self, timeout: float | None = None, *, block_loop: bool = False) -> bool:  # noqa: ARG002 - closing decided
        """Block this thread, an interrupt being let through; return whether the moment has come."""
        return bool(futures.wait((self._future,), timeout).done)

    def __await__(self) -> Generator[Any, None, None]:
        from asyncio import wrap_future

        return wrap_future(self._future).__await__()


class Tally:
    """A number that threads step at the same time, at the cost of one call.

    Attributes:
        step: add one; what it returns means nothing.
    """

    __slots__ = ("_lock", "_looks", "step")

    def __init__(self) -> None:
        self.step = count().__next__
        self._lock, self._looks = threading.Lock(), 0

    @property
    def value(self) -> int:
        """How often it was stepped."""
        with self._lock:
            steps = self.step() - self._looks  # looking is a step too
            self._looks += 1
            return steps
