"""What becomes of a stream when its work fails or takes too long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl._number import seconds
from aacl.streams._engine import StreamEngine

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("StreamControl",)


class StreamControl(StreamEngine):
    """A stream's ways to stop and to go on."""

    __slots__ = ()

    @property
    def stop_at_failure(self) -> bool:
        """Whether the stream stops at the next failure of a command, until `recover`; may be set at any time.

        A stream that has stopped does not go on because this is set to False.
        """
        return self._queue.stops_at_failure

    @stop_at_failure.setter
    def stop_at_failure(self, stops: bool) -> None:
        self._queue.stops_at_failure = bool(stops)
        self._choose_claim()

    @property
    def stopped_by(self) -> BaseException | None:
        """The failure at which the stream stopped, or that it was halted for; None while it takes work."""
        return self._queue.halted

    @property
    def on_stop(self) -> Callable[[BaseException], object] | None:
        """Called with the failure when the stream stops at one, by the thread that ended the command.

        Whoever waits for the stream is woken afterwards. It must not wait for the stream. `halt` does not call it.
        """
        return self._queue.on_stop

    @on_stop.setter
    def on_stop(self, callback: Callable[[BaseException], object] | None) -> None:
        self._queue.on_stop = callback

    def halt(self, error: BaseException) -> int:
        """Stop as after a failure: drop everything that has not started, and take nothing until `recover`.

        What runs goes on, and is not waited for. On a stream that has stopped already the first failure stays.

        Args:
            error: what the stream stops for; the cause of what refuses new work.

        Returns:
            How many commands were dropped. Their completions fail with `Aborted`.

        Raises:
            ClosedResource: the stream is closed.
        """
        self._check_open("halt")
        try:
            return self._queue.halt(error)
        finally:
            self._choose_claim()

    def recover(self) -> None:
        """Take work again after a failure, on a stream that stopped at one or was halted."""
        self._check_open("recover")
        self._queue.halted = None
        self._choose_claim()
        self._queue.recover()

    @property
    def operator_timeout(self) -> float | None:
        """Seconds that an operator, or a kernel of the program's own, may run; None for any number.

        A kernel cannot be stopped from outside. One that has taken longer fails with `KernelTimeout` when it ends,
        and what it wrote counts as having no contents. What runs at once on the thread that submits it, because it is
        known to be short, is not timed. What was submitted before keeps the limit that was set then.

        Raises:
            InvalidArgument: when set to what is no number above 0.
        """
        return self._operator_timeout

    @operator_timeout.setter
    def operator_timeout(self, timeout: float | None) -> None:
        self._operator_timeout = None if timeout is None else seconds(timeout, "an operator's timeout")
