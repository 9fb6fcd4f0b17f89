"""Memory of the device and of the host: allocated, freed, counted."""

from __future__ import annotations

from operator import index

import aacl
from aacl.errors import InvalidArgument, UnalignedAddress
from acl import _blocks
from acl._devices import current
from acl._state import at_finalize
from acl._status import API_NOT_SUPPORTED, INVALID_PARAM, Refused, code_alone, with_code
from acl._threads import here

__all__ = (
    "free",
    "free_host",
    "get_mem_info",
    "host_register",
    "host_unregister",
    "malloc",
    "malloc_align32",
    "malloc_cached",
    "malloc_host",
    "mem_flush",
    "mem_invalidate",
)

_MALLOC, _ALIGN32, _CACHED = aacl.memory.MALLOC, aacl.memory.ALIGN32, aacl.memory.CACHED
_ATTRIBUTES = range(18)  # aclrtMemAttr
_PAGE = 4096
_registered: dict[int, int] = {}
at_finalize(_registered.clear)


@with_code(0)
def malloc(size: int, policy: int) -> tuple[int, int]:
    """Allocate device memory, not cleared; the address is a multiple of 64.

    Args:
        size: bytes; rounded up to 32, and 32 more are taken.
        policy: which pages to use, an ``aclrtMemMallocPolicy``; makes no difference here.

    Returns:
        (address, 0); (0, code): 100000 for a size below 1, 207001 when nothing is free that is long enough,
        107002 without a context.
    """
    # The hot path of every program: `_blocks.allocate`, written out.
    context = here.context
    if context is None or context.closed:
        context = current()
    index(policy)
    buffer = context.allocate(index(size))
    address = buffer.address
    context.blocks[address] = buffer
    return address, 0


@with_code(0)
def malloc_align32(size: int, policy: int) -> tuple[int, int]:
    """Allocate device memory as `malloc` does, without the 32 more bytes; the address is a multiple of 32."""
    index(policy)
    return _blocks.allocate(current(), index(size), _ALIGN32), 0


@with_code(0)
def malloc_cached(size: int, policy: int) -> tuple[int, int]:
    """Allocate device memory as `malloc` does."""
    index(policy)
    return _blocks.allocate(current(), index(size), _CACHED), 0


@code_alone
def free(dev_ptr: int) -> int:
    """Free device memory of `malloc` and its siblings; work that is queued may use it still.

    Returns:
        0; 100000 for any other address, also one inside an allocation, and for memory of ``dvpp_malloc``.
    """
    _blocks.free(index(dev_ptr))
    return 0


@with_code(0)
def malloc_host(size: int) -> tuple[int, int]:
    """Allocate host memory for asynchronous copies, not cleared; the address is a multiple of 64.

    Returns:
        (address, 0); (0, code): 100000 for a size below 1, 200000 when the host has no such memory,
        107002 without a context.
    """
    current()
    return _blocks.allocate_host(index(size)), 0


@code_alone
def free_host(host_ptr: int) -> int:
    """Free memory of `malloc_host`. Returns 0; 100000 for any other address."""
    _blocks.free_host(index(host_ptr))
    return 0


@with_code(0, 0)
def get_mem_info(attr: int) -> tuple[int, int, int]:
    """Return (free bytes, bytes in all, 0) of the current device, which has one memory, whichever kind is asked for.

    Args:
        attr: an ``aclrtMemAttr``.

    Returns:
        (0, 0, code): 100000 for another number, 107002 without a context.
    """
    if index(attr) not in _ATTRIBUTES:
        raise InvalidArgument(f"memory attribute {attr} is not known; they go from 0 to {_ATTRIBUTES[-1]}")
    info = current().device.device.memory()
    return info.free, info.total, 0


@code_alone
def mem_flush(dev_ptr: int, size: int) -> int:
    """Write a cache back to memory; there is none to write. Returns 0; 107000 for memory that is not the device's."""
    _check_device(dev_ptr, size)
    return 0


@code_alone
def mem_invalidate(dev_ptr: int, size: int) -> int:
    """Drop a cache of memory; there is none to drop. Returns 0; 107000 for memory that is not the device's."""
    _check_device(dev_ptr, size)
    return 0


def _check_device(address: int, nbytes: int) -> None:
    address, nbytes = index(address), index(nbytes)
    buffer = _blocks.device_buffer(address)
    if buffer is None or not 0 < nbytes <= buffer.address + buffer.reserved_nbytes - address:
        raise aacl.InvalidMemoryRange(f"no {nbytes} bytes at {address:#x} lie in an allocation of the device")


@with_code(0)
def host_register(ptr: int, size: int, type: int) -> tuple[int, int]:
    """Let the device reach host memory.

    Args:
        ptr: its address, a multiple of 4096.
        size: bytes.
        type: 0, mapped.

    Returns:
        (address for the device, 0), which is the same one; (0, code): 107008 for another alignment, 107000 if it
        is not mapped, 100000 for a size below 1 or memory registered before, 200001 for another type.
    """
    address, nbytes = index(ptr), index(size)
    current()
    if index(type) != 0:
        raise Refused(API_NOT_SUPPORTED, f"host memory can be registered as mapped, type 0, not as type {type}")
    if address % _PAGE:
        raise UnalignedAddress(f"{address:#x} is no multiple of {_PAGE}")
    if nbytes < 1 or address in _registered:
        raise InvalidArgument(f"{nbytes} bytes at {address:#x} are none, or were registered before")
    aacl.memory.host_memory(address, nbytes)
    _registered[address] = nbytes
    return address, 0


@code_alone
def host_unregister(ptr: int) -> int:
    """Undo `host_register`. Returns 0; 100000 for memory that is not registered."""
    if _registered.pop(index(ptr), None) is None:
        raise Refused(INVALID_PARAM, f"the host memory at {ptr:#x} is not registered")
    return 0
