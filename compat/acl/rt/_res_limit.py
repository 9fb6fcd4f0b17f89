"""How many cores work may use: of a device, of a stream, and in a thread.

The runtime keeps the limits and tells them; whoever cuts a kernel into blocks asks `get_res_in_current_thread`, as the
operators of the real device do. The software device's own operators take the cores that have nothing to do.
"""

from __future__ import annotations

import threading
from operator import index

from aacl.errors import InvalidArgument
from acl._devices import OpenDevice, current, devices, existing, in_use, properties_of, stream_at
from acl._status import PARAM_INVALID, Refused, code_alone, with_code
from acl._streams import Stream, streams

__all__ = (
    "get_device_res_limit",
    "get_res_in_current_thread",
    "get_stream_res_limit",
    "reset_device_res_limit",
    "reset_stream_res_limit",
    "set_device_res_limit",
    "set_stream_res_limit",
    "unuse_stream_res_in_current_thread",
    "use_stream_res_in_current_thread",
)

_CUBE, _VECTOR = 0, 1  # ACL_RT_DEV_RES_CUBE_CORE and ACL_RT_DEV_RES_VECTOR_CORE


class _Thread(threading.local):
    stream: Stream | None = None
    """Whose limits hold in this thread before those of the device."""


_thread = _Thread()


@with_code(0)
def get_device_res_limit(device_id: int, type: int, /) -> tuple[int, int]:
    """Return how many cores of a device work of this process may use.

    Args:
        device_id: the device.
        type: cube cores (0) or vector cores (1).

    Returns:
        (cores, 0), all of them if no limit was set; (0, 107001) if there is no such device; (0, 100000) for another
        type.

    Source: aclrtGetDeviceResLimit.
    """
    number, kind = existing(device_id), _kind(type)
    device = devices.get(number)
    return properties_of(number).cores if device is None else _of_device(device, kind), 0


@code_alone
def set_device_res_limit(device_id: int, type: int, value: int, /) -> int:
    """Limit the cores of a device that work of this process may use, until it is reset.

    Args:
        device_id: the device.
        type: cube cores (0) or vector cores (1).
        value: from 1 to the cores of the device.

    Returns:
        0; 107000 for a value out of range; 100000 for another type; 107001 if there is no such device; 107002 if it is
        not in use.

    Source: aclrtSetDeviceResLimit.
    """
    device, kind = in_use(device_id), _kind(type)
    device.limits[kind] = _limit(value, device)
    return 0


@code_alone
def reset_device_res_limit(device_id: int, /) -> int:
    """Let work of this process use all cores of a device again.

    Args:
        device_id: the device.

    Returns:
        0; 107001 if there is no such device; 107002 if it is not in use.

    Source: aclrtResetDeviceResLimit.
    """
    in_use(device_id).limits.clear()
    return 0


@with_code(0)
def get_stream_res_limit(stream: int, type: int, /) -> tuple[int, int]:
    """Return how many cores work of a stream may use.

    Args:
        stream: the stream; 0 stands for the default one.
        type: cube cores (0) or vector cores (1).

    Returns:
        (cores, 0), the device's if no limit was set; (0, 100000) for another type; (0, code) as ``synchronize_stream``
        for what is no stream of this thread's context.

    Source: aclrtGetStreamResLimit.
    """
    return _of_stream(stream_at(stream), _kind(type)), 0


@code_alone
def set_stream_res_limit(stream: int, type: int, value: int, /) -> int:
    """Limit the cores that work of a stream may use; it goes before the device's limit.

    Args:
        stream: the stream; 0 stands for the default one.
        type: cube cores (0) or vector cores (1).
        value: from 1 to the cores of the device.

    Returns:
        0; 107000 for a value out of range; 100000 for another type; codes as ``synchronize_stream`` for what is no
        stream of this thread's context.

    Source: aclrtSetStreamResLimit.
    """
    target, kind = stream_at(stream), _kind(type)
    target.limits[kind] = _limit(value, target.context.device)
    return 0


@code_alone
def reset_stream_res_limit(stream: int, /) -> int:
    """Let work of a stream use what the device's limit allows again.

    Args:
        stream: the stream; 0 stands for the default one.

    Returns:
        0; codes as ``synchronize_stream`` for what is no stream of this thread's context.

    Source: aclrtResetStreamResLimit.
    """
    stream_at(stream).limits.clear()
    return 0


@code_alone
def use_stream_res_in_current_thread(stream: int, /) -> int:
    """Let a stream's limits be those of this thread, in the place of another stream's.

    Args:
        stream: the stream; 0 stands for the default one.

    Returns:
        0; codes as ``synchronize_stream`` for what is no stream of this thread's context.

    Source: aclrtUseStreamResInCurrentThread.
    """
    _thread.stream = stream_at(stream)
    return 0


@code_alone
def unuse_stream_res_in_current_thread(stream: int, /) -> int:
    """Undo `use_stream_res_in_current_thread`.

    Args:
        stream: the stream; 0 stands for the default one.

    Returns:
        0; 107000 if this thread does not use the stream's limits; codes as ``synchronize_stream`` for what is no stream
        of this thread's context.

    Source: aclrtUnuseStreamResInCurrentThread.
    """
    if _thread.stream is not stream_at(stream):
        raise Refused(PARAM_INVALID, f"this thread does not use the limits of stream {stream}")
    _thread.stream = None
    return 0


@with_code(0)
def get_res_in_current_thread(type: int, /) -> tuple[int, int]:
    """Return how many cores work that this thread submits may use.

    Args:
        type: cube cores (0) or vector cores (1).

    Returns:
        (cores, 0): by the limit of the stream that the thread uses, else by that of the current device; (0, 100000) for
        another type; (0, 107002) without a context.

    Source: aclrtGetResInCurrentThread.
    """
    kind, device = _kind(type), current().device
    stream = _thread.stream
    if stream is None or streams.objects.get(stream.handle) is not stream:  # it was destroyed
        return _of_device(device, kind), 0
    return _of_stream(stream, kind), 0


def _of_stream(stream: Stream, kind: int) -> int:
    limit = stream.limits.get(kind)
    return _of_device(stream.context.device, kind) if limit is None else limit


def _of_device(device: OpenDevice, kind: int) -> int:
    return device.limits.get(kind, device.device.properties.cores)


def _kind(type: int) -> int:
    kind = index(type)
    if kind not in (_CUBE, _VECTOR):
        raise InvalidArgument(f"resource {kind} is not known; 0 stands for cube cores, 1 for vector cores")
    return kind


def _limit(value: int, device: OpenDevice) -> int:
    value, cores = index(value), device.device.properties.cores
    if not 1 <= value <= cores:
        raise Refused(PARAM_INVALID, f"a limit of {value} cores; device {device.index} has {cores}, and 1 is the least")
    return value
