"""What feature retrieval refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import acl
from tests.compat._programs import ok, put, untyped
from tests.compat.fv._searches import (
    FEATURE,
    N_M,
    NOTHING,
    ONE_N,
    TABLE,
    Search,
    add,
    begin,
    by_first_byte,
    info,
    numbered,
)


def test_too_many_features(device: int) -> None:
    """No more features than init was told, of both kinds together; a refused addition adds none."""
    begin(3)
    add(ONE_N, (0, 0, 0), numbered(1, 2))

    assert acl.fv.repo_add(N_M, info((0, 0, 0), numbered(1, 2))) == 300000
    assert "room for 1 more" in (acl.get_recent_err_msg() or "")
    add(N_M, (0, 0, 0), numbered(1))
    ok(acl.fv.delete(info((0, 0, 1), numbered(0))))
    add(N_M, (0, 0, 7), numbered(1))
    assert len(Search(by_first_byte()).results(N_M)[0]) == 2


def test_too_many_results(device: int) -> None:
    """`topk` is bounded by kind: 4800 and 500, or what was set."""
    begin()
    for kind, top in ((ONE_N, 4801), (N_M, 501)):
        search = Search(by_first_byte(), top=top)
        assert acl.fv.search(kind, search.input, search.result) == 100000
        assert str(top - 1) in (acl.get_recent_err_msg() or "")
        assert Search(by_first_byte(), top=top - 1).results(kind) == [[]]
    ok(acl.fv.release())
    begin(**{"1n": 2, "nm": 5000})
    search = Search(by_first_byte(), top=3)
    assert acl.fv.search(ONE_N, search.input, search.result) == 100000
    assert Search(by_first_byte(), top=5000).results(N_M) == [[]]


@pytest.mark.parametrize(
    "make",
    [
        lambda _: acl.fv.create_init_para(0),
        lambda _: acl.fv.create_init_para(1 << 64),
        lambda p: acl.fv.create_feature_info(0, 0, 0, 35, 1, p, 64),
        lambda p: acl.fv.create_feature_info(0, 0, 0, FEATURE, 0, p, 64),
        lambda p: acl.fv.create_feature_info(0, 0, 0, FEATURE, 2, p, 71),
        lambda _: acl.fv.create_feature_info(0, 0, 0, FEATURE, 1, 0, 64),
        lambda p: acl.fv.create_feature_info(-1, 0, 0, FEATURE, 1, p, 64),
        lambda p: acl.fv.create_feature_info(0, 1 << 32, 0, FEATURE, 1, p, 64),
        lambda p: acl.fv.create_feature_info(0, 0, 0xFFFFFFFF, FEATURE, 2, p, 72),
        lambda _: acl.fv.create_repo_range(1, 0, 0, 0),
        lambda _: acl.fv.create_repo_range(0, 0, 5, 4),
        lambda _: acl.fv.create_repo_range(-1, 0, 0, 0),
        lambda p: acl.fv.create_query_table(0, TABLE, p, TABLE),
        lambda p: acl.fv.create_query_table(7, TABLE, p, 7 * TABLE),
        lambda p: acl.fv.create_query_table(1, 1024, p, TABLE),
        lambda p: acl.fv.create_query_table(2, TABLE, p, 2 * TABLE - 1),
        lambda _: acl.fv.create_query_table(1, TABLE, 0, TABLE),
        lambda _: acl.fv.create_search_input(0, acl.fv.create_repo_range(0, 0, 0, 0), 1),
        lambda p: acl.fv.create_search_input(acl.fv.create_query_table(1, TABLE, p, TABLE), 0, 1),
        lambda p: acl.fv.create_search_input(
            acl.fv.create_query_table(1, TABLE, p, TABLE), acl.fv.create_repo_range(0, 0, 0, 0), 0
        ),
        lambda p: acl.fv.create_search_result(0, p, 4, p, p, p, p, 4),
        lambda p: acl.fv.create_search_result(7, p, 28, p, p, p, p, 28),
        lambda p: acl.fv.create_search_result(2, p, 4, p, p, p, p, 8),
        lambda p: acl.fv.create_search_result(1, p, 4, p, p, 0, p, 4),
        lambda p: acl.fv.create_search_result(1, p, 4, p, p, p, p, -4),
    ],
)
def test_descriptions_that_cannot_be(device: int, make: Callable[[int], int]) -> None:
    """A description out of range is 0, with a text."""
    assert make(put(np.zeros(64, np.uint8))) == 0
    assert acl.get_recent_err_msg()


def test_handles(device: int) -> None:
    """Each handle ends once; null, dead ones and those of another kind are code 100000."""
    begin()
    search, handle = Search(by_first_byte()), info((0, 0, 0), numbered(1))
    between, para = acl.fv.create_repo_range(0, 0, 0, 0), acl.fv.create_init_para(1)
    ok(acl.fv.destroy_feature_info(handle))
    for with_kind in (acl.fv.repo_add, acl.fv.repo_del):
        assert [with_kind(ONE_N, each) for each in (0, -1, handle, para, search.input)] == [100000] * 5
    for function in (acl.fv.modify, acl.fv.delete, acl.fv.destroy_feature_info):
        assert [function(each) for each in (0, handle, between)] == [100000] * 3
    assert acl.fv.search(ONE_N, search.result, search.result) == 100000
    assert acl.fv.search(ONE_N, search.input, search.input) == 100000
    for destroy, each in (
        (acl.fv.destroy_search_input, search.input),
        (acl.fv.destroy_search_result, search.result),
        (acl.fv.destroy_repo_range, between),
        (acl.fv.destroy_init_para, para),
    ):
        assert [destroy(each), destroy(each), destroy(0)] == [0, 100000, 100000]
    assert acl.fv.destroy_query_table(para) == 100000
    assert acl.fv.set_1n_top_num(para, 3) == 100000
    assert acl.fv.set_nm_top_num(para, 3) == 100000


@pytest.mark.parametrize("kind", [-1, 2, 1 << 40])
def test_unknown_search_types(device: int, kind: int) -> None:
    """Search types are 0 and 1."""
    begin()
    search = Search(by_first_byte())

    assert acl.fv.repo_add(kind, info((0, 0, 0), numbered(1))) == 100000
    assert acl.fv.repo_del(kind, acl.fv.create_repo_range(0, 0, 0, 0)) == 100000
    assert acl.fv.search(kind, search.input, search.result) == 100000


def test_results_that_do_not_fit(device: int) -> None:
    """A result for another number of queries, or with too little room for topk, is refused before anything is written."""
    begin()
    add(ONE_N, (0, 0, 0), numbered(1))
    two, one = Search(np.concatenate([by_first_byte()] * 2)), Search(by_first_byte(), top=2)

    assert acl.fv.search(ONE_N, two.input, one.result) == 100000
    assert acl.fv.search(ONE_N, one.input, two.result) == 100000
    assert acl.fv.search(ONE_N, Search(by_first_byte(), top=3).input, one.result) == 100000
    assert (one.raw()[0] == NOTHING).all()


def test_memory_that_is_not_there(device: int) -> None:
    """Memory that was freed, or is shorter than was said, is code 107000; nothing is added, nor written."""
    begin()
    short = put(np.zeros(FEATURE, np.uint8))
    assert acl.fv.repo_add(ONE_N, acl.fv.create_feature_info(0, 0, 0, FEATURE, 1000, short, 36000)) == 107000
    assert acl.fv.repo_add(ONE_N, acl.fv.create_feature_info(0, 0, 0, FEATURE, 1, 8, 36)) == 107000
    add(ONE_N, (0, 0, 0), numbered(5))
    assert acl.fv.modify(acl.fv.create_feature_info(0, 0, 0, FEATURE, 1, 8, 36)) == 107000
    for number in range(4):
        search = Search(by_first_byte())
        ok(acl.rt.free(search.fields[number]))
        assert acl.fv.search(ONE_N, search.input, search.result) == 107000
        ok(acl.rt.free(search.numbers))
        del search.fields[number]
        assert all((column == NOTHING).all() for column in search.raw())


@pytest.mark.parametrize(
    "call",
    [
        lambda: untyped.fv.create_init_para("1"),
        lambda: untyped.fv.create_feature_info(0, 0, 0, FEATURE, 1, None, 36),
        lambda: untyped.fv.create_repo_range(0.0, 1, 0, 1),
        lambda: untyped.fv.create_search_result(1, 8, 4, 8, 8, 8, [8], 4),
        lambda: untyped.fv.create_search_input(None, 0, 1),
    ],
)
def test_wrong_types(call: Callable[[], Any]) -> None:
    """What is no whole number is a TypeError."""
    with pytest.raises(TypeError):
        call()
