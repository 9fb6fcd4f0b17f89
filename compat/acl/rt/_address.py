"""Reserved addresses, and what is mapped there."""

from __future__ import annotations

import threading
from operator import index
from typing import TYPE_CHECKING

from aacl.errors import InvalidArgument
from acl._contexts import at_close
from acl._devices import current
from acl._handles import count_also, hooks, list_also
from acl._state import at_finalize
from acl._status import PARAM_INVALID, Refused, code_alone, with_code
from acl.rt._physical import PAGE, no_flags, physical_memory

if TYPE_CHECKING:
    import aacl

__all__ = ("map_mem", "release_mem_address", "reserve_mem_address", "unmap_mem")

_KIND = "reserved address range"
_PAGES = (0, 1)  # flags of reserve_mem_address: whether in huge pages
_ranges: dict[int, aacl.memory.AddressRange] = {}
_lock = threading.Lock()  # addresses that are released are another thread's at once


@with_code(0)
def reserve_mem_address(size: int, alignment: int, expect_ptr: int, flags: int, /) -> tuple[int, int]:
    """Reserve addresses of the current device without memory.

    Until ``map_mem`` they are good for nothing: calls that get one return 107000.

    Args:
        size: bytes; a multiple of 2 MiB. Addresses cost no memory.
        alignment: 0, or a power of two; the address is a multiple of it, and of 2 MiB.
        expect_ptr: where to, if it is free and a multiple; 0 for anywhere.
        flags: 0, or 1 for huge pages, which is the same here.

    Returns:
        (address, 0); (0, code): 100000 for a size below 1; 107000 for a size that is no multiple of 2 MiB, another
        alignment, or other flags; 207001 when so many addresses are not free; 107002 without a context.

    Source: aclrtReserveMemAddress.
    """
    nbytes, alignment, wanted = index(size), index(alignment), index(expect_ptr)
    context = current()
    no_flags(flags, _PAGES)
    if nbytes < 1:
        raise InvalidArgument(f"cannot reserve {nbytes} bytes of addresses; ask for at least {PAGE}")
    try:
        with _lock:
            found = context.device.device.reserve_addresses(nbytes, alignment=alignment, wanted=wanted)
            _ranges[found.address] = found
    except InvalidArgument as error:
        raise Refused(PARAM_INVALID, str(error)) from None
    if hooks.made is not None:
        hooks.made(_KIND, found.address)
    return found.address, 0


@code_alone
def release_mem_address(vir_ptr: int, /) -> int:
    """Give reserved addresses back; nothing is mapped there any more.

    Args:
        vir_ptr: the address, of `reserve_mem_address`.

    Returns:
        0; 100000 for 0; 107000 for what `reserve_mem_address` did not return, and while something is mapped.

    Source: aclrtReleaseMemAddress.
    """
    address = index(vir_ptr)
    with _lock:
        found = _ranges.get(address)
        if found is None:
            raise _not_reserved(address, "are released from the address that acl.rt.reserve_mem_address returned")
        found.release()
        _ranges.pop(address, None)
    return 0


@code_alone
def map_mem(vir_ptr: int, size: int, offset: int, handle: int, flags: int, /) -> int:
    """Map physical memory at reserved addresses; it is used as memory of ``malloc`` from now on.

    What is mapped side by side is one span. One memory may be mapped several times.

    Args:
        vir_ptr: where: a multiple of 2 MiB, in addresses of ``reserve_mem_address``.
        size: bytes; a multiple of 2 MiB.
        offset: the first byte of the physical memory to map; a multiple of 2 MiB.
        handle: of ``malloc_physical`` or ``mem_import_from_shareable_handle``.
        flags: 0.

    Returns:
        0; 100000 for a null address or handle; 107008 for an address that is no multiple of 2 MiB; 107000 for other
        sizes and offsets, addresses that are not reserved or where something is mapped, and other flags; 107017 for
        a handle that is none.

    Source: aclrtMapMem.
    """
    address, nbytes, start = index(vir_ptr), index(size), index(offset)
    memory = physical_memory.get(handle)
    no_flags(flags)
    if nbytes < 1:
        raise Refused(PARAM_INVALID, f"cannot map {nbytes} bytes; a multiple of {PAGE} is mapped")
    _range_of(address).map(memory, address, offset=start, nbytes=nbytes)
    return 0


@code_alone
def unmap_mem(vir_ptr: int, /) -> int:
    """End a mapping. What was submitted before still finds the memory; arrays of it stay readable.

    Args:
        vir_ptr: the address that was given to `map_mem`.

    Returns:
        0; 100000 for 0; 107000 for what is not the address that was given to `map_mem`.

    Source: aclrtUnmapMem.
    """
    address = index(vir_ptr)
    _range_of(address).unmap(address)
    return 0


def _range_of(address: int) -> aacl.memory.AddressRange:
    for found in [*_ranges.values()]:
        if found.address <= address < found.address + found.nbytes:
            return found
    raise _not_reserved(address, "lie in what acl.rt.reserve_mem_address returned")


def _not_reserved(address: int, rule: str) -> Exception:
    if not address:
        return InvalidArgument("the address is null; acl.rt.reserve_mem_address returns one")
    return Refused(PARAM_INVALID, f"{address:#x} is not reserved: addresses {rule}")


def _drop_closed() -> None:
    """Forget the addresses of devices that were closed."""
    gone = [(address, found.nbytes) for address, found in [*_ranges.items()] if found.closed]
    if gone and hooks.swept is not None:
        hooks.swept(_KIND, gone)
    for address, _ in gone:
        _ranges.pop(address, None)


def _list() -> list[tuple[int, int]]:
    return [(address, found.nbytes) for address, found in [*_ranges.items()]]


count_also(_KIND, _ranges.__len__)
list_also(_KIND, _list)
at_close(_drop_closed)
at_finalize(_ranges.clear)
