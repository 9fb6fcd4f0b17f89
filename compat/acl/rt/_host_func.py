"""Host functions: Python functions in their place in a stream, which need no reporting thread, and may have one.

A stream has one thread that reports, whichever family of calls bound it: `subscribe_report` and
`subscribe_host_func` are one binding, and `process_report` and `process_host_func` run what waits for the thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acl._arguments import check_callable
from acl._devices import stream_at
from acl._status import code_alone
from acl.rt._callback import process, queue_of, submit, subscribe, unsubscribe

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("launch_host_func", "process_host_func", "subscribe_host_func", "unsubscribe_host_func")


@code_alone
def launch_host_func(stream: int, fn: Callable[[Any], object], args: object, /) -> int:
    """Submit ``fn(args)`` to a stream; what is submitted later waits for it.

    Args:
        stream: 0 stands for the default one.
        fn: called with the same object, as its one argument: in the thread that is bound to the stream, when that
            calls `process_host_func`; in a thread of the runtime's, without a context, if none is bound.
        args: any object; kept alive until the call.

    Returns:
        0, which means submitted; 107002, 107003 and 107017 for no context, a stream of another one, and no stream. An
        exception of ``fn`` is printed, and is code 500001 at the next synchronise.

    Source: aclrtLaunchHostFunc.
    """
    check_callable(fn)
    target = stream_at(stream)
    submit(target, fn, args, queue_of(target), blocks=True)
    return 0


@code_alone
def subscribe_host_func(thread_id: int, stream: int, /) -> int:
    """Let a thread run the host functions of a stream: the same binding as ``subscribe_report``.

    Args:
        thread_id: what ``acl.util.start_thread`` or ``threading.get_ident`` gives.
        stream: 0 stands for the default one.

    Returns:
        0; codes as ``subscribe_report``.

    Source: aclrtSubscribeHostFunc.
    """
    subscribe(thread_id, stream)
    return 0


@code_alone
def unsubscribe_host_func(thread_id: int, stream: int, /) -> int:
    """Undo `subscribe_host_func`; functions that were launched before still run in that thread, which wakes up.

    Args:
        thread_id: the thread.
        stream: 0 stands for the default one.

    Returns:
        0; codes as ``unsubscribe_report``.

    Source: aclrtUnSubscribeHostFunc.
    """
    unsubscribe(thread_id, stream)
    return 0


@code_alone
def process_host_func(timeout: int, /) -> int:
    """Wait for host functions of the streams that are bound to this thread, and run those that are there.

    Args:
        timeout: milliseconds to wait for the first one; -1 waits for ever.

    Returns:
        0; 507012 when none came in time; codes as ``process_report``.

    Source: aclrtProcessHostFunc.
    """
    return process(timeout)
