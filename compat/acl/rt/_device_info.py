"""What a device is: numbers, identity, and what only hardware has."""

from __future__ import annotations

import os
from operator import index
from typing import TYPE_CHECKING

from aacl.errors import InvalidArgument
from acl._devices import existing, properties_of
from acl._status import RT_NOT_SUPPORTED, Refused, code_alone, refused, with_code

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ("device_get_bare_tgid", "device_get_uuid", "get_device_info", "mem_uce_repair")

# aclrtDevAttr
_CORES = (1, 101, 102, 201)  # of the AI CPU, AI cores, cube cores and vector cores
_MEMORY = 301
_HARDWARE = {
    202: "the size of a warp",
    203: "the threads of a vector core",
    204: "the local memory of a vector core",
    302: "the size of the level-2 cache",
    401: "the number of the processor",
    402: "the number of the chip",
    403: "the device's number in a super pod",
    404: "the server's number in a super pod",
    405: "the number of the super pod",
    406: "the privilege of custom operators",
    407: "the number of the mainboard",
    501: "whether it is a slice of a card",
}


@with_code(0)
def get_device_info(device_id: int, attr: int, /) -> tuple[int, int]:
    """Return one number that a device is known by.

    Args:
        device_id: the device; it need not be in use.
        attr: the cores of the AI CPU (1), AI cores (101), cube cores (102) or vector cores (201), all of which are the
            software device's cores here; bytes of memory (301).

    Returns:
        (number, 0); (0, 207000) for what only hardware has (202 to 204, 302, 401 to 407, 501); (0, 100000) for another
        attribute; (0, 107001) if there is no such device.

    Source: aclrtGetDeviceInfo, aclrtDevAttr.
    """
    attr, properties = index(attr), properties_of(existing(device_id))
    if attr in _HARDWARE:
        raise Refused(
            RT_NOT_SUPPORTED, f"attribute {attr}, {_HARDWARE[attr]}, is for hardware; a software device has none"
        )
    if attr != _MEMORY and attr not in _CORES:
        raise InvalidArgument(f"device attribute {attr} is not known; {(*_CORES, _MEMORY)} are")
    return properties.memory if attr == _MEMORY else properties.cores, 0


@with_code(b"")
def device_get_uuid(device_id: int, /) -> tuple[bytes, int]:
    """Return a device's identity, the same in every process of the machine.

    Args:
        device_id: the device; it need not be in use.

    Returns:
        (16 bytes, 0); (b"", 107001) if there is no such device.

    Source: aclrtDeviceGetUuid.
    """
    import uuid  # few programs ask

    number = existing(device_id)
    return uuid.uuid5(uuid.NAMESPACE_OID, f"aacl software device {number} of {os.uname().nodename}").bytes, 0


@with_code(0)
def device_get_bare_tgid() -> tuple[int, int]:
    """Return the number by which devices know this process, for `mem_set_pid_to_shareable_handle`.

    Returns:
        (process number, 0).

    Source: aclrtDeviceGetBareTgid.
    """
    return os.getpid(), 0


@code_alone
@refused("memory errors that cannot be corrected are hardware's: the software device's memory is the host's")
def mem_uce_repair(device_id: int, mem_uce_info_list: Sequence[dict[str, int]], /) -> int:
    """Repair memory with errors that hardware cannot correct; refused, for the software device has none.

    Args:
        device_id: the device.
        mem_uce_info_list: where the errors are, as hardware reports them.

    Returns:
        207000; 107001 if there is no such device.

    Source: aclrtMemUceRepair.
    """
    if not isinstance(mem_uce_info_list, (list, tuple)):
        raise TypeError(f"argument 2 must be list, not {type(mem_uce_info_list).__name__}")
    existing(device_id)
    return 0
