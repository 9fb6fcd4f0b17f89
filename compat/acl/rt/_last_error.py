"""The last error of a thread, as a code."""

from __future__ import annotations

from operator import index

from acl._status import INVALID_PARAM, Refused, code_alone
from acl._threads import here

__all__ = ("get_last_error", "peek_at_last_error")

_THREAD_LEVEL = 0  # ACL_RT_THREAD_LEVEL


@code_alone
def peek_at_last_error(level: int, /) -> int:
    """Tell the code of the last call of this thread that failed; it stays.

    Args:
        level: 0, the thread's.

    Returns:
        The code, 0 if no call failed; 100000 for another level.

    Source: aclrtPeekAtLastError.
    """
    _check(level)
    return here.error


@code_alone
def get_last_error(level: int, /) -> int:
    """Do what `peek_at_last_error` does, and forget the code.

    Args:
        level: 0, the thread's.

    Returns:
        The code, 0 if no call failed; 100000 for another level.

    Source: aclrtGetLastError.
    """
    _check(level)
    code, here.error = here.error, 0
    return code


def _check(level: int) -> None:
    if index(level) != _THREAD_LEVEL:
        raise Refused(INVALID_PARAM, f"error level {level} is not known; {_THREAD_LEVEL} is the thread's")
