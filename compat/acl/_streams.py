"""Streams as programs see them: by handle, each with the thread that reports its callbacks."""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import aacl
from aacl.errors import ClosedResource
from acl._handles import Handles
from acl._status import STREAM_NOT_COMPLETE, Refused
from acl._threads import drop_queue, here, is_alive, known_queue, settle

if TYPE_CHECKING:
    from collections.abc import Callable

    from acl._contexts import Context

__all__ = (
    "Stream",
    "TimeLimits",
    "close_stream",
    "drain",
    "forget_stream",
    "limit_operators",
    "refuse_in_callback",
    "stop_at_failure",
    "streams",
    "time_limits",
)


class TimeLimits:
    """How long things may take in every stream of the process.

    Attributes:
        operator: seconds of an operator, or None.
        event_wait: seconds of a stream's wait for an event, or None.
    """

    __slots__ = ("event_wait", "operator")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Have no limits."""
        self.operator: float | None = None
        self.event_wait: float | None = None


time_limits = TimeLimits()


class Stream:
    """A stream.

    Attributes:
        context: what it belongs to.
        stream: the native stream.
        handle: its handle.
        reporter: the thread that reports its callbacks, or 0.
        priority: from 0, the highest, to 7; kept, and of no effect on a software device.
        detects_overflow: whether what operators overflow is noted.
        tag: a number of the program's own.
        keeps_operator_info: whether the program asked to keep what operators are launched with.
        limits: how many cores its work may use, by the number of the kind; what is not there is the device's.
        stopped_others: the failure of its own for which it stopped the other streams of its context.
    """

    __slots__ = ("context", "detects_overflow", "handle", "keeps_operator_info", "limits", "priority", "reporter",
                 "stopped_others", "stream", "tag")  # fmt: skip

    def __init__(self, context: Context) -> None:
        self.context, self.reporter = context, 0
        self.detects_overflow = self.keeps_operator_info = False
        self.priority = self.tag = 0
        self.limits: dict[int, int] = {}
        self.stopped_others: BaseException | None = None
        self.stream = aacl.blocking.open_resource(aacl.Stream(context.context, fair=False))
        self.handle = streams.add(self)
        self.stream.operator_timeout = time_limits.operator  # after it is listed: `limit_operators` looks there


streams: Handles[Stream] = Handles("stream")


def close_stream(stream: Stream, *, drop: bool = False) -> None:
    """Wait for a stream's work, or drop what has not started, and end it.

    Raises:
        StreamError: its work failed and nobody had asked; it is ended nevertheless.
        Refused: a callback of this very stream asks, and would wait for itself; the stream stays.
    """
    if not drop:
        refuse_in_callback("wait for the end of its own stream", lambda other, _: other is stream)
        drain(stream)
    stream.context.streams.pop(stream.handle, None)
    forget_stream(stream)
    stop_at_failure(stream, False)
    if drop:
        stream.stream.abort_nowait()
        threading.Thread(target=aacl.blocking.close, args=(stream.stream,), kwargs={"drop": True}, daemon=True).start()
    else:
        aacl.blocking.close(stream.stream)


def stop_at_failure(stream: Stream, stops: bool) -> None:
    """Let a stream, and with it the others of its context, stop when work of it fails; or let all of them go on.

    A stream that another one has stopped goes on alone.
    """
    native = stream.stream
    native.stop_at_failure = stops
    native.on_stop = partial(_stop_others, stream) if stops else None
    if not stops:
        _let_others_go_on(stream)
        if native.stopped_by is not None:
            native.recover()


def _stop_others(stream: Stream, error: BaseException) -> None:
    error.add_note(
        f"it stopped all streams of its context; they go on after acl.rt.set_stream_failure_mode({stream.handle}, 0)"
    )
    stream.stopped_others = error
    for other in stream.context.all_streams():
        if other is not stream:
            with suppress(ClosedResource):  # by another thread
                other.stream.halt(error)
    if stream.stream.on_stop is None:  # meanwhile another thread has ended the stream, or its mode
        _let_others_go_on(stream)


def _let_others_go_on(stream: Stream) -> None:
    """Let the streams that the failure of this one has stopped take work again."""
    error, stream.stopped_others = stream.stopped_others, None
    if error is not None:
        for other in stream.context.all_streams():
            if other is not stream and other.stream.stopped_by is error:
                with suppress(ClosedResource):
                    other.stream.recover()


def limit_operators(seconds: float | None) -> None:
    """Bound how long an operator may take that is submitted from now on, in every stream."""
    time_limits.operator = seconds
    for stream in [*streams.objects.values()]:
        stream.stream.operator_timeout = seconds


def drain(stream: Stream) -> None:
    """Wait until a stream is through its work, reporting what calls this very thread has to report."""
    try:
        barrier = stream.stream.barrier()
    except ClosedResource:  # by another thread
        return
    settle(barrier)


def refuse_in_callback(act: str, waits_for: Callable[[Stream, bool], bool]) -> None:
    """Refuse what would wait for a callback that this very thread runs.

    Args:
        act: what is asked.
        waits_for: called with a callback's stream, and whether that waits for it.

    Raises:
        Refused: it would.
    """
    for stream, blocks in here.callbacks:
        if waits_for(stream, blocks):
            raise Refused(
                STREAM_NOT_COMPLETE,
                f"a callback of stream {stream.handle} cannot {act}: it would wait for itself; do it in another thread",
            )


def forget_stream(stream: Stream) -> None:
    """Let a stream's handle be dead, and end its subscription.

    Calls that no living thread will report fail now, or whoever ends the stream would wait for ever.
    """
    streams.objects.pop(stream.handle, None)
    if stream.reporter:
        queue = known_queue(stream.reporter)
        if not is_alive(stream.reporter):
            drop_queue(stream.reporter)
        elif queue is not None:
            queue.unsubscribe(stream.handle)
        stream.reporter = 0
