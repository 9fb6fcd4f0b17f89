"""What tests of feature retrieval do again and again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import acl
from tests.compat._programs import Array, get, ok, put, untyped

FEATURE, TABLE = 36, 32 * 1024
ONE_N, N_M = 0, 1
NOTHING = 0xABCD
Found = list[tuple[int, int, int, float]]


def begin(features: int = 100_000, **tops: int) -> None:
    """Begin feature retrieval."""
    para = acl.fv.create_init_para(features)
    for name, top in tops.items():
        ok(getattr(acl.fv, f"set_{name}_top_num")(para, top))
    ok(acl.fv.init(para))
    ok(acl.fv.destroy_init_para(para))


def info(place: tuple[int, int, int], features: Array) -> int:
    """Describe features in new memory of the device."""
    handle = acl.fv.create_feature_info(*place, FEATURE, len(features), put(features), features.nbytes)
    assert handle, acl.get_recent_err_msg()
    return handle


def add(kind: int, place: tuple[int, int, int], features: Array) -> None:
    """Add features."""
    handle = info(place, features)
    ok(acl.fv.repo_add(kind, handle))
    ok(acl.fv.destroy_feature_info(handle))


class Search:
    """A search with its memory."""

    def __init__(self, tables: Array, span: Sequence[int] = (0, 9, 0, 9), top: int = 5) -> None:
        self.queries, self.top = len(tables), top
        self.numbers = put(np.full(self.queries, NOTHING, np.uint32))
        self.fields = [put(np.full(self.queries * top, NOTHING, np.uint32)) for _ in range(4)]
        table = acl.fv.create_query_table(self.queries, TABLE, put(tables.astype(np.float32)), self.queries * TABLE)
        between = acl.fv.create_repo_range(*span)
        self.input = acl.fv.create_search_input(table, between, top)
        self.result = untyped.fv.create_search_result(
            self.queries, self.numbers, 4 * self.queries, *self.fields, 4 * self.queries * top
        )
        assert table, acl.get_recent_err_msg()
        assert between
        assert self.input
        assert self.result
        ok(acl.fv.destroy_query_table(table))
        ok(acl.fv.destroy_repo_range(between))

    def raw(self) -> list[Array]:
        """Return the ids, offsets and distances as they lie in memory."""
        like = np.empty((self.queries, self.top), np.uint32)
        return [get(field, like) for field in self.fields]

    def results(self, kind: int) -> list[Found]:
        """Search, and return what each query found."""
        ok(acl.fv.search(kind, self.input, self.result))
        numbers = get(self.numbers, np.empty(self.queries, np.uint32))
        columns = self.raw()
        columns[3] = columns[3].view(np.float32)
        return [
            list(zip(*[column[query, :number].tolist() for column in columns], strict=True))
            for query, number in enumerate(numbers)
        ]


def random_features(count: int, seed: int = 0) -> Array:
    """Return features that are unlike each other."""
    return np.random.default_rng(seed).integers(0, 256, (count, FEATURE), np.uint8)


def by_first_byte() -> Array:
    """Return the table of a query whose distance is a feature's first byte."""
    table = np.zeros((1, 32, 256), np.float32)
    table[0, 0] = np.arange(256)
    return table


def numbered(*values: int) -> Array:
    """Return features that begin with a byte."""
    features = np.full((len(values), FEATURE), 7, np.uint8)
    features[:, 0] = values
    return features


def offsets(found: Found) -> list[int]:
    """Return where what was found lies in its repository."""
    return [offset for _, _, offset, _ in found]
