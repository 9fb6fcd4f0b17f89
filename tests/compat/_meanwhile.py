"""What another thread does in the middle of what this one does."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Meanwhile:
    """Another thread's act, begun in the middle of this one's; it may have to wait until this one's is over."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._thread = threading.Thread(target=act)
        self._begun = False

    def __call__(self) -> None:
        """Begin it, the first time, and give it time to act."""
        if not self._begun and threading.current_thread() is not self._thread:
            self._begun = True
            self._thread.start()
            self._thread.join(0.2)

    def finish(self) -> None:
        """Wait for its end."""
        assert self._begun
        self._thread.join(10)
        assert not self._thread.is_alive()
