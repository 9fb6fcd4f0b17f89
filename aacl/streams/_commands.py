"""The commands that are not device work: host calls, marks, waits. Each is the run of one queue entry."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from time import perf_counter
from typing import TYPE_CHECKING, Any

from aacl.errors import Aborted
from aacl.streams import _hosts
from aacl.streams._completion import Completion, here
from aacl.streams._queue import DETACHED, PARKED, CommandQueue
from aacl.streams._state import DONE, FAILED

if TYPE_CHECKING:
    from aacl.streams._event import Mark
    from aacl.streams._hosts import Executor

__all__ = ("EventWait", "HostCall", "record")


class HostCall:
    """A Python function in its place in the queue.

    It runs in a copy of the submitter's context, on a thread of the host pool
    or wherever the given executor runs it.
    """

    __slots__ = ("_arguments", "_blocks", "_context", "_executor", "_function", "completion")

    completion: Completion[Any]

    def __init__(
        self, function: Callable[..., object], arguments: tuple[Any, ...], executor: Executor | None, blocks: bool
    ) -> None:
        self._function, self._arguments = function, arguments
        self._executor, self._blocks = executor, blocks
        self._context = copy_context()

    def __call__(self) -> object:
        (self._executor or _hosts.host_pool).submit(self._run)
        return PARKED if self._blocks else DETACHED

    def _run(self) -> None:
        completion, queue = self.completion, self.completion._stream._queue
        previous, here.stream = here.stream, completion._stream if self._blocks else here.stream
        try:
            value = self._context.run(self._function, *self._arguments)
        except BaseException as error:  # it reaches whoever waits; this thread has nobody to raise to
            queue.fail(completion, error)
        else:
            completion._finish(DONE, value)
        finally:
            here.stream = previous
            del self.completion, self._function, self._arguments  # nothing of the program outlives its call
            if self._blocks:
                queue.resume()


class EventWait:
    """A stream's wait for a mark of another one."""

    __slots__ = ("_mark", "_once", "completion")

    completion: Completion[Any]

    def __init__(self, mark: Mark) -> None:
        self._mark = mark
        self._once = [True]  # popped by whoever ends the wait: the mark, or abort()

    def __call__(self) -> object:
        marked = self._mark.completion
        if marked.done():
            return None
        self._queue.parked = self
        marked._add_waiter(self._reached)
        return PARKED

    @property
    def _queue(self) -> CommandQueue:
        return self.completion._stream._queue

    def _reached(self, _: Completion[Any]) -> None:
        # A mark that abort() dropped releases its waiters too: they wait for an order, not for a result.
        if self._take():
            self._end(DONE, None)

    def abandon(self, cause: str) -> bool:
        """Fail the wait and let the stream go on; False when it is over already."""
        if not self._take():
            return False
        self._end(FAILED, Aborted(f"a wait for an event was dropped by {cause}"))
        return True

    def _take(self) -> bool:
        try:
            return self._once.pop()
        except IndexError:
            return False

    def _end(self, state: int, value: Any) -> None:
        queue = self._queue
        queue.parked = None
        self.completion._finish(state, value)
        queue.resume()


def record(mark: Mark) -> None:
    """Reach a mark."""
    mark.time = perf_counter()
