"""Threads for host calls: as many as are busy at once, the idle ones used again and let go after a while.

Device workers never run them: a host call may wait for anything, other streams included.
"""

from __future__ import annotations

import os
import sys
import threading
from itertools import count
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("Executor", "HostPool", "host_pool")

_IDLE = 5.0  # seconds until an idle thread ends


class Executor(Protocol):
    """Where a host call may run: `concurrent.futures.Executor` fits, and so does anything that calls what it gets."""

    def submit(self, call: Callable[[], None], /) -> object: ...


class HostPool:
    """An elastic pool of daemon threads."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0  # threads that wait, less the tasks put for them
        self._numbers = count(1)

    def submit(self, call: Callable[[], None], /) -> None:
        """Run a call that never raises, at once; on this very thread when the interpreter ends, and runs no other."""
        if sys.is_finalizing():
            call()
            return
        with self._lock:
            wanted = self._idle <= 0
            if not wanted:
                self._idle -= 1
        if wanted:
            threading.Thread(
                target=self._work, args=([call],), name=f"aacl-host-{next(self._numbers)}", daemon=True
            ).start()
        else:
            self._tasks.put(call)

    def _work(self, first: list[Callable[[], None]]) -> None:
        call: Callable[[], None] | None = first.pop()  # a thread keeps its arguments for as long as it runs
        while call is not None:
            call()
            del call  # nothing of a call outlives it in an idle thread
            call = self._next()

    def _next(self) -> Callable[[], None] | None:
        with self._lock:
            self._idle += 1
        try:
            return self._tasks.get(timeout=_IDLE)
        except Empty:
            with self._lock:
                if self._idle > 0:
                    self._idle -= 1
                    return None
        return self._tasks.get()  # a task was put for this thread in the last instant


host_pool = HostPool()


def _forget_threads() -> None:
    """After a fork the child has none of the threads."""
    global host_pool
    host_pool = HostPool()


os.register_at_fork(after_in_child=_forget_threads)
