"""Waiting for room in a bounded queue."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

    from aacl.streams._completion import Completion

__all__ = ("Room",)


class Room:
    """The places of a queue, and who waits for one.

    Waiters are woken one at a time. Whoever was woken and did not use the room,
    or was cancelled, passes the wake-up on.
    """

    __slots__ = ("_commands", "_waiters", "closed", "limit")

    def __init__(self, commands: deque[Completion[Any]], limit: int) -> None:
        self._commands, self.limit = commands, limit
        self._waiters: deque[tuple[AbstractEventLoop, Future[None]]] = deque()
        self.closed = False

    @property
    def is_full(self) -> bool:
        """Whether one more command is too many."""
        return len(self._commands) >= self.limit

    def wake(self) -> None:
        """Wake one waiter, if there is room or waiting has become pointless; from any thread."""
        while self._waiters and (self.closed or not self.is_full):
            try:
                loop, future = self._waiters.popleft()
                loop.call_soon_threadsafe(_wake, future)
            except IndexError:
                return
            except RuntimeError:  # that loop was closed: its task will not use the room
                continue
            return

    async def wait(self) -> None:
        """Wait until there is room."""
        from asyncio import get_running_loop

        loop = get_running_loop()
        waiter = (loop, loop.create_future())
        self._waiters.append(waiter)
        self.wake()  # room may have come before we stood in line
        try:
            await waiter[1]
        except BaseException:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            else:
                self.wake()
            raise
        # There may be room for more than this one, or this one may not use it.
        loop.call_soon(self.wake)

    def close(self) -> None:
        """Wake everybody: no room will come."""
        self.closed = True
        while self._waiters:
            self.wake()


def _wake(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)
