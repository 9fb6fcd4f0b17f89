"""Threads for programs that report callbacks."""

from __future__ import annotations

import threading
from operator import index
from typing import TYPE_CHECKING, Any

from acl import _threads
from acl._arguments import check_callable
from acl._status import RESOURCE_ALLOC_FAIL, Refused, code_alone, with_code

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("start_thread", "stop_thread")


@with_code(0)
def start_thread(func: Callable[[Any], object], args_list: Any, /) -> tuple[int, int]:
    """Start a thread that calls ``func(args_list)``: the list is its one argument.

    Args:
        func: what the thread calls, once.
        args_list: any object, by custom a list.

    Returns:
        (the thread's identifier, 0), which is that of ``threading.get_ident`` in it; (0, 207005) if the system gives
        no more threads.

    Source: the page of ``acl.util.start_thread``.
    """
    check_callable(func)
    try:
        return _threads.start(func, args_list), 0
    except RuntimeError as error:
        raise Refused(
            RESOURCE_ALLOC_FAIL, f"no thread can be started: {error}; {threading.active_count()} of this process run"
        ) from None


@code_alone
def stop_thread(thread_id: int, /) -> int:
    """Wait for the end of a thread of `start_thread`; its function has been told to return.

    Callbacks that it did not report fail with code 107012 at the next synchronise. Other threads run meanwhile.

    Args:
        thread_id: what `start_thread` returned.

    Returns:
        0; 100000 if there is no such thread, it was stopped before, or it is this one.

    Source: the page of ``acl.util.stop_thread``.
    """
    _threads.stop(index(thread_id))
    return 0
