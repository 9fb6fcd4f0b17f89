"""Events: marks in a stream's work, which are futures and order other streams.

An event is recorded when the stream reaches its mark. Recording it again starts
a new generation: whoever waits keeps waiting for the mark that was the latest
when the wait was submitted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from aacl.errors import EventNotRecorded, EventReversed

if TYPE_CHECKING:
    from collections.abc import Generator

    from aacl.streams._completion import Completion

__all__ = ("Event",)


class Mark:
    """One recording: its completion, and when the stream reached it."""

    __slots__ = ("completion", "time")

    completion: Completion[Any]

    def __init__(self) -> None:
        self.time: float | None = None

    @classmethod
    def of(cls, completion: Completion[Any]) -> Mark:
        """Return the mark that the end of a command is."""
        mark = cls()
        mark.completion = completion
        return mark


@final
class Event:
    """A mark in a stream's work. Made by ``stream.record_event()``, or empty and recorded later.

    ``await event`` waits until the stream has reached it. The names are those of a future.
    """

    __slots__ = ("__weakref__", "_mark")

    def __init__(self) -> None:
        self._mark: Mark | None = None

    @property
    def recorded(self) -> bool:
        """Whether a stream was ever told to record it."""
        return self._mark is not None

    def done(self) -> bool:
        """Return whether the latest recording was reached; an event never recorded is done."""
        return self._mark is None or self._mark.completion.done()

    def exception(self) -> BaseException | None:
        """Return why the mark was never reached: ``abort()`` dropped it."""
        return None if self._mark is None else self._mark.completion.exception()

    def __await__(self) -> Generator[Any, None, None]:
        if self._mark is not None:
            yield from self._mark.completion.__await__()

    def wait(self, timeout: float | None = None, *, block_loop: bool = False) -> bool:
        """Block this thread until the latest recording was reached, as `Completion.wait` does.

        Args:
            timeout: seconds; None waits for ever.
            block_loop: block even the thread of a running event loop.

        Returns:
            Whether it was reached in time.

        Raises:
            WouldBlock: an event loop runs on this thread.
            Aborted: the mark was dropped and will never be reached.
        """
        if self._mark is None:
            return True
        if not self._mark.completion.wait(timeout, block_loop=block_loop):
            return False
        self._mark.completion.result()
        return True

    @property
    def time(self) -> float:
        """When the stream reached the mark: seconds of `time.perf_counter`.

        Raises:
            EventNotRecorded: it has not.
        """
        mark = self._mark
        if mark is None or mark.time is None:
            state = "never recorded" if mark is None else "not reached yet"
            raise EventNotRecorded(f"{self!r} was {state}; record it on a stream and wait for it first")
        return mark.time

    def elapsed_since(self, start: Event) -> float:
        """Return the seconds of device work between ``start`` and this event.

        Raises:
            EventNotRecorded: one of the two was not reached.
            EventReversed: ``start`` was reached later.
        """
        elapsed = self.time - start.time
        if elapsed < 0:
            raise EventReversed(f"the start event was reached {-elapsed:.6f} s after the end event; swap them")
        return elapsed

    def __repr__(self) -> str:
        mark = self._mark
        if mark is None:
            return "<Event never recorded>"
        return f"<Event reached at {mark.time:.6f} s>" if mark.time is not None else "<Event not reached>"
