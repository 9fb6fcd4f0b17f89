"""Threads for programs that report callbacks."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from acl import _threads
from acl._status import code_alone, with_code

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("start_thread", "stop_thread")


@with_code(0)
def start_thread(func: Callable[[Any], object], args_list: Any) -> tuple[int, int]:
    """Start a thread that calls ``func(args_list)``: the list is its one argument.

    Returns:
        (the thread's identifier, 0), which is that of ``threading.get_ident`` in it.
    """
    if not callable(func):
        raise TypeError("parameter must be callable")
    return _threads.start(func, args_list), 0


@code_alone
def stop_thread(thread_id: int) -> int:
    """Wait for the end of a thread of `start_thread`; its function has been told to return.

    Callbacks that it did not report fail with code 107012 at the next synchronise.

    Returns:
        0; 100000 if there is no such thread, it was stopped before, or it is this one.
    """
    _threads.stop(index(thread_id))
    return 0
