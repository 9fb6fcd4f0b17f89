"""Streams as programs see them: by handle, each with the thread that reports its callbacks."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import aacl
from aacl.errors import ClosedResource
from acl._handles import Handles
from acl._status import STREAM_NOT_COMPLETE, Refused
from acl._threads import drop_queue, here, is_alive, known_queue, settle

if TYPE_CHECKING:
    from collections.abc import Callable

    from acl._contexts import Context

__all__ = ("Stream", "close_stream", "drain", "forget_stream", "refuse_in_callback", "streams")


class Stream:
    """A stream.

    Attributes:
        context: what it belongs to.
        stream: the native stream.
        handle: its handle.
        reporter: the thread that reports its callbacks, or 0.
    """

    __slots__ = ("context", "handle", "reporter", "stream")

    def __init__(self, context: Context) -> None:
        self.context, self.reporter = context, 0
        self.stream = aacl.blocking.open_resource(aacl.Stream(context.context, fair=False))
        self.handle = streams.add(self)


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
    if drop:
        stream.stream.abort_nowait()
        threading.Thread(target=aacl.blocking.close, args=(stream.stream,), kwargs={"drop": True}, daemon=True).start()
    else:
        aacl.blocking.close(stream.stream)


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
