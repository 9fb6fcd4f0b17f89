"""Streams."""

from __future__ import annotations

from operator import index

from aacl.errors import InvalidArgument
from acl import _devices
from acl._devices import stream_at
from acl._status import code_alone, with_code
from acl._streams import Stream, close_stream
from acl.rt._wait import seconds, wait

__all__ = (
    "create_stream",
    "create_stream_with_config",
    "destroy_stream",
    "destroy_stream_force",
    "get_stream_available_num",
    "own_stream",
    "stream_abort",
    "stream_get_id",
    "stream_query",
    "synchronize_stream",
    "synchronize_stream_with_timeout",
)

_MOST = 1984  # streams of a device, as the documentation of the 310P family states
_COMPLETE, _NOT_READY = 0, 1


@with_code(0)
def create_stream() -> tuple[int, int]:
    """Make a stream in this thread's context. Returns (handle, 0); (0, 107002) without a context."""
    return _devices.create_stream().handle, 0


@with_code(0)
def create_stream_with_config(priority: int, flag: int) -> tuple[int, int]:
    """Make a stream; priority and flag only steer hardware, and make no difference here.

    Args:
        priority: from 0, the highest, to 7; others are taken for the nearest.
        flag: bits 1 (fast launch) and 2 (fast synchronise); with others the stream is an ordinary one.

    Returns:
        (handle, 0); (0, 107002) without a context.
    """
    index(priority), index(flag)
    return _devices.create_stream().handle, 0


@code_alone
def destroy_stream(stream: int) -> int:
    """Wait for a stream's work and end it.

    Returns:
        0; 100000 for 0; 107003 if it belongs to another context; 107017 if it is no stream (any more);
        507004 in a callback of the stream itself, which stays; otherwise the code of its work that failed and that
        nobody had synchronised (it is ended then too).
    """
    close_stream(own_stream(stream))
    return 0


@code_alone
def destroy_stream_force(stream: int) -> int:
    """End a stream: what has not started is dropped, what runs is not waited for. Codes as `destroy_stream`."""
    close_stream(own_stream(stream), drop=True)
    return 0


def own_stream(handle: int, default: str = "ends with its context") -> Stream:
    """Return a stream that a program made.

    Args:
        handle: of the stream.
        default: what the default one does instead.
    """
    if not index(handle):
        raise InvalidArgument(f"stream 0, the default one, {default}; give a stream of create_stream")
    stream = stream_at(handle)
    if stream is stream.context.default_stream:
        raise InvalidArgument(f"stream {handle} is the default one, which {default}; give a stream of create_stream")
    return stream


@code_alone
def synchronize_stream(stream: int) -> int:
    """Wait until a stream is through its work; 0 stands for the default one.

    Returns:
        0; the code of the first failure that nobody received yet (each is reported once): 507018 of an
        operator, 507011 of a model, 500001 of a Python callback; 107002, 107003 and 107017 for no
        context, a stream of another one, and no stream; 507004 in a blocking callback of the stream itself.
    """
    wait(stream_at(stream))
    return 0


@code_alone
def synchronize_stream_with_timeout(stream: int, timeout: int) -> int:
    """Do what `synchronize_stream` does for a time.

    Args:
        stream: the stream; 0 stands for the default one.
        timeout: milliseconds; -1 waits for ever, 0 looks once.

    Returns:
        As `synchronize_stream`; 507046 when the time is over, and the work goes on; 107000 below -1.
    """
    wait(stream_at(stream), seconds(timeout))
    return 0


@with_code(_NOT_READY)
def stream_query(stream: int) -> tuple[int, int]:
    """Return (0, 0) when a stream is through its work, (1, 0) when it is not; failures are left for a synchronise."""
    return _COMPLETE if stream_at(stream).stream.idle else _NOT_READY, 0


@code_alone
def stream_abort(stream: int) -> int:
    """Drop a stream's work that has not started; what runs goes on, and is not waited for."""
    stream_at(stream).stream.abort_nowait()
    return 0


@with_code(0)
def stream_get_id(stream: int) -> tuple[int, int]:
    """Return (number, 0): counts the streams of this process."""
    return stream_at(stream).stream.number, 0


@with_code(0)
def get_stream_available_num() -> tuple[int, int]:
    """Return (streams that the current device can still make, 0), as the card counts them; nothing here runs out."""
    device = _devices.current().device
    used = sum(1 + len(context.streams) for context in device.contexts)
    return max(0, _MOST - used), 0
