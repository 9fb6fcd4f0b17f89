"""Queues that stop: at a failure of their own, or because somebody halts them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aacl._note import text_of
from aacl.streams._queue import CommandQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from aacl.streams._completion import Completion
    from aacl.streams._engine import StreamEngine

__all__ = ("HaltingQueue",)


class HaltingQueue(CommandQueue):
    """A queue that others can halt, and that tells when it halts by itself.

    Attributes:
        on_stop: called with the failure at which the queue has stopped.
    """

    __slots__ = ("on_stop",)

    def __init__(self, stream: StreamEngine, *, stops_at_failure: bool = False) -> None:
        super().__init__(stream, stops_at_failure=stops_at_failure)
        self.on_stop: Callable[[BaseException], object] | None = None

    def fail(self, command: Completion[Any], error: BaseException) -> None:
        """End a command with an error of its own, and tell if that stops the queue; whoever waits is not woken yet."""
        super().fail(command, error)
        if self.on_stop is not None and self.halted is error:
            self._tell(self.on_stop, error)

    def _tell(self, callback: Callable[[BaseException], object], error: BaseException) -> None:
        try:
            callback(error)
        except BaseException:  # nothing of a program's may end the thread that ends its commands
            import logging

            logging.getLogger("aacl").exception("what %s.on_stop called failed", self.stream._describe())

    def halt(self, error: BaseException) -> int:
        """Drop what has not started and take nothing until `recover`; return how many commands were dropped."""
        if self.halted is None:
            self.halted = error
        dropped = self.drop(f"what stopped its stream ({text_of(error)})")
        try:
            token = self.claim.pop()
        except IndexError:
            return dropped  # whoever holds the claim looks at `halted` behind its command
        self.resume(token)  # which keeps it
        return dropped
