"""Memory for media functions of the first version."""

from __future__ import annotations

from operator import index

import aacl
from acl import _blocks
from acl._devices import current
from acl._status import code_alone, with_code

__all__ = ("dvpp_free", "dvpp_malloc")

_KIND = "acl.media.dvpp_malloc"


@with_code(0)
def dvpp_malloc(size: int, /) -> tuple[int, int]:
    """Allocate device memory in pages of 2 MiB; the address is a multiple of 128.

    Args:
        size: bytes; rounded up to whole pages.

    Returns:
        (address, 0); (0, code): 100000 for a size below 1, 207001 when nothing is free that is long enough, 107002
        without a context.
    """
    context = current()
    address = _blocks.allocate(context, index(size), aacl.memory.DVPP)
    context.device.media[address] = _KIND
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
