"""What an address is."""

from __future__ import annotations

from operator import index
from typing import Any

import aacl
from aacl.errors import InvalidArgument, InvalidMemoryRange
from acl import _blocks
from acl._devices import current, devices
from acl._status import with_code
from acl.rt._registration import is_registered

__all__ = ("pointer_get_attributes",)

_HOST, _DEVICE, _UNREGISTERED = 0, 1, 2  # aclrtMemLocationType
_PAGE, _HUGE_PAGE = 4096, 2 << 20
_HUGE_FROM = 1 << 20  # larger allocations get huge pages, where the program does not say otherwise


@with_code({})
def pointer_get_attributes(ptr: int, /) -> tuple[dict[str, Any], int]:
    """Tell where an address lies.

    Args:
        ptr: any address; it may point into an allocation.

    Returns:
        (``{"location": {"id": 0, "type": 1}, "pageSize": 2097152, "rsv": [0, 0, 0, 0]}``, 0). The type is 0 for host
        memory of ``malloc_host`` or that is registered, 1 for a device's, 2 for other memory of the host, mapped or
        not; the id is the device's number, for memory of the host 0. Pages are of 2 MiB in device allocations above
        1 MiB and in mapped memory, else of 4096 bytes. ({}, code): 100000 for 0; 107000 for an address of a device
        at which nothing is allocated; 107002 without a context.

    Source: aclrtPointerGetAttributes.
    """
    address = index(ptr)
    current()
    if not address:
        raise InvalidArgument("the address is null")
    if aacl.memory.is_device_address(address):
        return _on_device(address), 0
    is_ours = _blocks.host_buffer(address, 1) is not None or is_registered(address)
    return _attributes(0, _HOST if is_ours else _UNREGISTERED, _PAGE), 0


def _on_device(address: int) -> dict[str, Any]:
    start = aacl.memory.allocation_at(address)
    if start is None:
        raise InvalidMemoryRange(f"nothing is allocated, or mapped, at {address:#x}; was it freed?")
    mapped = aacl.memory.mapped_buffer(address)
    if mapped is not None:
        return _attributes(mapped.device_index, _DEVICE, _HUGE_PAGE)
    for number, device in [*devices.items()]:
        buffer = device.blocks.get(start)
        if buffer is not None:
            return _attributes(number, _DEVICE, _HUGE_PAGE if buffer.reserved_nbytes > _HUGE_FROM else _PAGE)
    return _attributes(current().device.index, _DEVICE, _PAGE)  # of a tensor that the runtime itself made


def _attributes(number: int, kind: int, page: int) -> dict[str, Any]:
    return {"location": {"id": number, "type": kind}, "pageSize": page, "rsv": [0] * 4}
