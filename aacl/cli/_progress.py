"""A progress bar for conversions that take long, on a terminal only."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ("ConversionProgress",)

_PATIENCE = 0.5  # seconds before a bar is worth its flicker


class ConversionProgress:
    """Shows what a conversion is at, once it has taken half a second; in a pipe, never."""

    def __init__(self) -> None:
        self._is_shown = sys.stdout.isatty() and sys.stderr.isatty()
        self._start = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, step: str, part: float) -> None:
        """Show a step, and how much of all is done, 0 to 1."""
        if not self._is_shown or (self._bar is None and time.monotonic() - self._start < _PATIENCE):
            return
        if self._bar is None:
            self._bar, self._task = _started()
        assert self._task is not None
        self._bar.update(self._task, description=step, completed=part)


def _started() -> tuple[Progress, TaskID]:
    # Loaded here: `atc` of a small model should not wait for it.
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(file=sys.stderr), transient=True)
    bar.start()
    return bar, bar.add_task("convert", total=1.0)
