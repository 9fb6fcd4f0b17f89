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
    "LOWEST_PRIORITY",
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
LOWEST_PRIORITY = 7
"""Priorities go from 0, the highest, to this one."""
_COMPLETE, _NOT_READY = 0, 1


@with_code(0)
def create_stream() -> tuple[int, int]:
    """Make a stream in this thread's context.

    Returns:
        (handle, 0); (0, 107002) without a context.

    Source: aclrtCreateStream.
    """
    return _devices.create_stream().handle, 0


@with_code(0)
def create_stream_with_config(priority: int, flag: int, /) -> tuple[int, int]:
    """Make a stream; priority and flag only steer hardware, and make no difference here.

    Args:
        priority: from 0, the highest, to 7; others are taken for the nearest (``get_stream_attribute`` tells it).
        flag: bits 1 (fast launch) and 2 (fast synchronise); with others the stream is an ordinary one.

    Returns:
        (handle, 0); (0, 107002) without a context.

    Source: aclrtCreateStreamWithConfig.
    """
    priority, _ = index(priority), index(flag)
    stream = _devices.create_stream()
    stream.priority = min(max(priority, 0), LOWEST_PRIORITY)
    return stream.handle, 0


@code_alone
def destroy_stream(stream: int, /) -> int:
    """Wait for a stream's work and end it.

    Args:
        stream: one of `create_stream`; not 0, the default one, which ends with its context.

    Returns:
        0; 100000 for the default one; 107002 without a context; 107003 if it belongs to another context; 107017 if it
        is no stream (any more); 507004 in a callback of the stream itself, which stays; otherwise the code of its work
        that failed and that nobody had synchronised (it is ended then too).

    Source: aclrtDestroyStream.
    """
    close_stream(own_stream(stream))
    return 0


@code_alone
def destroy_stream_force(stream: int, /) -> int:
    """End a stream: what has not started is dropped, what runs is not waited for.

    Args:
        stream: one of `create_stream`, not 0.

    Returns:
        0; codes as `destroy_stream`, but those of failed work.

    Source: aclrtDestroyStreamForce.
    """
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
def synchronize_stream(stream: int, /) -> int:
    """Wait until a stream is through its work; other threads run meanwhile.

    Args:
        stream: 0 stands for the default one.

    Returns:
        0; the code of the first failure that nobody received yet (each is reported once): 507018 of an operator, 507011
        of a model, 500001 of a Python callback, 507014 and 507047 past the limits of ``set_op_execute_time_out`` and
        ``set_op_wait_timeout``; the code of the failure that stopped the stream, each time until it goes on
        (``set_stream_failure_mode``); 107002, 107003 and 107017 for no context, a stream of another one, and no stream;
        507004 in a blocking callback of the stream itself.

    Source: aclrtSynchronizeStream.
    """
    wait(stream_at(stream))
    return 0


@code_alone
def synchronize_stream_with_timeout(stream: int, timeout: int, /) -> int:
    """Do what `synchronize_stream` does for a time.

    Args:
        stream: 0 stands for the default one.
        timeout: milliseconds; -1 waits for ever, 0 looks once.

    Returns:
        0; 507046 when the time is over, and the work goes on; 107000 below -1; other codes as `synchronize_stream`.

    Source: aclrtSynchronizeStreamWithTimeout.
    """
    wait(stream_at(stream), seconds(timeout))
    return 0


@with_code(_NOT_READY)
def stream_query(stream: int, /) -> tuple[int, int]:
    """Tell whether a stream is through its work; failures are left for a synchronise.

    Args:
        stream: 0 stands for the default one.

    Returns:
        (0, 0) when it is, (1, 0) when not; (1, code) with codes as `synchronize_stream` for what is no stream of this
        thread's context.

    Source: aclrtStreamQuery.
    """
    native = stream_at(stream).stream
    # One that has stopped at a failure is never idle; there only barriers pass.
    is_over = native.idle or (native.stopped_by is not None and native.barrier(detached=False).done())
    return _COMPLETE if is_over else _NOT_READY, 0


@code_alone
def stream_abort(stream: int, /) -> int:
    """Drop a stream's work that has not started; what runs goes on, and is not waited for.

    Args:
        stream: 0 stands for the default one.

    Returns:
        0; codes as `synchronize_stream` for what is no stream of this thread's context.

    Source: aclrtStreamAbort.
    """
    stream_at(stream).stream.abort_nowait()
    return 0


@with_code(0)
def stream_get_id(stream: int, /) -> tuple[int, int]:
    """Tell a stream's number, which counts the streams of this process.

    Args:
        stream: 0 stands for the default one.

    Returns:
        (number, 0); (0, code) with codes as `synchronize_stream` for what is no stream of this thread's context.

    Source: aclrtStreamGetId.
    """
    return stream_at(stream).stream.number, 0


@with_code(0)
def get_stream_available_num() -> tuple[int, int]:
    """Tell how many more streams the current device can make, as the card counts them; nothing here runs out.

    Returns:
        (streams, 0); (0, 107002) without a context.

    Source: aclrtGetStreamAvailableNum.
    """
    device = _devices.current().device
    used = sum(1 + len(context.streams) for context in [*device.contexts])
    return max(0, _MOST - used), 0
