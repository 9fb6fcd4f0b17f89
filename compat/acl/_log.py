"""What ``acl`` tells a program beside its answers: lines of the logger ``acl`` of `logging`, and warnings."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging

__all__ = ("LEVELS", "logger", "warn_once", "warn_program")

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
"""By AscendCL's numbers, from 0 on; in the environment 4 stands for none."""
_warned: set[str] = set()


@functools.cache
def logger() -> logging.Logger:
    """Return the logger ``acl``.

    ``ASCEND_GLOBAL_LOG_LEVEL``, if it is set, is its level, from 0 (DEBUG) to 3 (ERROR) and 4 (nothing), unless the
    program gave it one. With ``ASCEND_SLOG_PRINT_TO_STDOUT=1`` it writes its lines to the standard output. Without
    them it is as the program sets up `logging`. Source: the pages of these variables.
    """
    import logging  # few programs log

    found = logging.getLogger("acl")
    text = os.environ.get("ASCEND_GLOBAL_LOG_LEVEL", "").strip()
    if text in ("0", "1", "2", "3", "4"):
        if found.level == logging.NOTSET:
            found.setLevel(getattr(logging, (*LEVELS, "CRITICAL")[int(text)]) + (text == "4"))
    elif text:
        found.warning("ASCEND_GLOBAL_LOG_LEVEL is %r; set it to a number from 0 (DEBUG) to 3 (ERROR), or 4", text)
    if os.environ.get("ASCEND_SLOG_PRINT_TO_STDOUT", "").strip() == "1":
        handler = logging.StreamHandler(sys.stdout)
        handler.setFormatter(logging.Formatter("[%(levelname)s] %(name)s: %(message)s"))
        found.addHandler(handler)
    return found


def warn_once(text: str) -> None:
    """Write a warning to the log, the first time in this process."""
    if text not in _warned:
        _warned.add(text)
        logger().warning("%s", text)


def warn_program(text: str) -> None:
    """Give a `RuntimeWarning` at the line of the program that made the call."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "acl":
        frame, level = frame.f_back, level + 1
    warnings.warn(text, RuntimeWarning, stacklevel=level)
