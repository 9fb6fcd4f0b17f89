"""Memory of the device and of the host: allocated, freed, counted."""

from __future__ import annotations

from operator import index
from typing import Any

import aacl
from aacl.errors import InvalidArgument
from acl import _blocks
from acl._devices import current, in_use
from acl._status import code_alone, with_code
from acl._threads import here
from acl.rt._malloc_config import wanted_device
from acl.rt._physical import ATTRIBUTES

__all__ = (
    "free",
    "free_host",
    "get_mem_info",
    "malloc",
    "malloc_align32",
    "malloc_cached",
    "malloc_for_task_scheduler",
    "malloc_host",
    "malloc_host_with_cfg",
    "malloc_with_cfg",
)

_MALLOC, _ALIGN32, _CACHED = aacl.memory.MALLOC, aacl.memory.ALIGN32, aacl.memory.CACHED


@with_code(0)
def malloc(size: int, policy: int, /) -> tuple[int, int]:
    """Allocate device memory, not cleared; the address is a multiple of 64.

    Args:
        size: bytes; rounded up to 32, and 32 more are taken.
        policy: which pages to use, an ``aclrtMemMallocPolicy``; makes no difference here.

    Returns:
        (address, 0); (0, code): 100000 for a size below 1, 207001 when nothing is free that is long enough,
        107002 without a context.

    Source: aclrtMalloc.
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
def malloc_align32(size: int, policy: int, /) -> tuple[int, int]:
    """Allocate device memory as `malloc` does, without the 32 more bytes; the address is a multiple of 32.

    Args:
        size: bytes.
        policy: as for `malloc`.

    Returns:
        (address, 0); (0, code) as `malloc`.

    Source: aclrtMallocAlign32.
    """
    index(policy)
    return _blocks.allocate(current(), index(size), _ALIGN32), 0


@with_code(0)
def malloc_cached(size: int, policy: int, /) -> tuple[int, int]:
    """Allocate device memory as `malloc` does.

    Args:
        size: bytes.
        policy: as for `malloc`.

    Returns:
        (address, 0); (0, code) as `malloc`.

    Source: aclrtMallocCached.
    """
    index(policy)
    return _blocks.allocate(current(), index(size), _CACHED), 0


@with_code(0)
def malloc_with_cfg(size: int, policy: int, cfg: Any, /) -> tuple[int, int]:
    """Allocate device memory as `malloc` does.

    Args:
        size: bytes.
        policy: as `malloc`.
        cfg: 0 or None for nothing more, or a list of attributes ``{"attr": number, "value": number}``, by itself or
            as ``{"attrs": [..], "numAttrs": n}``: 1 with the number of a module, for statistics, which changes
            nothing; 2 with a device in use, for memory of that one; 3 with 0 or 1, whether host and device use one
            address, which changes nothing.

    Returns:
        As `malloc`; 100000 also for an attribute that is not known or has no such value, 107001 and 107002 for a
        device that is none or not in use.

    Source: aclrtMallocWithCfg.
    """
    return _allocate_with(size, policy, cfg), 0


@with_code(0)
def malloc_for_task_scheduler(size: int, policy: int, cfg: Any, /) -> tuple[int, int]:
    """Allocate device memory that the task scheduler of the device reads and writes; here any memory of the device is.

    Args:
        size: bytes.
        policy: as for `malloc`.
        cfg: as for `malloc_with_cfg`.

    Returns:
        (address, 0); (0, code) as `malloc_with_cfg`.

    Source: aclrtMallocForTaskScheduler.
    """
    return _allocate_with(size, policy, cfg), 0


def _allocate_with(size: int, policy: int, cfg: Any) -> int:
    nbytes = index(size)
    index(policy)
    context, wanted = current(), wanted_device(cfg)
    if wanted is not None:
        context = in_use(wanted).default
    return _blocks.allocate(context, nbytes, _MALLOC)


@code_alone
def free(dev_ptr: int, /) -> int:
    """Free device memory of `malloc` and its siblings; work that is queued may use it still.

    Args:
        dev_ptr: the address.

    Returns:
        0; 100000 for any other address, also one inside an allocation, and for memory of ``dvpp_malloc``.

    Source: aclrtFree.
    """
    _blocks.free(index(dev_ptr))
    return 0


@with_code(0)
def malloc_host(size: int, /) -> tuple[int, int]:
    """Allocate host memory for asynchronous copies, not cleared; the address is a multiple of 64.

    Args:
        size: bytes.

    Returns:
        (address, 0); (0, code): 100000 for a size below 1, 200000 when the host has no such memory, 107002 without a
        context.

    Source: aclrtMallocHost.
    """
    current()
    return _blocks.allocate_host(index(size)), 0


@with_code(0)
def malloc_host_with_cfg(size: int, cfg: Any, /) -> tuple[int, int]:
    """Allocate host memory as `malloc_host` does.

    Args:
        size: bytes.
        cfg: as `malloc_with_cfg`; no attribute changes anything.

    Returns:
        As `malloc_host`; 100000 also for an attribute that is not known or has no such value.

    Source: aclrtMallocHostWithCfg.
    """
    nbytes = index(size)
    current()
    wanted_device(cfg)
    return _blocks.allocate_host(nbytes), 0


@code_alone
def free_host(host_ptr: int, /) -> int:
    """Free memory of `malloc_host`.

    Args:
        host_ptr: the address.

    Returns:
        0; 100000 for any other address.

    Source: aclrtFreeHost.
    """
    _blocks.free_host(index(host_ptr))
    return 0


@with_code(0, 0)
def get_mem_info(attr: int, /) -> tuple[int, int, int]:
    """Return how much memory the current device has, which is one memory, whichever kind is asked for.

    Args:
        attr: an ``aclrtMemAttr``.

    Returns:
        (free bytes, bytes in all, 0); (0, 0, code): 100000 for another number, 107002 without a context.

    Source: aclrtGetMemInfo.
    """
    if index(attr) not in ATTRIBUTES:
        raise InvalidArgument(f"memory attribute {attr} is not known; they go from 0 to {ATTRIBUTES[-1]}")
    info = current().device.device.memory()
    return info.free, info.total, 0
