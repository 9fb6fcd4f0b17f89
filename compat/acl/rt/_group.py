"""Groups of cores. A software device has one, of all its cores, and its number is 0."""

from __future__ import annotations

from operator import index

from aacl.errors import InvalidArgument
from acl._devices import current
from acl._handles import Handles
from acl._status import GROUP_NOT_CREATE, Refused, code_alone, plain, with_code

__all__ = (
    "create_group_info",
    "destroy_group_info",
    "get_all_group_info",
    "get_group_count",
    "get_group_info_detail",
    "set_group",
)

_ONLY = 0
# aclrtGroupAttr: AI cores, vector cores and AI CPU cores; DMA channels; queues; the group's number.
_AICORE, _VECTOR, _AICPU, _CHANNELS, _QUEUES, _NUMBER = range(6)

_infos: Handles[list[dict[int, int]]] = Handles("group info")


@code_alone
def set_group(group_id: int, /) -> int:
    """Choose the group of cores that works for the current context.

    Args:
        group_id: 0, the only one.

    Returns:
        0; 107014 for another number; 107002 without a context.

    Source: aclrtSetGroup.
    """
    group = index(group_id)
    current()
    if group != _ONLY:
        raise Refused(GROUP_NOT_CREATE, f"there is no group {group}; the software device has one, number {_ONLY}")
    return 0


@with_code(0)
def get_group_count() -> tuple[int, int]:
    """Return how many groups of cores the current device has.

    Returns:
        (1, 0); (0, 107002) without a context.

    Source: aclrtGetGroupCount.
    """
    current()
    return 1, 0


@plain(0)
def create_group_info() -> int:
    """Make a place for what `get_all_group_info` tells.

    Returns:
        Its handle.

    Source: aclrtCreateGroupInfo.
    """
    return _infos.add([])


@code_alone
def destroy_group_info(group_info: int, /) -> int:
    """End what `create_group_info` made.

    Args:
        group_info: its handle.

    Returns:
        0; 100000 for 0; 107017 if it is none (any more).

    Source: aclrtDestroyGroupInfo.
    """
    _infos.take(group_info)
    return 0


@code_alone
def get_all_group_info(group_info: int, /) -> int:
    """Write down what groups of cores the current device has.

    Args:
        group_info: where, of `create_group_info`.

    Returns:
        0; 100000 for 0; 107017 if it is none (any more); 107002 without a context.

    Source: aclrtGetAllGroupInfo.
    """
    info, cores = _infos.get(group_info), current().device.device.properties.cores
    info[:] = [{_AICORE: cores, _VECTOR: cores, _AICPU: cores, _CHANNELS: 0, _QUEUES: 0, _NUMBER: _ONLY}]
    return 0


@with_code(0)
def get_group_info_detail(group_info: int, group_index: int, attr: int, /) -> tuple[int, int]:
    """Return one number of what `get_all_group_info` wrote down.

    Args:
        group_info: where.
        group_index: the position of the group, below `get_group_count`.
        attr: AI cores (0), vector cores (1), AI CPU cores (2), DMA channels (3), asynchronous queues (4), the group's
            number (5).

    Returns:
        (number, 0); (0, 100000) for 0, another attribute, or a position that is not written; (0, 107017) if it is no
        group info (any more).

    Source: aclrtGetGroupInfoDetail, aclrtGroupAttr.
    """
    info, position, attr = _infos.get(group_info), index(group_index), index(attr)
    if not 0 <= position < len(info):
        raise InvalidArgument(
            f"group {position} is not among the {len(info)} that were written down; acl.rt.get_all_group_info does that"
        )
    if attr not in info[position]:
        raise InvalidArgument(f"group attribute {attr} is not known; 0 to 5 are")
    return info[position][attr], 0
