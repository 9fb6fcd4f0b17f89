"""Memory by address: what was allocated, and tensors on what an address means."""

from __future__ import annotations

import os
import threading
from bisect import bisect_right, insort
from typing import TYPE_CHECKING

import aacl
from aacl.errors import ClosedResource, InvalidArgument, InvalidMemoryRange
from acl._devices import devices
from acl._handles import count_also, hooks, list_also
from acl._state import at_finalize
from acl._status import Refused

if TYPE_CHECKING:
    from acl._contexts import Context

__all__ = (
    "allocate",
    "allocate_host",
    "check_host",
    "device_buffer",
    "device_span",
    "free",
    "free_host",
    "host_blocks",
    "host_buffer",
    "other_memory",
    "read",
    "tensor_at",
)


def allocate(context: Context, nbytes: int, rule: aacl.memory.AllocationRule) -> int:
    """Allocate device memory and return its address."""
    buffer = context.allocate(nbytes, rule)
    context.blocks[buffer.address] = buffer
    return buffer.address


def free(address: int, kind: str = "") -> None:
    """Free an allocation.

    Args:
        address: its first byte.
        kind: the media call that made it; empty for the calls of ``acl.rt``.

    Raises:
        InvalidArgument: no such allocation starts there, or another kind of call frees it.
    """
    for device in [*devices.values()]:
        if device.media or kind:
            made = device.media.get(address, "")
            if made != kind and address in device.blocks:
                raise InvalidArgument(
                    f"{address:#x} was allocated by {made or 'acl.rt'}; free it with the call that belongs to that one"
                )
            device.media.pop(address, None)
        buffer = device.blocks.pop(address, None)
        if buffer is not None:
            buffer.free()
            return
    raise _nothing_there(address)


def _nothing_there(address: int) -> InvalidArgument:
    if not address:
        return InvalidArgument("cannot free address 0")
    if aacl.memory.mapped_buffer(address) is not None:
        return InvalidArgument(f"{address:#x} is mapped memory; end that with acl.rt.unmap_mem")
    start = aacl.memory.allocation_at(address)
    if start is not None and start != address:
        return InvalidArgument(f"{address:#x} lies inside the allocation at {start:#x}; free that address")
    if address in host_blocks:
        return InvalidArgument(f"{address:#x} is host memory of acl.rt.malloc_host; free it with acl.rt.free_host")
    return InvalidArgument(f"no allocation starts at {address:#x}; it was freed before, or the pointer is wrong")


_nothing = aacl.HostBuffer(1)
"""Where tensors without elements lie, whatever address they were given."""
_host_lock = threading.Lock()
host_blocks: dict[int, aacl.HostBuffer] = {}
"""Memory of ``malloc_host``, by first address."""
_host_starts: list[int] = []  # the keys of host_blocks, sorted
host_range = [0, 0]
"""Where `host_blocks` have ever lain: what is outside needs no look-up."""


def allocate_host(nbytes: int) -> int:
    """Allocate host memory and return its address."""
    buffer = aacl.HostBuffer(nbytes)
    with _host_lock:
        host_blocks[buffer.address] = buffer
        insort(_host_starts, buffer.address)
        host_range[:] = [_host_starts[0], max(host_range[1], buffer.address + nbytes)]
    if hooks.made is not None:
        hooks.made("host block", buffer.address)
    return buffer.address


def free_host(address: int) -> None:
    """Free host memory.

    Raises:
        InvalidArgument: `allocate_host` gave no such address, or it was freed before.
    """
    with _host_lock:
        buffer = host_blocks.pop(address, None)
        if buffer is not None:
            del _host_starts[bisect_right(_host_starts, address) - 1]
    if buffer is None:
        if any(address in device.blocks for device in [*devices.values()]):
            raise InvalidArgument(f"{address:#x} is device memory; free it with acl.rt.free")
        raise InvalidArgument(f"no memory of acl.rt.malloc_host starts at {address:#x}; was it freed before?")
    buffer.free()


def host_buffer(address: int, nbytes: int) -> aacl.HostBuffer | None:
    """Return the host allocation that a span lies in, or None."""
    with _host_lock:
        place = bisect_right(_host_starts, address) - 1
        buffer = host_blocks.get(_host_starts[place]) if place >= 0 else None
    return buffer if buffer is not None and address + nbytes <= buffer.address + buffer.nbytes else None


def check_host(address: int, nbytes: int) -> None:
    """Raise `InvalidMemoryRange` for a span that begins in host memory of ours and ends outside.

    What lies behind it may be mapped and in use, so nothing else would notice.
    """
    with _host_lock:
        place = bisect_right(_host_starts, address) - 1
        buffer = host_blocks.get(_host_starts[place]) if place >= 0 else None
    if buffer is not None and address < buffer.address + buffer.nbytes < address + nbytes:
        raise InvalidMemoryRange(f"{nbytes} bytes at {address:#x} reach beyond {buffer!r}")


def device_buffer(address: int) -> aacl.Buffer | None:
    """Return the allocation of ours that holds an address, or None."""
    for device in [*devices.values()]:
        buffer = device.blocks.get(address)
        if buffer is not None:
            return buffer
    start = aacl.memory.allocation_at(address)
    if start is None:
        return None
    for device in [*devices.values()]:
        buffer = device.blocks.get(start)
        if buffer is not None:
            return buffer
    return aacl.memory.mapped_buffer(address)


def device_span(address: int, nbytes: int) -> aacl.Buffer:
    """Return the allocation of ours that a span lies in.

    Raises:
        InvalidMemoryRange: none does.
    """
    buffer = device_buffer(address)
    if buffer is None or nbytes > buffer.address + buffer.reserved_nbytes - address:
        raise InvalidMemoryRange(f"no {nbytes} bytes at {address:#x} lie in an allocation of the device")
    return buffer


def tensor_at(desc: aacl.TensorDesc, address: int) -> aacl.Tensor:
    """Return a tensor on memory of the device, or on host memory where a program passes that.

    Raises:
        InvalidMemoryRange: the memory is not mapped, or ends before the tensor does.
    """
    if not desc.nbytes:
        return aacl.Tensor(desc, aacl.memory.host_memory(_nothing.address, 0))
    buffer = device_buffer(address)
    if buffer is None:
        return aacl.Tensor(desc, other_memory(address, desc.nbytes))
    try:
        return aacl.Tensor(desc, buffer, address - buffer.address)
    except ClosedResource:  # freed by another thread in between
        raise Refused(ClosedResource.code, f"the memory at {address:#x} was freed") from None


def other_memory(address: int, nbytes: int) -> aacl.Buffer:
    """Return a buffer on memory that was not allocated by ``acl.rt``: the host's, or that of native tensors.

    Raises:
        InvalidMemoryRange: it is not mapped, reaches beyond memory of `allocate_host`, or is memory of the device that
            is not allocated.
    """
    if aacl.memory.is_device_address(address):
        start = aacl.memory.allocation_at(address)
        if start is None or aacl.memory.allocation_at(address + max(nbytes, 1) - 1) != start:
            raise InvalidMemoryRange(
                f"{nbytes} bytes at {address:#x} are not within an allocation of the device; were they freed?"
            )
    else:
        check_host(address, nbytes)
    return aacl.memory.host_memory(address, nbytes)


def read(address: int, nbytes: int) -> bytes:
    """Return a copy of memory.

    Raises:
        InvalidMemoryRange: it is not mapped, or reaches beyond an allocation.
    """
    check_host(address, nbytes)
    return aacl.memory.read_bytes(address, nbytes)


def _count() -> int:
    return sum(len(device.blocks) for device in [*devices.values()])


def _nbytes() -> int:
    return sum(buffer.reserved_nbytes for device in [*devices.values()] for buffer in [*device.blocks.values()])


def _host_nbytes() -> int:
    return sum(buffer.nbytes for buffer in [*host_blocks.values()])


def _list() -> list[tuple[int, int]]:
    return [
        (address, buffer.reserved_nbytes)
        for device in [*devices.values()]
        for address, buffer in [*device.blocks.items()]
    ]


def _list_host() -> list[tuple[int, int]]:
    return [(address, buffer.nbytes) for address, buffer in [*host_blocks.items()]]


def _release_host() -> None:
    if hooks.swept is not None:
        hooks.swept("host block", _list_host())
    with _host_lock:
        for buffer in host_blocks.values():
            buffer.free()
        host_blocks.clear()
        _host_starts.clear()


def _after_fork() -> None:
    """Another thread of the parent may have held the lock, and changed half of what it guards."""
    global _host_lock
    _host_lock = threading.Lock()
    _host_starts[:] = sorted(host_blocks)


count_also("device block", _count)
count_also("device block bytes", _nbytes)
count_also("host block", host_blocks.__len__)
count_also("host block bytes", _host_nbytes)
list_also("device block", _list)
list_also("host block", _list_host)
at_finalize(_release_host)
os.register_at_fork(after_in_child=_after_fork)
