"""Streams as programs see them: by handle, each with the thread that reports its callbacks."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import aacl
from acl._handles import Handles
from acl._threads import drop_queue, is_alive, report_queue

if TYPE_CHECKING:
    from acl._contexts import Context

__all__ = ("Stream", "close_stream", "forget_stream", "report_here", "streams")

_GLANCE = 0.01
"""Seconds between looks at a stream while this thread reports its calls."""


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
    """
    if not drop:
        report_here(stream)
    stream.context.streams.pop(stream.handle, None)
    forget_stream(stream)
    if drop:
        stream.stream.abort_nowait()
        threading.Thread(target=aacl.blocking.close, args=(stream.stream,), kwargs={"drop": True}, daemon=True).start()
    else:
        aacl.blocking.close(stream.stream)


def report_here(stream: Stream) -> None:
    """Report a stream's calls until it is through its work, if this very thread is the one to do so."""
    if stream.reporter == threading.get_ident():
        barrier, queue = stream.stream.barrier(), report_queue(stream.reporter)
        while not barrier.done():
            queue.process(_GLANCE)


def forget_stream(stream: Stream) -> None:
    """Let a stream's handle be dead, and end its subscription.

    Calls that no living thread will report fail now, or whoever ends the stream would wait for ever.
    """
    streams.objects.pop(stream.handle, None)
    if stream.reporter:
        if is_alive(stream.reporter):
            report_queue(stream.reporter).unsubscribe(stream.handle)
        else:
            drop_queue(stream.reporter)
        stream.reporter = 0
