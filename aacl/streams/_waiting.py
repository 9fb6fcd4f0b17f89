"""Ways to wait for the end of a command: on a thread, on an event loop, by callback."""

from __future__ import annotations

import threading
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable
    from contextvars import Context

    from aacl.streams._completion import Completion
    from aacl.streams._engine import StreamEngine

__all__ = ("DoneCallback", "LoopCallback", "acquire", "here", "release")

_WAIT_SLICE = 0.1  # seconds


class _Here(threading.local):
    """What runs on this thread: the stream whose host call it is, or whether it is a kernel of the program's own."""

    stream: StreamEngine | None = None
    is_kernel = False


here = _Here()


def acquire(lock: threading.Lock, timeout: float | None) -> None:
    """Wait for a lock, a slice at a time.

    A signal that arrives in the last instant before the system call does not end that call. The
    interpreter would not look at it before the lock comes; now it does with the next slice.
    """
    end = None if timeout is None else monotonic() + timeout
    while not lock.acquire(timeout=_WAIT_SLICE if end is None else min(max(end - monotonic(), 0), _WAIT_SLICE)):
        if end is not None and monotonic() >= end:
            return


class DoneCallback:
    """A done callback called by the thread that ends the command."""

    def __init__(self, callback: Callable[[Any], object]) -> None:
        self.callback = callback

    def __call__(self, completion: Completion[Any]) -> None:
        # The stream does not go on before the callback has returned: waiting for it here must raise.
        before, here.stream = here.stream, getattr(completion, "_stream", None)
        try:
            self.callback(completion)
        except BaseException:  # nothing of a program's may end the thread that ends its commands
            import logging

            logging.getLogger("aacl").exception("a done callback of %r failed", completion)
        finally:
            here.stream = before


class LoopCallback(DoneCallback):
    """A done callback called by the event loop on whose thread it was registered."""

    def __init__(self, callback: Callable[[Any], object], loop: AbstractEventLoop, context: Context) -> None:
        super().__init__(callback)
        self._loop, self._context = loop, context

    def __call__(self, completion: Completion[Any]) -> None:
        with suppress(RuntimeError):  # the loop was closed: nobody is left to be called
            self._loop.call_soon_threadsafe(self.callback, completion, context=self._context)


def release(future: Any) -> None:
    """Let the task that awaits a future go on."""
    if not future.done():
        future.set_result(None)
