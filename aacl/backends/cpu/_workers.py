"""The device's cores, as threads that run tasks."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("Workers",)


class Workers:
    """One thread a core. They start with the device: a task never finds that its thread is still to be made."""

    def __init__(self, device: int, count: int) -> None:
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._count = count
        for number in range(count):
            threading.Thread(target=self._work, name=f"aacl-device{device}-{number}", daemon=True).start()

    def start(self, task: Callable[[], None]) -> None:
        """Run a task that never raises on one of the threads."""
        self._tasks.put(task)

    def close(self) -> None:
        """End the threads once what was put before is done."""
        for _ in range(self._count):
            self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()
            del task  # nothing of a task outlives it in a waiting thread
