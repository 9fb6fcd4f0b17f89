"""Callbacks: Python functions in their place in a stream, run by the thread that reports them."""

from __future__ import annotations

import sys
import threading
from operator import index
from typing import TYPE_CHECKING, Any

from acl._arguments import check_callable
from acl._devices import stream_at
from acl._status import (
    PARAM_INVALID,
    REPORT_TIMEOUT,
    STREAM_NO_CALLBACK,
    STREAM_SUBSCRIBE,
    THREAD_SUBSCRIBE,
    Polled,
    Refused,
    code_alone,
)
from acl._streams import streams
from acl._threads import here, hold_interrupt, known_queue, report_queue, reporting_threads
from acl.rt._exception import watch
from acl.rt._wait import seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from acl._streams import Stream
    from acl._threads import ReportQueue

__all__ = (
    "launch_callback",
    "process",
    "process_report",
    "queue_of",
    "submit",
    "subscribe",
    "subscribe_report",
    "unsubscribe",
    "unsubscribe_report",
)

_MOST_THREADS, _MOST_THREADS_310 = 1024, 128  # that report in one process; the second holds for the 310 family
_IDENTIFIERS = range(1, 1 << 64)


class _Callback:
    """One call, as its stream runs it; it is dropped with the command."""

    __slots__ = ("_argument", "_function", "_place", "_queue")

    def __init__(
        self, function: Callable[[Any], object], argument: object, queue: ReportQueue | None, place: tuple[Stream, bool]
    ) -> None:
        self._function, self._argument, self._queue, self._place = function, argument, queue, place

    def __call__(self) -> None:
        if self._queue is None:
            here.context = None  # a thread of the runtime's may have one left from an earlier call
        elif self._queue.closed:
            raise Refused(THREAD_SUBSCRIBE, f"thread {self._queue.thread}, which should report a callback, is over")
        outer = here.callbacks
        here.callbacks = (*outer, self._place)
        try:
            self._function(self._argument)
        except Exception:
            # The stream fails with it too, at the next synchronise; but codes are easily overlooked.
            import traceback

            traceback.print_exc(file=sys.stderr)
            raise
        except KeyboardInterrupt as error:
            hold_interrupt(error)
            raise
        finally:
            here.callbacks = outer


@code_alone
def subscribe_report(thread_id: int, stream: int, /) -> int:
    """Let a thread report the callbacks of a stream, which is served by one thread at a time.

    Args:
        thread_id: what ``acl.util.start_thread`` or ``threading.get_ident`` gives.
        stream: 0 stands for the default one. A thread may serve many, all of one device.

    Returns:
        0; 107011 if the stream is served already; 107012 if the thread serves another device, or 1024
        others serve streams (128 on the Ascend310 family); 107000 for a number that cannot be a thread's; 107002,
        107003 and 107017 for no context, a stream of another one, and no stream. Callbacks of a thread that is not
        there, or has ended, fail with 107012 at the next synchronise.

    Source: aclrtSubscribeReport.
    """
    subscribe(thread_id, stream)
    return 0


def subscribe(thread_id: int, stream: int) -> None:
    """Bind a stream to the thread that reports for it; raises for what `subscribe_report` has codes for."""
    target, number = stream_at(stream), index(thread_id)
    if number not in _IDENTIFIERS:
        raise Refused(PARAM_INVALID, f"{number} is no thread; give what start_thread or threading.get_ident returned")
    device = target.context.device.index
    if queue_of(target) is not None:
        raise Refused(STREAM_SUBSCRIBE, f"stream {stream} is served by thread {target.reporter}; unsubscribe it first")
    queue = report_queue(number)
    queue.streams.intersection_update(streams.objects)  # a dead thread's, whose identifier is used again, may be left
    if queue.streams and queue.device != device:
        raise Refused(
            THREAD_SUBSCRIBE, f"thread {thread_id} serves device {queue.device}; it cannot serve {device} too"
        )
    most = _MOST_THREADS_310 if target.context.device.device.properties.soc.startswith("Ascend310") else _MOST_THREADS
    if not queue.streams and reporting_threads() >= most:
        raise Refused(THREAD_SUBSCRIBE, f"{most} threads serve streams, and no more can; let one serve several streams")
    target.reporter, queue.device = queue.thread, device
    queue.streams.add(target.handle)


def queue_of(stream: Stream) -> ReportQueue | None:
    """Return the queue of the thread that serves a stream; a thread that ended took its queue, and what it served, along."""
    if stream.reporter:
        queue = known_queue(stream.reporter)
        if queue is not None and stream.handle in queue.streams:
            return queue
        stream.reporter = 0
    return None


@code_alone
def unsubscribe_report(thread_id: int, stream: int, /) -> int:
    """Undo `subscribe_report`; calls that were launched before are still reported. The thread wakes up.

    Args:
        thread_id: the thread.
        stream: 0 stands for the default one.

    Returns:
        0; 107012 if the thread serves no stream; 107011 if it does not serve this one; other codes as
        `subscribe_report`.

    Source: aclrtUnSubscribeReport.
    """
    unsubscribe(thread_id, stream)
    return 0


def unsubscribe(thread_id: int, stream: int) -> None:
    """Undo `subscribe`; raises for what `unsubscribe_report` has codes for."""
    target, queue = stream_at(stream), known_queue(index(thread_id))
    if queue is None or not queue.streams:
        raise Refused(THREAD_SUBSCRIBE, f"thread {thread_id} serves no stream")
    if target.reporter != queue.thread:
        raise Refused(STREAM_SUBSCRIBE, f"stream {stream} is not served by thread {thread_id}")
    target.reporter = 0
    queue.unsubscribe(target.handle)


@code_alone
def launch_callback(fn: Callable[[Any], object], user_data: object, block_type: int, stream: int, /) -> int:
    """Submit ``fn(user_data)`` to a stream; the subscribed thread calls it in `process_report`.

    Args:
        fn: called with the same object, as its one argument.
        user_data: any object, a list as a rule; kept alive until the call.
        block_type: 1 lets what is submitted later wait for the call, 0 does not.
        stream: 0 stands for the default one.

    Returns:
        0, which means submitted; 107015 if no thread is subscribed to the stream; 107000 for another block type; other
        codes as `subscribe_report`. An exception of ``fn`` is printed, and is code 500001 at the next synchronise.

    Source: aclrtLaunchCallback.
    """
    check_callable(fn)
    block_type = index(block_type)
    target = stream_at(stream)
    if block_type not in (0, 1):
        raise Refused(PARAM_INVALID, f"a callback's block type is 0 or 1, not {block_type}")
    queue = queue_of(target)
    if queue is None:
        raise Refused(
            STREAM_NO_CALLBACK, f"no thread reports callbacks of stream {stream}; call subscribe_report first"
        )
    submit(target, fn, user_data, queue, blocks=bool(block_type))
    return 0


def submit(
    target: Stream, function: Callable[[Any], object], argument: object, queue: ReportQueue | None, *, blocks: bool
) -> None:
    """Submit a call to a stream, for the thread of a queue, or for one of the runtime's."""
    call = _Callback(function, argument, queue, (target, blocks))
    watch(target, target.stream.call(call, on=queue, block=blocks))


@code_alone
def process_report(timeout: int, /) -> int:
    """Wait for callbacks of the streams that this thread serves, and run those that are there.

    That none came is an answer, not a failure: it leaves no last error and no text.

    Args:
        timeout: milliseconds to wait for the first one; -1 waits for ever.

    Returns:
        0; 507012 when none came in time, or the wait was ended by ``unsubscribe_report`` or ``stop_thread``; 107012
        when none came and the thread serves no stream; 107000 for 0 and below -1.

    Source: aclrtProcessReport.
    """
    return process(timeout)


def process(timeout: int) -> int:
    """Run what waits for this thread; return 0 or 507012, and raise for the other codes of `process_report`."""
    timeout = index(timeout)
    if timeout != -1 and timeout < 1:
        raise Refused(PARAM_INVALID, f"a timeout is -1 (for ever) or at least 1 millisecond, not {timeout}")
    queue = report_queue(threading.get_ident())
    if queue.process(seconds(timeout)):
        return 0
    if not queue.streams:
        raise Polled(THREAD_SUBSCRIBE, "no stream is bound to this thread; call subscribe_report with its identifier")
    return REPORT_TIMEOUT
