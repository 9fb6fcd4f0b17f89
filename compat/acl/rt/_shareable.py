"""Physical memory that processes share: one exports a number, another of the same user imports it."""

from __future__ import annotations

from contextlib import suppress
from operator import index
from typing import TYPE_CHECKING

from aacl.errors import ClosedResource, InvalidArgument
from acl._devices import current, in_use
from acl._status import RT_NOT_SUPPORTED, Refused, code_alone, with_code
from acl.rt._physical import no_flags, physical_memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    import aacl

__all__ = (
    "mem_export_to_shareable_handle",
    "mem_import_from_shareable_handle",
    "mem_set_pid_to_shareable_handle",
)

_ANYBODY = 1  # ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION


@with_code(0)
def mem_export_to_shareable_handle(handle: int, handle_type: int, flags: int, /) -> tuple[int, int]:
    """Share physical memory. The number is good until ``free_physical``.

    Args:
        handle: of ``malloc_physical``.
        handle_type: 0.
        flags: 0 lets the processes of `mem_set_pid_to_shareable_handle` import it, 1 every one of the same user.

    Returns:
        (shareable handle, 0), a number to hand to the other process, the same one each time; (0, code): 100000 for 0,
        107017 for a handle that is none, 107000 for other flags, 207000 for another type or memory that was imported.

    Source: aclrtMemExportToShareableHandle.
    """
    memory = physical_memory.get(handle)
    if index(handle_type):
        raise Refused(RT_NOT_SUPPORTED, f"shareable handles are of type 0 here, not {handle_type}")
    no_flags(flags, (0, _ANYBODY))
    if memory.is_imported:
        raise Refused(
            RT_NOT_SUPPORTED, "memory is shared by the process that allocated it, not by one that imported it"
        )
    return memory.share(anybody=flags == _ANYBODY), 0


@with_code(0)
def mem_import_from_shareable_handle(shareable_handle: int, device_id: int, /) -> tuple[int, int]:
    """Import what another process shares, to be mapped; both see the same bytes.

    It counts as used memory in the process that allocated it, and lives until no process uses it any more.

    Args:
        shareable_handle: what ``mem_export_to_shareable_handle`` returned there.
        device_id: a device in use, to use it on.

    Returns:
        (handle, 0), to be freed with ``free_physical``; (0, code): 100000 for a number that stands for nothing, also
        when its owner freed the memory or has ended; 207006 if it does not allow this process, or is another user's; 107001 for no such
        device, 107002 for one that is not in use or without a context.

    Source: aclrtMemImportFromShareableHandle.
    """
    number = index(shareable_handle)
    current()
    memory = in_use(device_id).device.import_physical(number)
    return physical_memory.add(memory), 0


@code_alone
def mem_set_pid_to_shareable_handle(shareable_handle: int, pid_list: Sequence[int], /) -> int:
    """Allow processes to import, besides those allowed before.

    Args:
        shareable_handle: of this process.
        pid_list: their numbers, as ``device_get_bare_tgid`` tells them there; a list or tuple, not empty.

    Returns:
        0; 100000 for a number that this process does not share, an empty list, and what is no process's number.

    Source: aclrtMemSetPidToShareableHandle.
    """
    number = index(shareable_handle)
    if isinstance(pid_list, (str, bytes)) or not hasattr(pid_list, "__iter__"):
        raise TypeError(f"pid_list is a list of numbers, not '{type(pid_list).__name__}'")
    processes = [index(each) for each in pid_list]
    if not processes:
        raise InvalidArgument("the list of processes is empty")
    _shared_as(number).allow(processes)
    return 0


def _shared_as(number: int) -> aacl.memory.PhysicalMemory:
    for memory in [*physical_memory.objects.values()]:
        with suppress(ClosedResource):  # another thread may free it
            if not memory.is_imported and memory.share() == number:
                return memory
    raise InvalidArgument(f"{number:#x} is no shareable handle of this process; was the memory freed?")
