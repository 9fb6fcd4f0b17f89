"""The commands that are not device work: host calls, marks, waits. Each is the run of one queue entry."""

from __future__ import annotations

import threading
from contextlib import suppress
from contextvars import copy_context
from time import perf_counter
from typing import TYPE_CHECKING, Any

from aacl.errors import Aborted, EventTimeout
from aacl.streams import _hosts
from aacl.streams._queue import DETACHED, PARKED, CommandQueue
from aacl.streams._waiting import here

if TYPE_CHECKING:
    from collections.abc import Callable

    from aacl.streams._claim import Token
    from aacl.streams._completion import Completion
    from aacl.streams._event import Mark
    from aacl.streams._hosts import Executor

__all__ = ("Barrier", "EventWait", "HostCall", "Seal", "record")


class HostCall:
    """A Python function in its place in the queue.

    It runs in a copy of the submitter's context, on a thread of the host pool
    or wherever the given executor runs it.
    """

    __slots__ = ("_arguments", "_blocks", "_context", "_executor", "_function", "_token", "completion")

    completion: Completion[Any]

    def __init__(
        self, function: Callable[..., object], arguments: tuple[Any, ...], executor: Executor | None, blocks: bool
    ) -> None:
        self._function, self._arguments = function, arguments
        self._executor, self._blocks = executor, blocks
        self._context = copy_context()

    def __call__(self, token: Token) -> object:
        self._token = token
        detached = self.completion._stream._queue.detached
        if not self._blocks:
            detached.add(self.completion)
        try:
            promised = (self._executor or _hosts.host_pool).submit(self._run)
        except BaseException:
            detached.discard(self.completion)
            raise
        if hasattr(promised, "add_done_callback"):  # a future of concurrent.futures, which may be cancelled
            promised.add_done_callback(self._given_up)
        return PARKED if self._blocks else DETACHED

    def _given_up(self, promised: Any) -> None:
        """Fail the call if its executor was shut down before it came to it."""
        if promised.cancelled():
            self._function, self._arguments = _refuse, (self._executor,)
            self._run()

    def _run(self) -> None:
        completion, queue = self.completion, self.completion._stream._queue
        previous, here.stream = here.stream, completion._stream if self._blocks else here.stream
        try:
            value = self._context.run(self._function, *self._arguments)
        except BaseException as error:  # it reaches whoever waits; this thread has nobody to raise to
            queue.fail(completion, error)
        else:
            completion._succeed(value)
        finally:
            here.stream = previous
            token = self._token
            del self.completion, self._function, self._arguments, self._token  # nothing of it outlives the call
            if self._blocks:
                queue.resume(token)
            else:
                queue.detached.discard(completion)
            del token  # the call's error keeps this frame, and a token that is referred to is never found lost
            completion._wake()


def _refuse(executor: object) -> None:
    raise Aborted(f"{executor!r} gave a host call up before it ran")


class EventWait:
    """A stream's wait for a mark of another one, for some seconds or as long as it takes."""

    __slots__ = ("_mark", "_once", "_timeout", "_timer", "_token", "completion")

    completion: Completion[Any]

    def __init__(self, mark: Mark, timeout: float | None = None) -> None:
        self._mark, self._timeout = mark, timeout
        self._timer: threading.Timer | None = None
        self._once = [True]  # popped by whoever ends the wait: the mark, abort(), or the timer

    def __call__(self, token: Token) -> object:
        marked = self._mark.completion
        if marked.done():
            return None
        self._token = token
        if self._timeout is not None:
            self._timer = threading.Timer(min(self._timeout, threading.TIMEOUT_MAX), self._expire)
        self._queue.parked = self
        if self._timer is not None:
            self._start(self._timer)
        marked._add_waiter(self._reached)
        return PARKED

    def _start(self, timer: threading.Timer) -> None:
        timer.daemon, timer.name = True, "aacl-event-wait"
        try:
            timer.start()  # which ends at once if the wait was abandoned, and the timer cancelled, by now
        except BaseException:  # no thread is left: the wait fails, and the stream goes on
            self._queue.parked = None
            del self._token
            raise

    @property
    def _queue(self) -> CommandQueue:
        return self.completion._stream._queue

    def _reached(self, _: Completion[Any]) -> None:
        # A mark that abort() dropped releases its waiters too: they wait for an order, not for a result.
        if self._take():
            self._end(None)

    def abandon(self, cause: str) -> bool:
        """Fail the wait and let the stream go on; False when it is over already."""
        if not self._take():
            return False
        self._end(Aborted(f"a wait for an event was dropped by {cause}"))
        return True

    def _expire(self) -> None:
        if self._take():
            self._mark.completion._remove_waiter(self._reached)
            where = self.completion._stream._describe()
            self._end(EventTimeout(f"{where} waited {self._timeout:g} s for an event that was not reached"))

    def _take(self) -> bool:
        try:
            return self._once.pop()
        except IndexError:
            return False

    def _end(self, error: Aborted | EventTimeout | None) -> None:
        queue = self._queue
        queue.parked = None
        if self._timer is not None:
            self._timer.cancel()
        if error is None:
            self.completion._succeed(None)
        elif isinstance(error, EventTimeout):
            queue.fail(self.completion, error)
        else:
            self.completion._fail(error)
        token = self._token
        del self._token
        queue.resume(token)
        self.completion._wake()


class Barrier:
    """Be over when everything before it is, host calls that the stream did not wait for included."""

    __slots__ = ("_waits_for_detached", "completion")

    completion: Completion[Any]

    def __init__(self, *, detached: bool = True) -> None:
        self._waits_for_detached = detached

    def __call__(self, token: Token) -> object:  # noqa: ARG002 - every command is called with it
        pending = list(self.completion._stream._queue.detached) if self._waits_for_detached else []
        if not pending:
            return None
        left, last = [True] * len(pending), [True]  # popped: by each call that ends, and by the last of them

        def over(_: Completion[Any]) -> None:
            left.pop()
            if not left and last:
                with suppress(IndexError):
                    last.pop()
                    self.completion._succeed(None)
                    self.completion._wake()

        for call in pending:
            call._add_waiter(over)
        return DETACHED


class Seal(Barrier):
    """The last command of a stream: it keeps the claim for ever."""

    __slots__ = ("_token",)

    def __call__(self, token: Token) -> object:
        self._token = token
        queue = self.completion._stream._queue
        queue.sealed = True
        queue.refuse_late()
        if super().__call__(token) is not DETACHED:
            self.completion._succeed(None)
            self.completion._wake()
        return PARKED


def record(mark: Mark, token: Token | None = None) -> None:  # noqa: ARG001 - every command is called with it
    """Reach a mark."""
    mark.time = perf_counter()
