"""Copies and fills by address: the addresses tell which memory is meant."""

from __future__ import annotations

import ctypes

from aacl._number import size, whole
from aacl.errors import InvalidArgument
from aacl.memory import _host
from aacl.memory._space import Lease, space_of

__all__ = ("allocation_at", "check_span", "copy", "fill", "is_device_address", "read_bytes")

_PIECE = 1 << 20


def is_device_address(address: int) -> bool:
    """Whether an address lies in the memory of an open device."""
    return space_of(address) is not None


def allocation_at(address: int) -> int | None:
    """Return the first address of the device allocation that holds an address, or None."""
    space = space_of(address)
    block = None if space is None else space.find(address)
    return None if block is None else block.start


def check_span(address: int, nbytes: int, act: str) -> Lease | None:
    """Check that a span could be copied, and return the lease that keeps it in place if it is a device's.

    Raises:
        InvalidMemoryRange: it is not within one live allocation, or is host memory that is not mapped.
    """
    space = space_of(address)
    if nbytes < 0:
        raise InvalidArgument(f"a number of bytes is not negative; {nbytes} was given")
    if space is not None:
        lease: Lease = space.check(address, nbytes, act).owner
        return lease
    if nbytes:
        _host.check_mapped(address, nbytes, act)
    return None


def copy(target: int, source: int, nbytes: int) -> int:
    """Copy ``nbytes`` between any two addresses, of host or device memory, at once.

    Device addresses may point into an allocation. Overlapping spans are copied as memmove does.

    Returns:
        The direction: 0 from host to host, 1 from host to device, 2 from device to host, 3 on devices; also when
        there was nothing to copy, as far as addresses tell.

    Raises:
        InvalidMemoryRange: bytes outside an allocation, or host memory that is not mapped or not writable.
        InvalidArgument: a negative size, or what is no whole number.
    """
    if type(target) is not int or type(source) is not int or type(nbytes) is not int or nbytes < 0:
        target, source, nbytes = whole(target, "an address"), whole(source, "an address"), size(nbytes)
    to, of = space_of(target), space_of(source)
    if not nbytes:
        return (to is not None) + 2 * (of is not None)
    if to is not None:
        to.check(target, nbytes, "write")
        if of is None:
            _host.read(target, source, nbytes)
            return 1
        of.check(source, nbytes, "read")
        to.backend.copy(target, source, nbytes)
        return 3
    if of is not None:
        of.check(source, nbytes, "read")
        _host.write(target, source, nbytes)
        return 2
    _copy_on_host(target, source, nbytes)
    return 0


def _copy_on_host(target: int, source: int, nbytes: int) -> None:
    if _host.is_known(source, nbytes):
        _host.write(target, source, nbytes)
    elif _host.is_known(target, nbytes):
        _host.read(target, source, nbytes)
    else:  # neither end is known to be good: through memory of our own, which an absurd size must not ask for
        _host.check_mapped(source, nbytes, "read")
        _host.check_mapped(target, nbytes, "write")
        staged = ctypes.create_string_buffer(nbytes)
        _host.read(ctypes.addressof(staged), source, nbytes)
        _host.write(target, ctypes.addressof(staged), nbytes)


def fill(address: int, value: int, nbytes: int) -> None:
    """Set ``nbytes`` from an address, of host or device memory, to the low byte of ``value``.

    Raises:
        InvalidMemoryRange: bytes outside an allocation, or host memory that is not mapped or not writable.
        InvalidArgument: a negative size, or what is no whole number.
    """
    address, value, nbytes = whole(address, "an address"), whole(value, "a byte"), size(nbytes)
    if not nbytes:
        return
    space = space_of(address)
    if space is not None:
        space.check(address, nbytes, "fill")
        space.backend.fill(address, value & 0xFF, nbytes)
    elif _host.is_known(address, nbytes):
        ctypes.memset(address, value & 0xFF, nbytes)
    else:
        _fill_host(address, value & 0xFF, nbytes)


def _fill_host(address: int, value: int, nbytes: int) -> None:
    """Fill host memory that is not known to be good, a piece at a time."""
    _host.check_mapped(address, nbytes, "write")
    piece = ctypes.create_string_buffer(bytes([value]) * min(nbytes, _PIECE))
    for done in range(0, nbytes, _PIECE):
        _host.write(address + done, ctypes.addressof(piece), min(nbytes - done, _PIECE))


def read_bytes(address: int, nbytes: int) -> bytes:
    """Return a copy of ``nbytes`` from an address of host or device memory.

    Raises:
        InvalidMemoryRange: bytes outside an allocation, or host memory that is not mapped.
        InvalidArgument: a negative size, or what is no whole number.
    """
    address, nbytes = whole(address, "an address"), size(nbytes)
    space = space_of(address)
    if space is not None:
        space.check(address, nbytes, "read")
        return ctypes.string_at(address, nbytes)
    if nbytes:
        _host.check_mapped(address, nbytes, "read")
    result = bytearray(nbytes)
    if nbytes:
        _host.read(ctypes.addressof((ctypes.c_char * nbytes).from_buffer(result)), address, nbytes)
    return bytes(result)
