"""Physical memory: bytes of the device that have no address until ``map_mem`` gives them one.

A program reserves addresses, allocates physical memory, maps it there and uses it as memory of ``malloc``; afterwards
it unmaps, frees and releases.
"""

from __future__ import annotations

import re
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

from aacl.errors import InvalidArgument
from acl._contexts import at_close
from acl._devices import OpenDevice, current, in_use
from acl._handles import Handles
from acl._status import PARAM_INVALID, RT_NOT_SUPPORTED, Refused, code_alone, with_code

if TYPE_CHECKING:
    from collections.abc import Mapping

    import aacl

__all__ = (
    "ATTRIBUTES",
    "PAGE",
    "free_physical",
    "malloc_physical",
    "mem_get_allocation_granularity",
    "no_flags",
    "physical_memory",
)

ATTRIBUTES = range(18)
"""What an ``aclrtMemAttr`` may be."""
PAGE = 2 << 20
"""What physical memory and the addresses that it is mapped at are multiples of, in bytes."""
_LARGE_PAGE = 1 << 30
_LARGE = frozenset({10, 11, 14, 17})  # aclrtMemAttr of memory in pages of 1 GiB
_HBM_HUGE = 4
_HOST, _DEVICE = 0, 1  # aclrtMemLocationType
_OPTIONS = (0, 1)  # aclrtMemGranularityOptions: the least, and the recommended one

physical_memory: Handles[aacl.memory.PhysicalMemory] = Handles("physical memory")
"""What `malloc_physical` and ``mem_import_from_shareable_handle`` made."""


class _Property(NamedTuple):
    """``aclrtPhysicalMemProp``: how physical memory is to be."""

    attribute: int
    device: OpenDevice

    @property
    def page(self) -> int:
        return _LARGE_PAGE if self.attribute in _LARGE else PAGE


_KEYS = ("handleType", "allocationType", "memAttr", "location", "reserve")


def _property(prop_dict: Mapping[str, Any]) -> _Property:
    """Return what a program's dictionary says; keys may be written ``memAttr`` or ``mem_attr``, and be left out."""
    given = _by_key(prop_dict, _KEYS)
    for key in ("handleType", "allocationType"):
        if index(given.get(key, 0)):
            raise Refused(RT_NOT_SUPPORTED, f"physical memory of {key} {given[key]} is not possible here; give 0")
    attribute = index(given.get("memAttr", _HBM_HUGE))
    if attribute not in ATTRIBUTES:
        raise InvalidArgument(f"memory attribute {attribute} is not known; they go from 0 to {ATTRIBUTES[-1]}")
    return _Property(attribute, _located(given.get("location", {})))


def _by_key(given: Any, keys: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise TypeError(f"a dictionary is required, not '{type(given).__name__}'")
    known = {re.sub("(?=[A-Z])", "_", key).lower(): key for key in keys}
    unknown = [key for key in given if known.get(key, key) not in keys]
    if unknown:
        raise InvalidArgument(f"key {unknown[0]!r} is not known; there are {', '.join(keys)}")
    return {str(known.get(key, key)): value for key, value in given.items()}


def _located(location: Any) -> OpenDevice:
    place = _by_key(location, ("id", "type"))
    kind = index(place.get("type", _DEVICE))
    if kind == _HOST:
        raise Refused(
            RT_NOT_SUPPORTED, "physical memory lies on a device, location type 1; use malloc_host for the host"
        )
    if kind != _DEVICE:
        raise InvalidArgument(f"location type {kind} is not known; a device is 1")
    return in_use(place["id"]) if "id" in place else current().device


def no_flags(flags: int, allowed: tuple[int, ...] = (0,)) -> None:
    """Refuse flags that nothing is known of (107000)."""
    if index(flags) not in allowed:
        raise Refused(PARAM_INVALID, f"flags {flags} are not known; give {' or '.join(map(str, allowed))}")


@with_code(0)
def malloc_physical(size: int, prop_dict: dict[str, Any], flags: int, /) -> tuple[int, int]:
    """Allocate physical memory of a device, all bytes 0; ``map_mem`` makes it usable.

    Args:
        size: bytes; a multiple of 2 MiB, of 1 GiB for an attribute of such pages.
        prop_dict: ``{"handleType": 0, "allocationType": 0, "memAttr": 4, "location": {"id": 0, "type": 1},
            "reserve": 0}``: an ``aclrtMemAttr``, which makes no difference beyond the size, and a device in use.
            Each key may be left out, and stands for this value then, the device for the current one.
        flags: 0.

    Returns:
        (handle, 0); (0, code): 100000 for a size below 1, an unknown key, attribute or location; 107000 for a size
        that is no multiple, and other flags; 107001 for no such device, 107002 for one not in use or without a
        context; 207000 for memory of the host or another type; 207001 when the device has not so much free.

    Source: aclrtMallocPhysical.
    """
    nbytes = index(size)
    current()
    wanted = _property(prop_dict)
    no_flags(flags)
    if nbytes < 1:
        raise InvalidArgument(f"cannot allocate {nbytes} bytes; ask for at least {wanted.page}")
    if nbytes % wanted.page:
        raise Refused(
            PARAM_INVALID,
            f"{nbytes} bytes are no multiple of {wanted.page}; acl.rt.mem_get_allocation_granularity tells that number",
        )
    return physical_memory.add(wanted.device.device.allocate_physical(nbytes)), 0


@code_alone
def free_physical(handle: int, /) -> int:
    """Free physical memory. Where it is mapped, and where another process has imported it, it goes on until that ends.

    Args:
        handle: of `malloc_physical` or `mem_import_from_shareable_handle`.

    Returns:
        0; 100000 for 0, 107017 for a handle that is none.

    Source: aclrtFreePhysical.
    """
    physical_memory.take(handle).free()
    return 0


@with_code(0)
def mem_get_allocation_granularity(prop_dict: dict[str, Any], option: int, /) -> tuple[int, int]:
    """Tell what sizes of physical memory are multiples of.

    Args:
        prop_dict: as `malloc_physical`.
        option: 0 for the least, 1 for what is recommended; both are the same here.

    Returns:
        (bytes, 0): 2 MiB, or 1 GiB for an attribute of such pages; (0, code): 107000 for another option, others as
        `malloc_physical`.

    Source: aclrtMemGetAllocationGranularity.
    """
    current()
    wanted = _property(prop_dict)
    no_flags(option, _OPTIONS)
    return wanted.page, 0


def _drop_closed() -> None:
    """Let the handles of devices that were closed be dead."""
    physical_memory.sweep(lambda memory: memory.closed)


at_close(_drop_closed)
