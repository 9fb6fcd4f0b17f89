"""Where the results of a search go."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import aacl
from aacl.errors import InvalidArgument
from acl import _blocks
from acl._handles import Handles
from acl._status import INVALID_PARAM, code_alone, plain
from acl.fv._limits import MOST_QUERIES, NUMBER_NBYTES, address_of, room_for, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acl.fv._ranking import Ranked

__all__ = ("SearchResult", "create_search_result", "destroy_search_result", "search_results")

_FIELDS = ("id0", "id1", "result_offset", "result_distance")
_TYPES = (np.uint32, np.uint32, np.uint32, np.float32)


class SearchResult(NamedTuple):
    """Memory for results.

    Attributes:
        queries: how many.
        numbers: address of the number of results of each.
        fields: addresses of the ids, offsets and distances, each with ``topk`` places a query.
        nbytes: of one field.
    """

    queries: int
    numbers: int
    fields: tuple[int, int, int, int]
    nbytes: int

    def check(self, queries: int, top: int) -> None:
        """Check that results of queries fit.

        Raises:
            InvalidArgument: it is made for another number of queries, or has too little room.
        """
        if self.queries != queries:
            raise InvalidArgument(f"the search has {queries} queries; the search result is made for {self.queries}")
        if self.nbytes < queries * top * NUMBER_NBYTES:
            raise InvalidArgument(
                f"{queries} queries of {top} results take {queries * top * NUMBER_NBYTES} bytes of ids, offsets and "
                f"distances each; the search result has {self.nbytes}"
            )

    def write(self, ranked: Sequence[Ranked], top: int) -> None:
        """Write results; what is beyond those of a query stays as it is. The numbers of results come last.

        Raises:
            InvalidMemoryRange: an address is not mapped or not writable, or the results would leave an allocation.
        """
        length = len(ranked) * top * NUMBER_NBYTES
        # All is read before anything is written: memory that is not there leaves the rest as it was.
        columns = [
            np.frombuffer(_blocks.read(address, length), dtype).copy()
            for address, dtype in zip(self.fields, _TYPES, strict=True)
        ]
        _blocks.read(self.numbers, len(ranked) * NUMBER_NBYTES)
        for query, found in enumerate(ranked):
            for column, values in zip(columns, found, strict=True):
                column[query * top : query * top + len(values)] = values
        for address, column in zip(self.fields, columns, strict=True):
            aacl.memory.copy(address, column.ctypes.data, length)
        numbers = np.array([len(found.offset) for found in ranked], np.uint32)
        aacl.memory.copy(self.numbers, numbers.ctypes.data, numbers.nbytes)


search_results: Handles[SearchResult] = Handles("search result", INVALID_PARAM)


@plain(0)
def create_search_result(
    query_cnt: int,
    result_num: int,
    result_num_data_len: int,
    id0: int,
    id1: int,
    result_offset: int,
    result_distance: int,
    data_len: int,
    /,
) -> int:
    """Describe the memory, of the device or the host, that `search` writes results to.

    Args:
        query_cnt: how many queries, from 1 to 6.
        result_num: address of a uint32 a query: how many results it has.
        result_num_data_len: bytes there, at least ``4 * query_cnt``.
        id0: address of a uint32 for each result: the first id of its repository. Query ``q`` begins at ``q * topk``.
        id1: the same for the second id.
        result_offset: the same for the offset in the repository.
        result_distance: the same for the distance, a float32.
        data_len: bytes at each of the last four, at least ``4 * topk * query_cnt``.

    Returns:
        The handle; 0 for another number of queries, a null address, or too few bytes.

    Source: aclfvCreateSearchResult.
    """
    count = within("the number of queries", query_cnt, 1, MOST_QUERIES)
    room_for("the memory of the numbers of results", result_num_data_len, count * NUMBER_NBYTES)
    room_for("the memory of each of ids, offsets and distances", data_len, count * NUMBER_NBYTES)
    numbers = address_of("the numbers of results", result_num)
    given = (id0, id1, result_offset, result_distance)
    fields = [address_of(name, address) for name, address in zip(_FIELDS, given, strict=True)]
    return search_results.add(
        SearchResult(count, numbers, (fields[0], fields[1], fields[2], fields[3]), index(data_len))
    )


@code_alone
def destroy_search_result(search_result: int, /) -> int:
    """Destroy what `create_search_result` made, not the memory.

    Args:
        search_result: the handle.

    Returns:
        0; 100000 if it is none.

    Source: aclfvDestroySearchResult.
    """
    search_results.take(search_result)
    return 0
