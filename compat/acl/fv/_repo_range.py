"""Ranges of repositories."""

from __future__ import annotations

from acl._handles import Handles
from acl._status import INVALID_PARAM, code_alone, plain
from acl.fv._library import RepoRange
from acl.fv._limits import UINT32_MOST, within

__all__ = ("create_repo_range", "destroy_repo_range", "repo_ranges")

repo_ranges: Handles[RepoRange] = Handles("repository range", INVALID_PARAM)


@plain(0)
def create_repo_range(id0_min: int, id0_max: int, id1_min: int, id1_max: int, /) -> int:
    """Describe the repositories whose two ids lie in ranges, for `repo_del` and `create_search_input`.

    Args:
        id0_min: the least first id.
        id0_max: the greatest, not less.
        id1_min: the least second id.
        id1_max: the greatest, not less.

    Returns:
        The handle; 0 for a greatest id below the least, or ids beyond 32 bits.

    Source: aclfvCreateRepoRange.
    """
    least0, least1 = within("id0_min", id0_min, 0, UINT32_MOST), within("id1_min", id1_min, 0, UINT32_MOST)
    most0, most1 = within("id0_max", id0_max, least0, UINT32_MOST), within("id1_max", id1_max, least1, UINT32_MOST)
    return repo_ranges.add(RepoRange(least0, most0, least1, most1))


@code_alone
def destroy_repo_range(repo_range: int, /) -> int:
    """Destroy what `create_repo_range` made, not the repositories; search inputs that were made of it stay good.

    Args:
        repo_range: the handle.

    Returns:
        0; 100000 if it is none.

    Source: aclfvDestroyRepoRange.
    """
    repo_ranges.take(repo_range)
    return 0
