"""A latch on a stream, and a detector of work that runs twice at once."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Self

from aacl import Stream

PATIENCE = 15.0
"""Seconds after which a wait that should have ended is given up, so that a failure is told instead of a hang."""


class Hold:
    """A host call that keeps a stream busy from now until the end of the block, or `release`."""

    def __init__(self, stream: Stream, *, block: bool = True, started: bool = True) -> None:
        self._started, self._gate = threading.Event(), threading.Event()
        self.completion = stream.call(self._run, block=block)
        if started:
            self.wait_until_started()

    @classmethod
    def behind(cls, stream: Stream) -> Self:
        """Hold a stream from the time when what is queued is over."""
        return cls(stream, started=False)

    def wait_until_started(self) -> None:
        """Wait until the stream has come to this call."""
        assert self._started.wait(PATIENCE)

    def _run(self) -> str:
        self._started.set()
        assert self._gate.wait(PATIENCE)
        return "released"

    def release(self) -> None:
        """Let the stream go on."""
        self._gate.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()


class Overlap:
    """Callable work that counts how often it ran, and how often it ran while it was running."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.runs = self.overlaps = 0

    def __call__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self.overlaps += 1
            return
        try:
            self.runs += 1
        finally:
            self._lock.release()


def wait_until_idle(stream: Stream) -> None:
    """Wait until a worker that ran a stream's last command has let go of the stream."""
    deadline = time.monotonic() + PATIENCE
    while not stream.idle:
        assert time.monotonic() < deadline


def wait_until_parked(stream: Stream) -> None:
    """Wait until a stream has come to its wait for an event."""
    deadline = time.monotonic() + PATIENCE
    while stream._queue.parked is None:
        assert time.monotonic() < deadline
