"""What belongs to a thread: its context and last error, the calls it reports, and threads that programs start.

A report queue is the executor of a stream's callbacks: the stream puts a call
in, the subscribed thread takes it out in ``process_report``. Once the queue is
closed nobody will, so calls run where they are put, and fail at once.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from aacl.errors import InvalidArgument, WouldBlock

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = (
    "Here",
    "ReportQueue",
    "drop_queue",
    "here",
    "hold_interrupt",
    "is_alive",
    "known_queue",
    "report_queue",
    "reporting_threads",
    "settle",
    "start",
    "stop",
)


class Settling(Protocol):
    """What a thread may wait for: a command, or an event."""

    def done(self) -> bool: ...
    def wait(self, timeout: float | None = None, *, block_loop: bool = False) -> bool: ...


class Here(threading.local):
    """One thread's part of the runtime's state.

    Attributes:
        context: the current context, which may have been closed meanwhile.
        error: the code of the last call that failed.
        text: what went wrong then, until it is read.
        task: the number of the task that it submitted last, or 0.
        callbacks: the streams whose callbacks this thread runs now, the innermost last, each with whether
            it waits for the callback.
        interrupt: Ctrl-C that came in a callback, until this thread's call that waits raises it.
    """

    context: Any = None
    error: int = 0
    text: str | None = None
    task: int = 0
    callbacks: tuple[tuple[Any, bool], ...] = ()
    interrupt: KeyboardInterrupt | None = None


here = Here()


def hold_interrupt(error: KeyboardInterrupt) -> None:
    """Keep Ctrl-C that came in a callback: its command fails with it, and nobody else would hear of it.

    Only the main thread gets signals. What a program raises itself in another one is a failure as others are.
    """
    if threading.get_ident() == threading.main_thread().ident:
        here.interrupt = error


def _raise_held() -> None:
    error, here.interrupt = here.interrupt, None
    if error is not None:
        raise error


class ReportQueue:
    """Calls that wait for the thread which reports them.

    Attributes:
        thread: the thread's identifier.
        streams: the handles of the streams that are subscribed to the thread.
        device: the number of the device of these streams; a thread serves one device at a time.
        closed: whether the thread is over, or gave up; calls then fail.
    """

    def __init__(self, thread: int) -> None:
        self.thread = thread
        self.streams: set[int] = set()
        self.device = -1
        self.closed = False
        self._waits = self._stopping = False
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()  # None: look again whether to wait

    def submit(self, call: Callable[[], None], /) -> None:
        """Put a call in; it never raises."""
        self._calls.put(call)
        if self.closed:  # looked at after putting: either `close` finds the call or this does
            self._run_waiting()

    def process(self, timeout: float | None) -> int:
        """Run the calls that wait, on this thread; return how many those were.

        Args:
            timeout: seconds to wait for the first one; None waits for ever. The end of the thread's last
                subscription, and `stop`, end the wait.
        """
        self._waits = True  # before the subscriptions are looked at; who ends one looks the other way round
        was_subscribed = bool(self.streams)
        if timeout is None and not was_subscribed:
            timeout = _UNSUBSCRIBED_WAIT
        end = None if timeout is None else monotonic() + timeout
        try:
            while not self._stopping:
                left = _SLICE if end is None else min(_SLICE, max(0.0, end - monotonic()))
                try:
                    call = self._calls.get(timeout=left)
                except Empty:
                    if end is not None and monotonic() >= end:
                        return 0
                    continue
                if call is not None:
                    call()
                    del call  # nothing of a call outlives it while the thread waits
                    _raise_held()
                    return 1 + self._run_waiting()
                if was_subscribed and not self.streams:
                    return 0
        finally:
            self._waits = False
        return self._run_waiting()

    def process_until(self, mark: Settling, end: float | None) -> bool:
        """Run the calls that come, on this thread, until something is over; return whether it is before ``end``."""
        glance = _FIRST_GLANCE
        while not mark.done():
            left = glance if end is None else min(glance, end - monotonic())
            try:
                call = self._calls.get(timeout=max(0.0, left))
            except Empty:
                if left <= 0:
                    return mark.done()
                if sys.is_finalizing():
                    raise WouldBlock(_NEVER) from None
                if glance == _GLANCE:
                    _drop_dead()
                glance = min(2 * glance, _GLANCE)
                continue
            if call is not None:
                call()
                del call
                _raise_held()
        return True

    def wake(self, _: object = None) -> None:
        """Let the thread look again at what it waits for."""
        self._calls.put(None)

    def unsubscribe(self, stream: int) -> None:
        """Serve a stream no more; the end of the last subscription ends the thread's wait."""
        self.streams.discard(stream)
        if not self.streams and self._waits:
            self.wake()

    def stop(self) -> None:
        """Let every wait end at once from now on."""
        self._stopping = True
        self.wake()

    def close(self) -> None:
        """Let the calls that wait, and those that come, fail."""
        self.closed = True
        self._run_waiting()

    def _run_waiting(self) -> int:
        ran = 0
        while True:
            try:
                call = self._calls.get_nowait()
            except Empty:
                return ran
            if call is not None:
                call()
                del call
                _raise_held()
                ran += 1


_UNSUBSCRIBED_WAIT = 0.1
"""Seconds that an endless wait lasts in a thread that no stream is bound to (yet)."""
_NEVER = "the interpreter ends and runs no other thread; what is waited for will never be over"
_SLICE = 0.1
"""Seconds that a thread waits for calls at a time: a signal that comes in the last instant before the wait is looked at
with the next slice."""
_GLANCE = 0.05
"""Seconds between looks at what is waited for, and at whether the threads that report are there still."""
_FIRST_GLANCE = 0.0002
"""The first of these seconds in a thread that reports itself, which nothing wakes when an event is reached; they double
each time."""
_queues: dict[int, ReportQueue] = {}
_started: dict[int, _Thread] = {}
_lock = threading.Lock()
_looking = threading.Lock()


def report_queue(thread: int) -> ReportQueue:
    """Return a thread's queue; a thread that never had one gets it."""
    queue = _queues.get(thread)
    if queue is None:
        _drop_dead(unused=True)
        with _lock:
            queue = _queues.setdefault(thread, ReportQueue(thread))
    return queue


def known_queue(thread: int) -> ReportQueue | None:
    """Return a thread's queue, or None if it has none."""
    return _queues.get(thread)


def reporting_threads() -> int:
    """Return how many threads streams are subscribed to."""
    return sum(bool(queue.streams) for queue in [*_queues.values()])


def settle(mark: Settling, timeout: float | None = None) -> bool:
    """Wait until something is over; return whether it is in time.

    What it waits for may be calls of a report queue. Those that are this thread's own are run here: nobody else
    will. Those of a thread that has ended meanwhile fail.

    Args:
        mark: what to wait for.
        timeout: seconds; None waits for ever.

    Raises:
        WouldBlock: this thread runs a host call that comes before the end of it.
        KeyboardInterrupt: Ctrl-C, which may have come in a callback.
    """
    if here.interrupt is not None:
        _raise_held()
    if not _queues or mark.done():
        return mark.wait(timeout, block_loop=True)
    end = None if timeout is None else monotonic() + timeout
    own = _queues.get(threading.get_ident())
    if own is not None:
        wake = getattr(mark, "add_done_callback", None)  # events have none: these are looked at
        if wake is not None:
            wake(own.wake)
        return own.process_until(mark, end)
    while True:
        left = _GLANCE if end is None else min(_GLANCE, end - monotonic())
        if mark.wait(max(0.0, left), block_loop=True):
            return True
        if left <= 0:
            return False
        _drop_dead()


def _drop_dead(*, unused: bool = False) -> None:
    """Drop the queues of threads that have ended; with ``unused`` only those that no stream is subscribed to."""
    if _queues:
        running = _running()
        for thread, queue in [*_queues.items()]:
            if thread not in running and not (unused and queue.streams):
                drop_queue(thread)


def drop_queue(thread: int) -> None:
    """End a thread's queue, if it has one: its calls fail, and a thread of the same identifier gets a new one."""
    queue = _queues.pop(thread, None)
    if queue is not None:
        queue.close()


def is_alive(thread: int) -> bool:
    """Whether a thread with this identifier runs now."""
    return thread in _running()


def _running() -> set[int]:
    """Return the identifiers of the threads that run Python, those that the threading module does not know included."""
    # The interpreter holds a lock of its own meanwhile, which starting and ending threads take too. A collection in
    # there could run finalizers, let another thread go on, and have that one wait for the lock for ever.
    with _looking:
        collects = gc.isenabled()
        gc.disable()
        try:
            return {*sys._current_frames()}
        finally:
            if collects:
                gc.enable()


class _Thread(threading.Thread):
    """A thread whose report queue ends with it: its identifier will be used again."""

    def run(self) -> None:
        try:
            super().run()
        finally:
            drop_queue(threading.get_ident())


def start(function: Callable[[Any], object], arguments: object) -> int:
    """Start a thread that calls ``function(arguments)``; return its identifier."""
    thread = _Thread(target=function, args=(arguments,), name="acl-thread", daemon=True)
    thread.start()
    assert thread.ident is not None
    _started[thread.ident] = thread
    return thread.ident


def stop(identifier: int) -> None:
    """Wait for the end of a thread that `start` started.

    Raises:
        InvalidArgument: it started no such thread, or the thread would wait for itself.
        WouldBlock: the interpreter ends, and the thread with it.
    """
    thread = _started.get(identifier)
    if thread is None:
        raise InvalidArgument(f"there is no thread {identifier} that start_thread started and stop_thread did not stop")
    if identifier == threading.get_ident():
        raise InvalidArgument(f"thread {identifier} cannot wait for its own end; call stop_thread in another one")
    queue = _queues.get(identifier)
    if queue is not None:
        queue.stop()
    if sys.is_finalizing() and thread.is_alive():
        raise WouldBlock(_NEVER)
    thread.join()
    if _started.get(identifier) is thread:
        del _started[identifier]


def _forget() -> None:
    """After a fork the child has one thread, and none of the others: nobody would release their locks."""
    global _lock, _looking
    _lock, _looking = threading.Lock(), threading.Lock()
    here.callbacks = ()
    _queues.clear()
    _started.clear()


os.register_at_fork(after_in_child=_forget)
