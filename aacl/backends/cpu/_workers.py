"""The device's cores, as threads that run tasks."""

from __future__ import annotations

import sys
import threading
from collections import deque
from queue import SimpleQueue
from typing import TYPE_CHECKING

from aacl.abc import one_by_one

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("Workers",)


class Workers:
    """One thread a core. They start with the device: a task never finds that its thread is still to be made."""

    def __init__(self, device: int, count: int) -> None:
        self._tasks: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._count = count
        for number in range(count):
            threading.Thread(target=self._work, name=f"aacl-device{device}-{number}", daemon=True).start()

    def start(self, task: Callable[[], object]) -> None:
        """Run a task that never raises on one of the threads; here when the interpreter ends, and runs no other."""
        if sys.is_finalizing():
            task()
        else:
            self._tasks.put(task)

    def parallel(self, run: Callable[[int], object], count: int) -> None:
        """Call ``run(0)`` to ``run(count - 1)``, on this thread and on those of the device that have nothing to do.

        Raises:
            BaseException: what the failed call with the lowest number raised; later ones are not begun then.
        """
        if self._count < 2 or count < 2:
            one_by_one(run, count)
            return
        share = _Share(run, count)
        for _ in range(min(self._count, count) - 1):
            self._tasks.put(share.help)
        try:
            share.work()
        finally:
            share.close()
        if share.failures:
            raise min(share.failures, key=lambda failure: failure[0])[1]

    def close(self) -> None:
        """End the threads once what was put before is done."""
        for _ in range(self._count):
            self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()
            del task  # nothing of a task outlives it in a waiting thread


class _Share:
    """Calls of one function that several threads take one after the other.

    Whoever asks for help works too, so a call for which no thread is free costs nothing but itself,
    and a thread that comes when all is taken goes away at once. Only whoever asked can be interrupted.
    """

    __slots__ = ("_closed", "_helpers", "_idle", "_lock", "_run", "_todo", "failures")

    def __init__(self, run: Callable[[int], object], count: int) -> None:
        self._run, self._todo = run, deque(range(count))
        self._lock, self._idle = threading.Lock(), threading.Lock()
        self._idle.acquire()
        self._helpers, self._closed = 0, False
        self.failures: list[tuple[int, BaseException]] = []

    def work(self) -> None:
        """Take calls until none is left, or one has failed."""
        todo, run = self._todo, self._run
        while todo and not self.failures:
            try:
                number = todo.popleft()
            except IndexError:
                return
            try:
                run(number)
            except BaseException as error:  # whoever asked for help raises it
                self.failures.append((number, error))

    def help(self) -> None:
        """Take calls on another thread."""
        with self._lock:
            if self._closed:
                return
            self._helpers += 1
        self.work()
        with self._lock:
            self._helpers -= 1
            if self._closed and not self._helpers:
                self._idle.release()

    def close(self) -> None:
        """Let nobody else in and wait for those who are: what they write to is the caller's. An interrupt waits too."""
        interrupt = None
        while True:
            try:
                with self._lock:
                    self._closed, busy = True, self._helpers
                if busy:
                    self._idle.acquire()
                break
            except BaseException as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt
