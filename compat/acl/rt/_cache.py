"""Caches between the device's cores and its memory: there are none here that a program could see."""

from __future__ import annotations

from operator import index

from aacl.errors import InvalidArgument, InvalidMemoryRange
from acl import _blocks
from acl._devices import stream_at
from acl._status import code_alone

__all__ = ("cmo_async", "mem_flush", "mem_invalidate")

_OPERATIONS = ("prefetch", "write back", "invalidate", "flush")  # aclrtCmoType


@code_alone
def mem_flush(dev_ptr: int, size: int, /) -> int:
    """Write a cache back to memory; there is none to write.

    Args:
        dev_ptr: the address.
        size: bytes.

    Returns:
        0; 107000 for memory that is not the device's.

    Source: aclrtMemFlush.
    """
    _check_device(index(dev_ptr), index(size))
    return 0


@code_alone
def mem_invalidate(dev_ptr: int, size: int, /) -> int:
    """Drop a cache of memory; there is none to drop.

    Args:
        dev_ptr: the address.
        size: bytes.

    Returns:
        0; 107000 for memory that is not the device's.

    Source: aclrtMemInvalidate.
    """
    _check_device(index(dev_ptr), index(size))
    return 0


@code_alone
def cmo_async(src: int, size: int, cmo_type: int, stream: int, /) -> int:
    """Submit a cache operation to a stream. It changes no contents, and nothing is to be done here.

    Args:
        src: memory of the device; may point into an allocation.
        size: bytes, at least 1.
        cmo_type: an ``aclrtCmoType``: 0 fetches the memory into the cache before it is used, 1 writes back, 2
            invalidates, 3 flushes.
        stream: 0 stands for the default one.

    Returns:
        0; 100000 for a null address or another type; 107000 for bytes outside an allocation of the device; others as
        ``synchronize_stream``.

    Source: aclrtCmoAsync.
    """
    address, nbytes, kind = index(src), index(size), index(cmo_type)
    stream_at(stream)
    if not 0 <= kind < len(_OPERATIONS):
        raise InvalidArgument(f"cache operation {kind} is not known; they go from 0 to {len(_OPERATIONS) - 1}")
    if not address:
        raise InvalidArgument(f"cannot {_OPERATIONS[kind]} the cache of address 0")
    _check_device(address, nbytes)
    return 0


def _check_device(address: int, nbytes: int) -> None:
    if nbytes < 1:
        raise InvalidMemoryRange(f"a cache holds at least 1 byte of an address's memory, not {nbytes}")
    _blocks.device_span(address, nbytes)
