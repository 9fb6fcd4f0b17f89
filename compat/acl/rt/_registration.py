"""Host memory that the device reaches: registered by the program, by address."""

from __future__ import annotations

import threading
from operator import index
from typing import NamedTuple

import aacl
from aacl.errors import InvalidArgument, UnalignedAddress
from acl import _blocks
from acl._devices import current
from acl._handles import count_also, hooks, list_also
from acl._state import at_finalize
from acl._status import API_NOT_SUPPORTED, INVALID_PARAM, PARAM_INVALID, Refused, code_alone, with_code

__all__ = ("host_get_device_pointer", "host_register", "host_register_v2", "host_unregister", "is_registered")

_PAGE = 4096
_MAPPED, _PINNED = 0x2, 0x10000000  # flags of host_register_v2
_KIND = "registered host memory"


class _Registered(NamedTuple):
    """A span of host memory, and whether the device has an address for it."""

    nbytes: int
    is_mapped: bool


_registered: dict[int, _Registered] = {}
_lock = threading.Lock()  # of what is registered anew


def is_registered(address: int) -> bool:
    """Whether an address lies in host memory that is registered."""
    return _found(address) is not None


def _found(address: int) -> _Registered | None:
    for first, each in [*_registered.items()]:
        if first <= address < first + each.nbytes:
            return each
    return None


def _register(address: int, nbytes: int, *, is_mapped: bool) -> None:
    current()
    if not address:
        raise InvalidArgument("cannot register host memory at address 0")
    if is_mapped and address % _PAGE:
        raise UnalignedAddress(f"{address:#x} is no multiple of {_PAGE}, as memory that is to be mapped has to be")
    if nbytes < 1:
        raise InvalidArgument(f"cannot register {nbytes} bytes of host memory; give at least 1")
    if aacl.memory.is_device_address(address):
        raise InvalidArgument(f"{address:#x} is memory of the device, which it reaches anyway")
    aacl.memory.host_memory(address, nbytes)
    _blocks.check_host(address, nbytes)
    with _lock:
        _check_free(address, nbytes)
        _registered[address] = _Registered(nbytes, is_mapped)
    if hooks.made is not None:
        hooks.made(_KIND, address)


def _check_free(address: int, nbytes: int) -> None:
    for first, each in [*_registered.items()]:
        if first < address + nbytes and address < first + each.nbytes:
            raise InvalidArgument(
                f"{nbytes} bytes at {address:#x} were registered before, as {each.nbytes} bytes at {first:#x}; "
                "call acl.rt.host_unregister first"
            )


@with_code(0)
def host_register(ptr: int, size: int, type: int, /) -> tuple[int, int]:
    """Let the device reach host memory.

    Args:
        ptr: its address, a multiple of 4096.
        size: bytes.
        type: 0, mapped.

    Returns:
        (address for the device, 0), which is the same one; (0, code): 107008 for another alignment, 107000 if it
        is not mapped, 100000 for null, a size below 1, memory of the device, and what overlaps memory registered
        before; 200001 for another type; 107002 without a context.

    Source: aclrtHostRegister.
    """
    address, nbytes = index(ptr), index(size)
    current()
    if index(type) != 0:
        raise Refused(API_NOT_SUPPORTED, f"host memory can be registered as mapped, type 0, not as type {type}")
    _register(address, nbytes, is_mapped=True)
    return address, 0


@code_alone
def host_register_v2(ptr: int, size: int, flag: int, /) -> int:
    """Register host memory, for copies or for the device; `host_unregister` undoes it.

    Args:
        ptr: its address; a multiple of 4096 if it is to be mapped.
        size: bytes.
        flag: 0x2 to map it, so that `host_get_device_pointer` tells the device's address; 0x10000000 to pin it; or
            both.

    Returns:
        0; 107000 for other flags, others as `host_register`.

    Source: aclrtHostRegisterV2.
    """
    address, nbytes, flags = index(ptr), index(size), index(flag)
    if not flags or flags & ~(_MAPPED | _PINNED):
        raise Refused(PARAM_INVALID, f"flags {flags:#x} are not known; give {_MAPPED:#x}, {_PINNED:#x}, or both")
    _register(address, nbytes, is_mapped=bool(flags & _MAPPED))
    return 0


@with_code(0)
def host_get_device_pointer(host_ptr: int, flag: int, /) -> tuple[int, int]:
    """Tell the address by which the device reaches host memory.

    Args:
        host_ptr: in memory that is registered as mapped, or of ``malloc_host``.
        flag: 0.

    Returns:
        (address, 0), which is the same one; (0, code): 100000 for 0, 107000 for other memory and other flags.

    Source: aclrtHostGetDevicePointer.
    """
    address = index(host_ptr)
    if index(flag):
        raise Refused(PARAM_INVALID, f"flag {flag} is not known; give 0")
    if not address:
        raise InvalidArgument("the host address is null")
    found = _found(address)
    if not (found is not None and found.is_mapped) and _blocks.host_buffer(address, 1) is None:
        raise Refused(
            PARAM_INVALID,
            f"the host memory at {address:#x} is not mapped for the device; register it with "
            f"acl.rt.host_register_v2(ptr, size, {_MAPPED})",
        )
    return address, 0


@code_alone
def host_unregister(ptr: int, /) -> int:
    """Undo `host_register` and `host_register_v2`.

    Args:
        ptr: the address.

    Returns:
        0; 100000 for what is not the start of registered memory.

    Source: aclrtHostUnregister.
    """
    address = index(ptr)
    if _registered.pop(address, None) is None:
        raise Refused(INVALID_PARAM, f"the host memory at {address:#x} is not registered")
    return 0


def _list() -> list[tuple[int, int]]:
    return [(address, each.nbytes) for address, each in [*_registered.items()]]


def _drop_all() -> None:
    """Forget what is registered, with the runtime."""
    if _registered and hooks.swept is not None:
        hooks.swept(_KIND, _list())
    _registered.clear()


count_also(_KIND, _registered.__len__)
list_also(_KIND, _list)
at_finalize(_drop_all)
