"""The device's cores, as threads that run tasks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

__all__ = ("Workers",)


class Workers:
    """One thread a core, started with the first task."""

    def __init__(self, device: int, count: int) -> None:
        self._device, self._count = device, count
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._waiting = 0

    def start(self, task: Callable[[], None]) -> None:
        """Run a task that never raises on one of the threads."""
        # Put first: an interrupt on the way out then leaves a task that the next one's thread finds.
        self._tasks.put(task)
        if len(self._threads) < self._count:
            self._grow()

    def close(self) -> None:
        """End the threads once what was put before is done."""
        with self._lock:
            for _ in self._threads:
                self._tasks.put(None)
            self._count = 0

    def _grow(self) -> None:
        with self._lock:
            number = len(self._threads)
            if number >= self._count or self._waiting > self._tasks.qsize():
                return
            thread = threading.Thread(target=self._work, name=f"aacl-device{self._device}-{number}", daemon=True)
            self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        while True:
            self._waiting += 1
            task = self._tasks.get()
            self._waiting -= 1
            if task is None:
                return
            task()
            del task  # nothing of a task outlives it in a waiting thread
