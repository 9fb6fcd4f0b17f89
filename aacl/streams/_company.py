"""Commands of one stream that run beside each other.

A stream's commands run in their order because one may need what another makes. An
inference from host arrays to new host arrays needs nothing of its neighbours, and
nobody has its result before it is over; so those that follow each other in the queue
run on all cores that have nothing else to do.
"""

from __future__ import annotations

import threading
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from aacl.streams._completion import Completion
    from aacl.streams._ended import Ended
    from aacl.streams._queue import CommandQueue
    from aacl.streams._work import Work

    Perform = Callable[[Completion[Any], Work[Any], Callable[..., object]], None]

__all__ = ("Company", "needs_no_turn")


class Company:
    """Commands of one queue that need no turn, and run on several threads at the same time.

    Attributes:
        left: a command that was taken out of the queue, and is to run in its turn.
    """

    __slots__ = ("_ended", "_first", "_lock", "_perform", "_queue", "_until", "left")

    def __init__(self, queue: CommandQueue, first: Completion[Any], until: int, perform: Perform, ended: Ended) -> None:
        """Begin with a command that was taken, and take no more after a time of `time.perf_counter_ns`."""
        self._queue, self._first, self._until = queue, [first], until
        self._perform, self._ended = perform, ended
        self._lock = threading.Lock()
        self.left: Completion[Any] | None = None

    def run(self, _thread: int) -> None:
        """Run commands until there is none that may; on each of the threads."""
        ended, commands = self._ended, self._queue.commands
        while (command := self._next()) is not None:
            work = command._work
            assert work is not None, "what needs no turn is device work"
            assert work._run_beside is not None, "what needs no turn can run beside others"
            if ended.commands and ended.cannot_wait_for(work):
                ended.wake()
            self._perform(command, work, work._run_beside)
            if command._waiters and command.done():
                ended.add(command)
            if len(ended.commands) >= len(commands):
                ended.wake()
        ended.wake()  # what the other threads run may take long

    def _next(self) -> Completion[Any] | None:
        queue = self._queue
        with self._lock:
            try:
                command = self._first.pop() if self._first else self._taken()
            except IndexError:
                return None
            if command is not None:
                queue.executed += 1
            return command

    def _taken(self) -> Completion[Any] | None:
        queue = self._queue
        if self.left is not None or perf_counter_ns() > self._until or not needs_no_turn(queue.commands[0]):
            return None
        command = queue.commands.popleft()
        if queue.on_room is not None:
            queue.on_room()
        if needs_no_turn(command):
            return command
        self.left = command  # what was looked at was dropped in between
        return None


def needs_no_turn(command: Completion[Any]) -> bool:
    """Whether a command touches nothing that others like it do."""
    work = command._work
    return work is not None and work._run_beside is not None
