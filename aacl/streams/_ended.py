"""Commands that are over, until their waiters are woken."""

from __future__ import annotations

from collections import deque
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from aacl.streams._budget import LONG, TURN

if TYPE_CHECKING:
    from aacl.streams._completion import Completion
    from aacl.streams._work import Work

__all__ = ("Ended",)


class Ended:
    """Commands that are over, and whose waiters are to be woken.

    Attributes:
        commands: in their order.
    """

    __slots__ = ("_due", "commands")

    def __init__(self) -> None:
        self.commands: deque[Completion[Any]] = deque()
        self._due = 0

    def add(self, command: Completion[Any]) -> None:
        """Let a command's waiters wait for those of others."""
        if not self.commands:
            self._due = perf_counter_ns() + TURN
        self.commands.append(command)

    def cannot_wait_for(self, work: Work[Any] | None) -> bool:
        """Whether what is to run next may keep the waiters too long."""
        if work is None or work.keeps_exceptions:  # a program's own code may wait for one of them
            return True
        estimate = work._cost.estimate
        return estimate > LONG or perf_counter_ns() + estimate > self._due

    def wake(self) -> None:
        """Wake all waiters; from any thread."""
        while self.commands:
            try:
                command = self.commands.popleft()
            except IndexError:
                return
            command._wake()
