"""Devices: counted use, the current one, what they are."""

from __future__ import annotations

from contextlib import suppress
from operator import index
from time import monotonic
from typing import TYPE_CHECKING

import aacl
from aacl.errors import ClosedResource, InvalidArgument, WaitTimeout
from acl import _devices
from acl._devices import current, existing, in_use
from acl._status import code_alone, with_code
from acl._streams import refuse_in_callback
from acl.rt._wait import block, seconds, wait_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acl._streams import Stream

__all__ = (
    "device_task_abort",
    "get_device",
    "get_device_count",
    "get_device_utilization_rate",
    "get_primary_ctx_state",
    "get_run_mode",
    "query_device_status",
    "reset_device",
    "reset_device_force",
    "set_device",
    "set_ts_device",
    "synchronize_device",
    "synchronize_device_with_timeout",
)

_HOST = 1  # ACL_HOST: programs copy, and load no binaries for the board
_UNKNOWN = -1
_NORMAL = 0  # ACL_RT_DEVICE_STATUS_NORMAL
_SCHEDULERS = (0, 1)  # ACL_TS_ID_AICORE and ACL_TS_ID_AIVECTOR


@code_alone
def set_device(device_id: int, /) -> int:
    """Use a device in this thread, with the default context that all threads share; counted against `reset_device`.

    Args:
        device_id: the device, from 0 on.

    Returns:
        0; 107001 if there is no such device; 100001 before ``acl.init``.

    Source: aclrtSetDevice.
    """
    _devices.set_device(device_id)
    return 0


@code_alone
def reset_device(device_id: int, /) -> int:
    """Use a device once less. The last one waits for its work and ends its contexts, streams and memory.

    Args:
        device_id: the device.

    Returns:
        0; 107002 if it is not in use; 107001 if there is no such device; 507004 in a callback of one of its streams, if
        this was the last use, and then it counts still; otherwise the code of queued work that failed and whose stream
        nobody had synchronised (the device is closed then too).

    Source: aclrtResetDevice.
    """
    _devices.reset_device(device_id)
    return 0


@code_alone
def reset_device_force(device_id: int, /) -> int:
    """End the use of a device whatever the count is, as the last `reset_device` does.

    Args:
        device_id: the device.

    Returns:
        0; codes as `reset_device`.

    Source: aclrtResetDeviceForce.
    """
    _devices.reset_device(device_id, at_once=True)
    return 0


@with_code(0)
def get_device() -> tuple[int, int]:
    """Return the device of this thread's context.

    Returns:
        (number, 0); (0, 107002) if the thread has none; (0, 100001) before ``acl.init``.

    Source: aclrtGetDevice.
    """
    return current().device.index, 0


@code_alone
def set_ts_device(ts_id: int, /) -> int:
    """Choose which of the current device's schedulers takes the work of this thread; here they are one.

    Args:
        ts_id: that of the AI cores (0) or of the vector cores (1).

    Returns:
        0; 100000 for another one; 107002 without a context.

    Source: aclrtSetTsDevice.
    """
    scheduler = index(ts_id)
    current()
    if scheduler not in _SCHEDULERS:
        raise InvalidArgument(f"scheduler {scheduler} is not known; 0 is that of the AI cores, 1 of the vector cores")
    return 0


@with_code(0)
def get_device_count() -> tuple[int, int]:
    """Return how many devices there are, in use or not.

    Returns:
        (number, 0).

    Source: aclrtGetDeviceCount.
    """
    return aacl.device_count(), 0


@with_code(0)
def get_run_mode() -> tuple[int, int]:
    """Return where the program runs.

    Returns:
        (1, 0): on a host, and it copies between host and device.

    Source: aclrtGetRunMode.
    """
    return _HOST, 0


@with_code(0)
def query_device_status(device_id: int, /) -> tuple[int, int]:
    """Return how a device is.

    Args:
        device_id: the device; it need not be in use.

    Returns:
        (0, 0), which means normal; (0, 107001) if there is no such device.

    Source: aclrtQueryDeviceStatus.
    """
    existing(device_id)
    return _NORMAL, 0


@with_code({})
def get_device_utilization_rate(device_id: int, /) -> tuple[dict[str, int], int]:
    """Return how much of a device is used.

    Args:
        device_id: the device; it need not be in use.

    Returns:
        ({"cube_utilization", "vector_utilization", "aicpu_utilization", "memory_utilization", "utilization_extend"},
        0): memory in percent of a device that is in use, else 0; -1 for the rest, for the software device's cores are
        the host's, which it does not count. ({}, 107001) if there is no such device.

    Source: aclrtGetDeviceUtilizationRate.
    """
    device = _devices.devices.get(existing(device_id))
    memory = 0
    if device is not None:
        info = device.device.memory()
        memory = 100 * info.used // info.total
    unknown = dict.fromkeys(("cube_utilization", "vector_utilization", "aicpu_utilization"), _UNKNOWN)
    return {**unknown, "memory_utilization": memory, "utilization_extend": _UNKNOWN}, 0


@with_code(0, 0)
def get_primary_ctx_state(device_id: int, /) -> tuple[int, int, int]:
    """Return whether a device's default context is there.

    Args:
        device_id: the device.

    Returns:
        (flags, active, 0): no flags, and 1 or 0; (0, 0, 107001) if there is no such device.

    Source: aclrtGetPrimaryCtxState.
    """
    return 0, int(_devices.is_active(existing(device_id))), 0


@code_alone
def synchronize_device() -> int:
    """Wait until all streams of the current context's device are through their work.

    Returns:
        0; 107002 without a context; otherwise the code of the first failure that nobody received.

    Source: aclrtSynchronizeDevice.
    """
    _synchronize(None)
    return 0


@code_alone
def synchronize_device_with_timeout(timeout: int, /) -> int:
    """Do what `synchronize_device` does for a time.

    Args:
        timeout: milliseconds; -1 waits for ever.

    Returns:
        As `synchronize_device`; 507046 when the time is over, and the work goes on; 107000 below -1.

    Source: aclrtSynchronizeDeviceWithTimeout.
    """
    _synchronize(seconds(timeout))
    return 0


def _synchronize(timeout: float | None) -> None:
    contexts = [*current().device.contexts]  # other threads make some and end some meanwhile
    wait_all([stream for each in contexts for stream in each.all_streams()], timeout)


@code_alone
def device_task_abort(device_id: int, timeout: int, /) -> int:
    """Drop what has not started in any stream of a device, and wait for what runs; the streams then go on.

    Args:
        device_id: the device.
        timeout: milliseconds; -1 waits for ever, 0 looks once.

    Returns:
        0; 507046 when the time is over: the work is dropped, and what runs goes on; 107000 below -1; 107001 if there is
        no such device; 107002 if it is not in use; 507004 in a blocking callback of one of its streams, and then
        nothing is dropped. Failures are left for a synchronise.

    Source: aclrtDeviceTaskAbort.
    """
    existing(device_id)
    left, device = seconds(timeout), in_use(device_id)
    refuse_in_callback(
        "abort the work of its own device", lambda stream, blocks: blocks and stream.context.device is device
    )
    streams = [stream for each in [*device.contexts] for stream in each.all_streams()]
    for stream in streams:
        with suppress(ClosedResource):  # by another thread
            stream.stream.abort_nowait()
    _settle(streams, left)
    return 0


def _settle(streams: Sequence[Stream], timeout: float | None) -> None:
    """Wait until streams are through, however their work ended; raises `WaitTimeout` when the time is over."""
    end = None if timeout is None else monotonic() + timeout
    for stream in streams:
        with suppress(ClosedResource):
            barrier = stream.stream.barrier(detached=False)
            if not block(barrier, None if end is None else max(0.0, end - monotonic())):
                raise WaitTimeout(f"stream {stream.handle} is not through what runs after {timeout} s; that goes on")
