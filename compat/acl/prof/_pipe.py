"""A pipe that records are sent through, to a reader who may be slow, or gone."""

from __future__ import annotations

import fcntl
import os
import select
from time import monotonic

from aacl.errors import InvalidArgument

__all__ = ("Pipe",)

_ROOM = select.PIPE_BUF
"""Bytes that a pipe takes at once, undivided, when it says that it takes any."""


class Pipe:
    """The end that is written to."""

    def __init__(self, fd: int) -> None:
        """Keep a file descriptor of its own, so that the program may close, and use again, the one it gave.

        Raises:
            InvalidArgument: it is not open for writing.
        """
        try:
            if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
                raise InvalidArgument(f"file descriptor {fd} is open for reading alone; give the pipe's other end")
            self._fd = os.dup(fd)
        except OSError as error:
            raise InvalidArgument(f"file descriptor {fd} cannot be written: {error}") from None
        os.set_inheritable(self._fd, False)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLOUT)

    def send(self, data: memoryview, unit: int, patience: float) -> int:
        """Write whole units, as long as the reader takes some.

        Args:
            data: whole units.
            unit: bytes of one.
            patience: seconds to wait for room each time.

        Returns:
            Bytes written; fewer than there are if the reader took nothing for that long.

        Raises:
            OSError: nobody reads any more.
        """
        step, done = max(1, _ROOM // unit) * unit, 0
        while done < len(data):
            until = monotonic() + patience
            if not self._poll.poll(max(0, until - monotonic()) * 1000):
                break
            done += os.write(self._fd, data[done : done + step])
        return done

    def close(self) -> None:
        """Let go of it."""
        os.close(self._fd)
