"""Ways to wait for the end of a command: on a thread, on an event loop, by callback."""

from __future__ import annotations

import sys
import threading
from collections import deque
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from aacl.errors import WouldBlock

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable
    from contextvars import Context

    from aacl.streams._completion import Completion
    from aacl.streams._engine import StreamEngine

__all__ = ("DoneCallback", "LoopCallback", "acquire", "here", "inbox_of")

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

    Raises:
        WouldBlock: the interpreter ends, and no other thread will release the lock.
    """
    end = None if timeout is None else monotonic() + timeout
    while not lock.acquire(timeout=_WAIT_SLICE if end is None else min(max(end - monotonic(), 0), _WAIT_SLICE)):
        if sys.is_finalizing():
            raise WouldBlock("the interpreter ends and runs no other thread; what is waited for will never be over")
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
        self._inbox, self._loop, self._context = inbox_of(loop), loop, context

    def __call__(self, completion: Completion[Any]) -> None:
        self._inbox.put(partial(self._loop.call_soon, self.callback, completion, context=self._context))


class Inbox:
    """What other threads want done by a loop, in their order.

    To wake a loop is a system call, and its thread takes the GIL from the one that woke it. So a loop is woken
    once for all that comes until it looks: it says that it looks, then takes what is there; who puts
    something in does that first, then looks whether the loop is on its way.

    Who waits holds the inbox, and so does its loop while a letter is in it; nobody else does.
    """

    __slots__ = ("__weakref__", "_is_called", "_letters", "_loop")

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop
        self._letters: deque[Callable[[], object]] = deque()
        self._is_called = False

    def release(self, future: Any) -> None:
        """Let the task that awaits a future of the loop go on."""
        self.put(partial(_release, future))

    def put(self, letter: Callable[[], object]) -> None:
        """Have the loop call something that never raises; from any thread."""
        self._letters.append(letter)
        if self._is_called:
            return
        try:
            self._is_called = True
            self._loop.call_soon_threadsafe(self._open)
        except RuntimeError:  # the loop was closed: nobody waits any more
            self._letters.clear()
            self._is_called = False
        except BaseException:
            self._is_called = False
            raise

    def _open(self) -> None:
        self._is_called = False
        letters = self._letters
        try:
            while letters:
                letters[0]()
                letters.popleft()  # after the call: an interrupt between loses none
        except BaseException:
            if letters:
                self._loop.call_soon(self._open)
            raise


_inboxes: WeakValueDictionary[int, Inbox] = WeakValueDictionary()
"""By the loop's identity, which is nobody else's while its inbox is there."""


def inbox_of(loop: AbstractEventLoop) -> Inbox:
    """Return the inbox of a loop, to be held for as long as somebody waits."""
    found = _inboxes.get(id(loop))
    return found if found is not None else _inboxes.setdefault(id(loop), Inbox(loop))


def _release(future: Any) -> None:
    if not future.done():
        future.set_result(None)
