"""The last error of a thread, as a code."""

from __future__ import annotations

from operator import index

from acl._status import INVALID_PARAM, Refused, code_alone
from acl._threads import here

__all__ = ("get_last_error", "peek_at_last_error")

_THREAD_LEVEL = 0  # ACL_RT_THREAD_LEVEL


@code_alone
def peek_at_last_error(level: int) -> int:
    """Return the code of the last call of this thread that failed, else 0; it stays.

    Args:
        level: 0, the thread's.

    Returns:
        The code; 100000 for another level.
    """
    _check(level)
    return here.error


@code_alone
def get_last_error(level: int) -> int:
    """Return what `peek_at_last_error` returns, and forget it."""
    _check(level)
    code, here.error = here.error, 0
    return code


def _check(level: int) -> None:
    if index(level) != _THREAD_LEVEL:
        raise Refused(INVALID_PARAM, f"error level {level} is not known; {_THREAD_LEVEL} is the thread's")
