"""What searches find."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import acl
from tests.compat._programs import Array, ok, put, untyped
from tests.compat.fv._searches import (
    FEATURE,
    N_M,
    NOTHING,
    ONE_N,
    TABLE,
    Found,
    Search,
    add,
    begin,
    by_first_byte,
    info,
    numbered,
    offsets,
    random_features,
)


def plainly(tables: Array, kept: dict[tuple[int, int, int], Array], span: Sequence[int], top: int) -> list[Found]:
    """Search by the definition: a loop over features and bytes."""
    every = []
    for table in tables:
        found: Found = [
            (*place, float(sum(int(table[row, feature[row]]) for row in range(32))))
            for place, feature in kept.items()
            if span[0] <= place[0] <= span[1] and span[2] <= place[1] <= span[3]
        ]
        every.append(sorted(found, key=lambda each: (each[3], *each[:3]))[:top])
    return every


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["add", "add", "add", "delete", "modify", "drop"]),
            st.integers(0, 1),
            *[st.integers(0, 2)] * 2,
            st.one_of(st.integers(0, 9), st.integers(4090, 4098)),
            st.integers(1, 5),
        ),
        max_size=14,
    ),
    span=st.tuples(*[st.integers(0, 2)] * 4).map(lambda s: (*sorted(s[:2]), *sorted(s[2:]))),
    top=st.integers(1, 12),
    seed=st.integers(0, 99),
)
def test_against_a_loop_over_the_definition(
    device: int, steps: list[tuple[str, int, int, int, int, int]], span: tuple[int, ...], top: int, seed: int
) -> None:
    """Whatever was added, changed and deleted, a search finds the nearest features, equal ones by ids and offset."""
    random = np.random.default_rng(seed)
    kept: list[dict[tuple[int, int, int], Array]] = [{}, {}]
    begin()
    for act, kind, id0, id1, offset, count in steps:
        places = [(id0, id1, offset + each) for each in range(count)]
        features = random.integers(0, 4, (count, FEATURE), np.uint8)
        handle = info(places[0], features)
        holders = [each for each in kept if all(place in each for place in places)]
        if act == "add":
            taken = any(place in kept[kind] for place in places)
            assert acl.fv.repo_add(kind, handle) == (100000 if taken else 0)
            if not taken:
                kept[kind].update(zip(places, features, strict=True))
        elif act == "drop":
            between = acl.fv.create_repo_range(0, id0, 0, id1)
            ok(acl.fv.repo_del(kind, between))
            kept[kind] = {place: each for place, each in kept[kind].items() if place[0] > id0 or place[1] > id1}
        else:
            function = acl.fv.delete if act == "delete" else acl.fv.modify
            assert function(handle) == (0 if holders else 100000)
            for holder in holders:
                if act == "modify":
                    holder.update(zip(places, features, strict=True))
                else:
                    for place in places:
                        del holder[place]
    tables = random.integers(0, 3, (2, 32, 256))

    for kind in (ONE_N, N_M):
        assert Search(tables, span, top).results(kind) == plainly(tables, kept[kind], span, top)
    ok(acl.fv.release())


def test_many_features(device: int) -> None:
    """Among fifty thousand features in three repositories the nearest 500 are those of a plain sort."""
    begin()
    features = random_features(50_000)
    for number in range(3):
        add(ONE_N, (number, 5, 0), features[number::3])
    table = np.random.default_rng(1).normal(size=(1, 32, 256)).astype(np.float32)
    every = table[0, np.arange(32), features[:, :32]].astype(np.float64).sum(1)

    (found,) = Search(table, top=500).results(ONE_N)

    expected = np.sort(every)[:500]
    np.testing.assert_allclose([distance for *_, distance in found], expected, atol=1e-4)
    np.testing.assert_allclose([every[offset * 3 + id0] for id0, _, offset, _ in found], expected, atol=1e-4)


def test_many_repositories(device: int) -> None:
    """Thousands of repositories of few features are searched as one."""
    begin()
    for number in range(3000):
        add(ONE_N, (number // 100, number % 100, number), numbered(number % 251))

    (found,) = Search(by_first_byte(), (0, 19, 0, 99), top=16).results(ONE_N)

    zeros = [(n // 100, n % 100, n, 0.0) for n in range(0, 2000, 251)]
    ones = [(n // 100, n % 100, n, 1.0) for n in range(1, 2000, 251)]
    assert found == [*zeros, *ones]


def test_the_page_shows_what_happens(capsys: pytest.CaptureFixture[str]) -> None:
    """The program in docs/feature_retrieval.md prints what stands there."""
    page = (Path(__file__).parents[3] / "docs" / "feature_retrieval.md").read_text(encoding="utf-8")
    program, printed = re.findall(r"```(?:python|console)\n(.*?)```", page, re.DOTALL)[:2]
    exec(compile(program, "program", "exec"), {})  # the page's own

    assert capsys.readouterr().out == printed.partition("\n")[2]


def test_the_last_four_bytes_do_not_count(device: int) -> None:
    """A table has rows for the first 32 bytes of a feature; others that differ leave the distance."""
    begin()
    features = numbered(9, 9)
    features[0, 32:] = 255
    add(ONE_N, (0, 0, 0), features)

    assert [[distance for *_, distance in found] for found in Search(by_first_byte()).results(ONE_N)] == [[9.0, 9.0]]


def test_distances_that_are_no_numbers_come_last(device: int) -> None:
    """Infinite distances are sorted as such, and NaN comes behind them, also where only some results are wanted."""
    begin()
    add(ONE_N, (0, 0, 0), numbered(3, 2, 1, 0, 4))
    table = by_first_byte()
    table[0, 0, :5] = (np.inf, np.nan, -np.inf, 5, 6)

    assert offsets(Search(table).results(ONE_N)[0]) == [1, 0, 4, 3, 2]
    assert offsets(Search(table, top=3).results(ONE_N)[0]) == [1, 0, 4]


def test_kinds_are_apart(device: int) -> None:
    """What is added for 1:N searches is not found by N:M ones; each query of these has its results."""
    begin()
    add(ONE_N, (0, 0, 0), numbered(1, 2))
    add(N_M, (0, 0, 0), numbered(3))
    tables = np.concatenate([by_first_byte(), -by_first_byte()])

    assert [offsets(found) for found in Search(tables).results(ONE_N)] == [[0, 1], [1, 0]]
    assert Search(tables).results(N_M) == [[(0, 0, 0, 3.0)], [(0, 0, 0, -3.0)]]


def test_what_is_beyond_the_results_stays(device: int) -> None:
    """Fewer features than topk: the number says so, and the places behind are not written."""
    begin()
    search = Search(by_first_byte(), top=4)
    assert search.results(ONE_N) == [[]]
    add(ONE_N, (1, 2, 3), numbered(8))

    assert search.results(ONE_N) == [[(1, 2, 3, 8.0)]]
    assert [column[0, 1:].tolist() for column in search.raw()] == [[NOTHING] * 3] * 4


def test_host_memory(device: int) -> None:
    """Features, tables and results may lie in memory of the host."""
    begin()
    features, table = numbered(4, 3), by_first_byte()
    handle = acl.fv.create_feature_info(0, 0, 10, FEATURE, 2, features.ctypes.data, features.nbytes)
    ok(acl.fv.repo_add(ONE_N, handle))
    query = acl.fv.create_query_table(1, TABLE, table.ctypes.data, TABLE)
    wanted = acl.fv.create_search_input(query, acl.fv.create_repo_range(0, 0, 0, 0), 2)
    out = np.zeros((5, 2), np.uint32)
    into = untyped.fv.create_search_result(1, out[4].ctypes.data, 4, *[out[row].ctypes.data for row in range(4)], 8)

    ok(acl.fv.search(ONE_N, wanted, into))

    assert out[2].tolist() == [11, 10]
    assert out[3].view(np.float32).tolist() == [3.0, 4.0]
    assert out[4].tolist() == [2, 0]


def test_memory_is_read_when_it_is_used(device: int) -> None:
    """What lies in the memory of features and tables when they are added and searched for counts, not before."""
    begin()
    pointer = put(numbered(1))
    handle = acl.fv.create_feature_info(0, 0, 0, FEATURE, 1, pointer, FEATURE)
    ok(acl.rt.memset(pointer, FEATURE, 6, FEATURE))
    ok(acl.fv.repo_add(ONE_N, handle))
    ok(acl.rt.memset(pointer, FEATURE, 9, FEATURE))

    assert Search(by_first_byte()).results(ONE_N) == [[(0, 0, 0, 6.0)]]
