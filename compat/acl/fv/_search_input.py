"""What is looked for: tables of distances, one a query, and the repositories to look in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from acl import _blocks
from acl._handles import Handles
from acl._status import INVALID_PARAM, code_alone, plain
from acl.fv._limits import CODE_NBYTES, MOST_QUERIES, TABLE_NBYTES, UINT32_MOST, address_of, room_for, within
from acl.fv._repo_range import repo_ranges

if TYPE_CHECKING:
    import aacl
    from acl.fv._library import RepoRange

__all__ = (
    "QueryTable",
    "SearchInput",
    "create_query_table",
    "create_search_input",
    "destroy_query_table",
    "destroy_search_input",
    "search_inputs",
)


class QueryTable(NamedTuple):
    """Queries.

    Attributes:
        queries: how many.
        address: where their tables lie, one after another.
    """

    queries: int
    address: int

    def read(self) -> aacl.abc.Array:
        """Return a copy of the tables as they are now; raises `InvalidMemoryRange` if nothing can be read."""
        data = _blocks.read(self.address, self.queries * TABLE_NBYTES)
        return np.frombuffer(data, np.float32).reshape(self.queries, CODE_NBYTES, -1)


class SearchInput(NamedTuple):
    """A search.

    Attributes:
        table: the queries.
        span: the repositories to look in.
        top: how many results each query is to have.
    """

    table: QueryTable
    span: RepoRange
    top: int


_query_tables: Handles[QueryTable] = Handles("query table", INVALID_PARAM)
search_inputs: Handles[SearchInput] = Handles("search input", INVALID_PARAM)


@plain(0)
def create_query_table(query_cnt: int, table_len: int, table_data: int, table_data_len: int, /) -> int:
    """Describe the tables of a search.

    Args:
        query_cnt: how many queries, from 1 to 6.
        table_len: bytes of one query's table: 32768. It is 32 rows of 256 float32; row ``j`` tells what each value of
            byte ``j`` of a feature adds to the feature's distance from the query.
        table_data: address of the first, in memory of the device or the host, read by `search`.
        table_data_len: bytes there, at least ``query_cnt * table_len``.

    Returns:
        The handle; 0 for another number or length, a null address, or too few bytes.

    Source: aclfvCreateQueryTable.
    """
    count = within("the number of queries", query_cnt, 1, MOST_QUERIES)
    within("the length of a table in bytes", table_len, TABLE_NBYTES, TABLE_NBYTES)
    room_for("the memory of the tables", table_data_len, count * TABLE_NBYTES)
    return _query_tables.add(QueryTable(count, address_of("the tables", table_data)))


@code_alone
def destroy_query_table(query_table: int, /) -> int:
    """Destroy what `create_query_table` made, not the memory; search inputs that were made of it stay good.

    Args:
        query_table: the handle.

    Returns:
        0; 100000 if it is none.

    Source: aclfvDestroyQueryTable.
    """
    _query_tables.take(query_table)
    return 0


@plain(0)
def create_search_input(query_table: int, repo_range: int, topk: int, /) -> int:
    """Describe a search; what it is made of may be destroyed before it.

    Args:
        query_table: of `create_query_table`.
        repo_range: of `create_repo_range`.
        topk: how many results each query is to have, 1 or more. `search` compares it with what `init` began with.

    Returns:
        The handle; 0 if one of the handles is none, or for another number.

    Source: aclfvCreateSearchInput.
    """
    table, span = _query_tables.get(query_table), repo_ranges.get(repo_range)
    return search_inputs.add(SearchInput(table, span, within("topk", topk, 1, UINT32_MOST)))


@code_alone
def destroy_search_input(search_input: int, /) -> int:
    """Destroy what `create_search_input` made, not what it was made of.

    Args:
        search_input: the handle.

    Returns:
        0; 100000 if it is none.

    Source: aclfvDestroySearchInput.
    """
    search_inputs.take(search_input)
    return 0
