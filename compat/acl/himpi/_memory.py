"""Memory for media functions of the second version."""

from __future__ import annotations

from operator import index

import aacl
from acl import _blocks
from acl._devices import current, devices
from acl._status import INVALID_PARAM, Refused, code_alone, with_code

__all__ = ("dvpp_free", "dvpp_malloc")

_KIND = "acl.himpi.dvpp_malloc"


@with_code(0)
def dvpp_malloc(device_id: int, size: int, /) -> tuple[int, int]:
    """Allocate memory of a device that is in use, in pages of 2 MiB; the address is a multiple of 128.

    Args:
        device_id: the device.
        size: bytes; rounded up to whole pages.

    Returns:
        (address, 0); (0, code): 100000 for a size below 1 or a device that is not in use, 207001 when nothing is
        free that is long enough, 107002 without a context.
    """
    current()
    device = devices.get(index(device_id))
    if device is None:
        raise Refused(INVALID_PARAM, f"device {device_id} is not in use; call acl.rt.set_device first")
    address = _blocks.allocate(device.default, index(size), aacl.memory.DVPP)
    device.media[address] = _KIND
    return address, 0


@code_alone
def dvpp_free(dev_ptr: int, /) -> int:
    """Free memory of `dvpp_malloc`.

    Args:
        dev_ptr: the address.

    Returns:
        0; 100000 for any other address.
    """
    _blocks.free(index(dev_ptr), _KIND)
    return 0
