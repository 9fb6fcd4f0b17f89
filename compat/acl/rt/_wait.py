"""Waiting for streams: on the caller's thread, other threads running meanwhile, notebooks included."""

from __future__ import annotations

import threading
from operator import index
from time import monotonic
from typing import TYPE_CHECKING

from aacl.errors import ClosedResource, StreamError, WaitTimeout, WouldBlock
from acl._status import PARAM_INVALID, STREAM_NOT_COMPLETE, Refused
from acl._streams import refuse_in_callback
from acl._threads import here, settle

if TYPE_CHECKING:
    from collections.abc import Sequence

    import aacl
    from acl._streams import Stream

__all__ = ("block", "seconds", "wait", "wait_all")

_LONGEST = int(threading.TIMEOUT_MAX) * 1000  # milliseconds that a thread can wait


def seconds(milliseconds: int) -> float | None:
    """Return a timeout in seconds, None for -1.

    Raises:
        Refused: it is below -1 (107000).
    """
    milliseconds = index(milliseconds)
    if milliseconds < -1:
        raise Refused(PARAM_INVALID, f"a timeout is -1 (for ever) or at least 0 milliseconds, not {milliseconds}")
    return None if milliseconds == -1 else min(milliseconds, _LONGEST) / 1000


def wait(stream: Stream, timeout: float | None = None) -> None:
    """Wait for a stream's work, and raise the first failure that nobody received.

    Calls that the stream does not wait for itself (``launch_callback`` without blocking) are not waited for.

    Raises:
        StreamError: work failed; or the stream has stopped at a failure, its own or another stream's, which is the
            cause then, each time until it goes on.
        WaitTimeout: the time is over; the work goes on.
        Refused: a blocking callback of this very stream waits (507004); it would wait for itself.
    """
    native = stream.stream
    barrier = native.barrier(detached=False)
    if not barrier.done():
        if here.callbacks:
            refuse_in_callback("wait for its own stream", lambda other, blocks: blocks and other is stream)
        if not block(barrier, timeout):
            raise WaitTimeout(f"stream {stream.handle} is not through its work after {timeout} s; the work goes on")
    native.raise_failure()
    cause = native.stopped_by
    if cause is not None:
        why = f"{type(cause).__name__}: {cause}"
        raise StreamError(f"stream {stream.handle} has stopped at a failure and takes no tasks: {why}") from cause


def block(mark: aacl.Completion[None] | aacl.Event, timeout: float | None) -> bool:
    """Wait for a command or an event; return whether it is over in time.

    Raises:
        Refused: it comes after a callback that this thread runs (507004).
    """
    try:
        return settle(mark, timeout)
    except WouldBlock as error:
        raise Refused(STREAM_NOT_COMPLETE, f"a callback cannot wait for its own stream: {error}") from None


def wait_all(streams: Sequence[Stream], timeout: float | None) -> None:
    """Wait for several streams, and raise the first failure among them once all are through; raises as `wait` does."""
    end = None if timeout is None else monotonic() + timeout
    failure: BaseException | None = None
    for stream in streams:
        try:
            wait(stream, None if end is None else max(0.0, end - monotonic()))
        except WaitTimeout:
            raise
        except ClosedResource:  # by another thread, which has seen to its work
            continue
        except Exception as error:
            failure = failure or error
    if failure is not None:
        raise failure
