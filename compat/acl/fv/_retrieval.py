"""Feature retrieval on a device: from `init` to `release`, or to the end of the device.

Features that are added with type 0 are found by 1:N searches, those with type 1 by N:M searches. One search or
change goes on at a time on a device.
"""

from __future__ import annotations

import threading
from operator import index
from typing import TYPE_CHECKING

from aacl.errors import InvalidArgument, NotInitialized
from acl._contexts import at_close
from acl._devices import OpenDevice, current, devices
from acl._handles import count_also
from acl._status import REPEAT_FINALIZE, REPEAT_INITIALIZE, STORAGE_OVER_LIMIT, Refused, code_alone
from acl.fv._feature_info import FeatureInfo, feature_infos
from acl.fv._init_para import InitPara, init_paras
from acl.fv._library import Library
from acl.fv._ranking import rank
from acl.fv._repo_range import repo_ranges
from acl.fv._search_input import SearchInput, search_inputs
from acl.fv._search_result import SearchResult, search_results

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("delete", "init", "modify", "release", "repo_add", "repo_del", "search")

_KINDS = ("1:N", "N:M")  # aclfvSearchType


class _Retrieval:
    """What a device keeps.

    Attributes:
        lock: held while something changes or is looked for.
    """

    def __init__(self, para: InitPara) -> None:
        self._para = para
        self._libraries = Library(), Library()
        self.lock = threading.Lock()

    def library(self, kind: int) -> Library:
        """Return the features of a kind of search."""
        return self._libraries[kind]

    def add(self, kind: int, info: FeatureInfo) -> None:
        """Keep features; raises as `Library.add` does, and `Refused` (300000) for too many."""
        left = self._para.features - sum(each.count for each in self._libraries)
        if info.place.size > left:
            raise Refused(
                STORAGE_OVER_LIMIT,
                f"{info.place.size} features are too many: acl.fv.create_init_para was given {self._para.features}, "
                f"and there is room for {left} more",
            )
        self._libraries[kind].add(info.place, info.read())

    def change(self, info: FeatureInfo, how: Callable[[Library], None]) -> None:
        """Change features wherever they are kept.

        Raises:
            InvalidArgument: neither library has all of them.
        """
        holders = [each for each in self._libraries if each.has(info.place)]
        if not holders:
            raise InvalidArgument(f"not all of {info.place} are features that were added")
        for library in holders:
            how(library)

    def search(self, kind: int, wanted: SearchInput, into: SearchResult) -> None:
        """Search and write; raises `InvalidArgument` for more results than were said to be the most."""
        most = self._para.tops[kind]
        if wanted.top > most:
            raise InvalidArgument(
                f"topk is {wanted.top}; the most results of a {_KINDS[kind]} query are {most} here, which "
                f"acl.fv.set_{('1n', 'nm')[kind]}_top_num sets before acl.fv.init"
            )
        into.check(wanted.table.queries, wanted.top)
        ranked = rank(self._libraries[kind], wanted.span, wanted.table.read(), wanted.top)
        into.write(ranked, wanted.top)


_active: dict[OpenDevice, _Retrieval] = {}


def _here() -> _Retrieval:
    """Return what goes on on the current device.

    Raises:
        NotInitialized: nothing does.
        NotCurrent: this thread has no context.
    """
    found = _active.get(current().device)
    if found is None:
        raise NotInitialized("feature retrieval has not begun on this device; call acl.fv.init first")
    return found


def _kind(search_type: int) -> int:
    number = index(search_type)
    if number not in range(len(_KINDS)):
        raise InvalidArgument(f"search type {number} is not known; 0 is 1:N and 1 is N:M")
    return number


@code_alone
def init(init_para: int, /) -> int:
    """Begin feature retrieval on the current device, with no features.

    Args:
        init_para: of `create_init_para`; what is set in it later changes nothing.

    Returns:
        0; 100002 if it has begun, and all goes on; 100000 if the handle is none; 107002 without a context.

    Source: aclfvInit.
    """
    device, para = current().device, init_paras.get(init_para)
    begun = _Retrieval(para)
    if _active.setdefault(device, begun) is not begun:
        raise Refused(REPEAT_INITIALIZE, "feature retrieval has begun on this device; call acl.fv.release first")
    return 0


@code_alone
def release() -> int:
    """End feature retrieval on the current device, and drop all features.

    Returns:
        0; 100037 if it has not begun; 107002 without a context.

    Source: aclfvRelease.
    """
    if _active.pop(current().device, None) is None:
        raise Refused(REPEAT_FINALIZE, "feature retrieval has not begun on this device, or was released before")
    return 0


@code_alone
def repo_add(search_type: int, feature_info: int, /) -> int:
    """Add features to a repository, which begins with them if there is none of these ids.

    Args:
        search_type: 0 for 1:N searches, 1 for N:M.
        feature_info: of `create_feature_info`; its memory is read now.

    Returns:
        0; 100000 for another type, a handle that is none, or offsets at which there are features; 300000 for more
        features than `create_init_para` said; 107000 for memory that is not mapped, or too short; 100001 before
        `init`; 107002 without a context. After a code nothing has been added.

    Source: aclfvRepoAdd.
    """
    here, kind, info = _here(), _kind(search_type), feature_infos.get(feature_info)
    with here.lock:
        here.add(kind, info)
    return 0


@code_alone
def repo_del(search_type: int, repo_range: int, /) -> int:
    """Delete the repositories of a range with all their features; that there are none is no failure.

    Args:
        search_type: 0 for those of 1:N searches, 1 for N:M.
        repo_range: of `create_repo_range`.

    Returns:
        0; 100000 for another type, or a handle that is none; 100001 before `init`; 107002 without a context.

    Source: aclfvRepoDel.
    """
    here, kind, span = _here(), _kind(search_type), repo_ranges.get(repo_range)
    with here.lock:
        here.library(kind).drop(span)
    return 0


@code_alone
def delete(feature_info: int, /) -> int:
    """Delete single features, of 1:N and N:M searches alike; the others keep their offsets.

    Args:
        feature_info: of `create_feature_info`; its memory is not looked at.

    Returns:
        0; 100000 for a handle that is none, or if not all of them are there, and then none is deleted; 100001 before
        `init`; 107002 without a context.

    Source: aclfvDel.
    """
    here, info = _here(), feature_infos.get(feature_info)
    with here.lock:
        here.change(info, lambda library: library.delete(info.place))
    return 0


@code_alone
def modify(feature_info: int, /) -> int:
    """Put other features in the place of some, of 1:N and N:M searches alike.

    Args:
        feature_info: of `create_feature_info`; its memory is read now.

    Returns:
        0; 100000 for a handle that is none, or if not all of them are there, and then none is changed; 107000 for
        memory that is not mapped, or too short; 100001 before `init`; 107002 without a context.

    Source: aclfvModify.
    """
    here, info = _here(), feature_infos.get(feature_info)
    features = info.read()
    with here.lock:
        here.change(info, lambda library: library.modify(info.place, features))
    return 0


@code_alone
def search(search_type: int, search_input: int, search_result: int, /) -> int:
    """Look for the features that are nearest to each query, and wait for the end.

    A query's results are the ``topk`` features of the smallest distance in the range's repositories, or all if there
    are fewer; the nearest first, equal ones by ids and offset. A distance that is no number comes last.

    Args:
        search_type: 0 for 1:N, 1 for N:M: which features are looked at.
        search_input: of `create_search_input`; its tables are read now.
        search_result: of `create_search_result`, for the same number of queries.

    Returns:
        0; 100000 for another type, a handle that is none, more results than `set_1n_top_num` or `set_nm_top_num` said,
        or a search result for another number of queries or with too little room; 107000 for memory that is not mapped,
        not writable, or too short; 100001 before `init`; 107002 without a context.

    Source: aclfvSearch.
    """
    here, kind = _here(), _kind(search_type)
    wanted, into = search_inputs.get(search_input), search_results.get(search_result)
    with here.lock:
        here.search(kind, wanted, into)
    return 0


def _forget_closed() -> None:
    """Drop what devices kept that are closed."""
    for device in [*_active]:
        if devices.get(device.index) is not device:
            _active.pop(device, None)


at_close(_forget_closed)
count_also("feature retrieval", _active.__len__)
