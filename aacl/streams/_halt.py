"""The queue of a stream, which can stop: at a failure of its own, or because somebody halts them.

A stopped queue keeps its token in a place of its own. Who stops it, lets it go on
or waits for it may be interrupted while the token is in variables, which the
frames of the traceback would keep: these are cleared, and the token is found lost.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from aacl._note import text_of
from aacl.errors import Aborted
from aacl.streams._queue import BARRIER, CommandQueue, named

if TYPE_CHECKING:
    from collections.abc import Callable

    from aacl.streams._claim import Box, Token
    from aacl.streams._completion import Completion
    from aacl.streams._engine import StreamEngine

__all__ = ("HaltingQueue",)


class HaltingQueue(CommandQueue):
    """A queue that stops at a failure if it is to, that others can halt, and that tells when it halts by itself.

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
            box = [self.claim.pop()]
        except IndexError:
            return dropped  # whoever holds the claim looks at `halted` behind its command
        self._resume_here(box)  # which keeps it
        return dropped

    def recover(self) -> None:
        """Take commands again after a failure that halted the queue, or after `halt`."""
        self.halted = None
        self._go_on()

    def _go_on(self) -> None:
        try:
            box = [self._kept.pop()]
        except IndexError:
            return  # the holder has not come to its halt yet, and looks at `halted` there
        self._resume_here(box)

    def _resume_here(self, box: Box) -> None:
        try:
            self.resume(box.pop())
        except BaseException as error:
            if box:
                self._kept.append(box.pop())
            trace = error.__traceback__
            while trace is not None:
                with suppress(RuntimeError):  # this frame runs
                    trace.tb_frame.clear()
                trace = trace.tb_next
            raise

    def unhalt(self, token: Token) -> bool:
        """Keep the token while the stream is halted; True when it was recovered meanwhile and goes on."""
        while not self._pass_barriers(token):
            self._kept.append(token)
            if self.halted is not None and not self.commands:
                return False
            try:
                self._kept.pop()  # a barrier came in the meantime, or `recover`
            except IndexError:
                return False  # who brought it took the token
            if self.halted is None:
                return True
        return False

    def _pass_barriers(self, token: Token) -> bool:
        """End the barriers of a halted stream, which have nothing to wait for; True when one kept the token."""
        while self.commands:
            try:
                command = self.commands.popleft()
            except IndexError:
                break
            if command._value is BARRIER:
                if self.run_other(command, token):
                    return True
                if command.done():
                    command._wake()
            else:
                cause = "" if self.halted is None else f" ({text_of(self.halted)})"
                command._fail(Aborted(f"{named(command)} was dropped by the failure before it{cause}"))
                command._wake()
        return False
