"""The device's cores, as threads that run tasks."""

from __future__ import annotations

import threading
from collections import deque
from itertools import count
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("Workers", "parallel")


class _Here(threading.local):
    workers: Workers | None = None
    """Whose thread this is."""


_here = _Here()


class Workers:
    """One thread a core. They start with the device: a task never finds that its thread is still to be made."""

    def __init__(self, device: int, number: int) -> None:
        self._tasks: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self.count = number
        for each in range(number):
            threading.Thread(target=self._work, name=f"aacl-device{device}-{each}", daemon=True).start()

    def start(self, task: Callable[[], object]) -> None:
        """Run a task that never raises on one of the threads."""
        self._tasks.put(task)

    def close(self) -> None:
        """End the threads once what was put before is done."""
        for _ in range(self.count):
            self._tasks.put(None)

    def _work(self) -> None:
        _here.workers = self
        while (task := self._tasks.get()) is not None:
            task()
            del task  # nothing of a task outlives it in a waiting thread


class _Share:
    """Calls of one function that several threads take one after the other.

    Whoever asks for help works too, so a call for which no thread is free costs nothing but itself,
    and a thread that comes when all is taken goes away at once.
    """

    __slots__ = ("_finished", "_idle", "_run", "_size", "_todo", "failures")

    def __init__(self, run: Callable[[int], object], size: int) -> None:
        self._run, self._size = run, size
        self._todo = deque(range(size))
        self._finished = count(1)  # next() is atomic
        self._idle = threading.Lock()
        self._idle.acquire()
        self.failures: list[tuple[int, BaseException]] = []

    def work(self) -> None:
        """Take calls until none is left."""
        todo, run = self._todo, self._run
        while todo:
            try:
                number = todo.popleft()
            except IndexError:
                return
            if not self.failures:
                try:
                    run(number)
                except BaseException as error:  # whoever asked for help raises it
                    self.failures.append((number, error))
            if next(self._finished) == self._size:
                self._idle.release()

    def wait(self) -> None:
        """Block until every call is over."""
        self._idle.acquire()


def parallel(run: Callable[[int], object], size: int) -> None:
    """Call ``run(0)`` to ``run(size - 1)``, on a worker's thread with the help of its idle fellows.

    Anywhere else the calls are made one after the other: only what is short runs on other threads.

    Raises:
        BaseException: what the failed call with the lowest number raised; later ones are not begun then.
    """
    workers = _here.workers
    if workers is None or workers.count < 2 or size < 2:
        for number in range(size):
            run(number)
        return
    share = _Share(run, size)
    for _ in range(min(workers.count, size) - 1):
        workers.start(share.work)
    share.work()
    share.wait()
    if share.failures:
        raise min(share.failures, key=lambda failure: failure[0])[1]
