"""Devices: counted use, the current one, what they are."""

from __future__ import annotations

from operator import index

import aacl
from acl import _devices
from acl._devices import current
from acl._status import code_alone, with_code
from acl.rt._wait import seconds, wait_all

__all__ = (
    "get_device",
    "get_device_count",
    "get_device_utilization_rate",
    "get_primary_ctx_state",
    "get_run_mode",
    "query_device_status",
    "reset_device",
    "reset_device_force",
    "set_device",
    "synchronize_device",
    "synchronize_device_with_timeout",
)

_HOST = 1  # ACL_HOST: programs copy, and load no binaries for the board
_UNKNOWN = -1
_NORMAL = 0  # ACL_RT_DEVICE_STATUS_NORMAL


@code_alone
def set_device(device_id: int) -> int:
    """Use a device in this thread, with the default context that all threads share; counted against `reset_device`.

    Returns:
        0; 107001 if there is no such device; 100001 before ``acl.init``.
    """
    _devices.set_device(device_id)
    return 0


@code_alone
def reset_device(device_id: int) -> int:
    """Use a device once less. The last one waits for its work and ends its contexts, streams and memory.

    Returns:
        0; 107002 if it is not in use; 107001 if there is no such device; 507004 in a callback of one of its
        streams, if this was the last use, and then it counts still; otherwise the code of queued work that failed
        and whose stream nobody had synchronised (the device is closed then too).
    """
    _devices.reset_device(device_id)
    return 0


@code_alone
def reset_device_force(device_id: int) -> int:
    """End the use of a device whatever the count is; as the last `reset_device`."""
    _devices.reset_device(device_id, at_once=True)
    return 0


@with_code(0)
def get_device() -> tuple[int, int]:
    """Return (number, 0) of the device of this thread's context; (0, 107002) if the thread has none."""
    return current().device.index, 0


@with_code(0)
def get_device_count() -> tuple[int, int]:
    """Return (devices, 0)."""
    return aacl.device_count(), 0


@with_code(0)
def get_run_mode() -> tuple[int, int]:
    """Return (1, 0): the program runs on a host, and copies between host and device."""
    return _HOST, 0


@with_code(0)
def query_device_status(device_id: int) -> tuple[int, int]:
    """Return (0, 0), which means normal; (0, 107001) if there is no such device."""
    _known(device_id)
    return _NORMAL, 0


@with_code({})
def get_device_utilization_rate(device_id: int) -> tuple[dict[str, int], int]:
    """Return ({"cube_utilization", "vector_utilization", "aicpu_utilization", "memory_utilization", ...}, 0).

    Memory is in percent of a device that is in use, else 0; the software device's cores are the host's, which it does
    not count: -1.

    Returns:
        ({}, 107001) if there is no such device.
    """
    device = _devices.devices.get(_known(device_id))
    memory = 0
    if device is not None:
        info = device.device.memory()
        memory = 100 * info.used // info.total
    unknown = dict.fromkeys(("cube_utilization", "vector_utilization", "aicpu_utilization"), _UNKNOWN)
    return {**unknown, "memory_utilization": memory, "utilization_extend": _UNKNOWN}, 0


@with_code(0, 0)
def get_primary_ctx_state(device_id: int) -> tuple[int, int, int]:
    """Return (flags, active, 0): no flags, and whether the device's default context is there (1 or 0).

    Returns:
        (0, 0, 107001) if there is no such device.
    """
    return 0, int(_devices.is_active(_known(device_id))), 0


def _known(number: int) -> int:
    number = index(number)
    if not 0 <= number < aacl.device_count():
        raise aacl.InvalidDevice(f"there is no device {number}; there are {aacl.device_count()}")
    return number


@code_alone
def synchronize_device() -> int:
    """Wait until all streams of the current context's device are through their work.

    Returns:
        0; 107002 without a context; otherwise the code of the first failure that nobody received.
    """
    _synchronize(None)
    return 0


@code_alone
def synchronize_device_with_timeout(timeout: int) -> int:
    """Do what `synchronize_device` does for a time.

    Args:
        timeout: milliseconds; -1 waits for ever.

    Returns:
        As `synchronize_device`; 507046 when the time is over, and the work goes on; 107000 below -1.
    """
    _synchronize(seconds(timeout))
    return 0


def _synchronize(timeout: float | None) -> None:
    contexts = current().device.contexts
    wait_all([stream for each in contexts for stream in each.all_streams()], timeout)
