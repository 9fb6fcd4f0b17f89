"""Feature retrieval on a device: from init to release."""

from __future__ import annotations

import threading

import acl
from tests.compat._programs import good, in_thread, ok
from tests.compat.fv._searches import ONE_N, Search, add, begin, by_first_byte, info, numbered


def test_begin_and_end(device: int) -> None:
    """`init` begins once, release ends and forgets, and init may follow; nothing works outside."""
    search, handle = Search(by_first_byte()), info((0, 0, 0), numbered(1))
    between, para = acl.fv.create_repo_range(0, 0, 0, 0), acl.fv.create_init_para(10)

    def work() -> list[int]:
        return [
            acl.fv.repo_add(ONE_N, handle),
            acl.fv.modify(handle),
            acl.fv.search(ONE_N, search.input, search.result),
            acl.fv.delete(handle),
            acl.fv.repo_del(ONE_N, between),
        ]

    assert work() == [100001] * 5
    assert "acl.fv.init" in (acl.get_recent_err_msg() or "")
    assert acl.fv.release() == 100037
    ok(acl.fv.init(para))
    assert acl.fv.init(para) == 100002
    assert work() == [0] * 5
    ok(acl.fv.repo_add(ONE_N, handle))
    ok(acl.fv.release())
    assert acl.fv.release() == 100037
    ok(acl.fv.init(para))
    assert search.results(ONE_N) == [[]]


def test_it_needs_a_context() -> None:
    """Descriptions can be made before acl.init; what a device keeps needs one."""
    para = acl.fv.create_init_para(10)
    assert para > 0
    assert acl.fv.init(para) == 100001
    ok(acl.init())
    assert acl.fv.init(para) == 107002
    assert acl.fv.release() == 107002
    assert acl.fv.search(ONE_N, 1, 1) == 107002


def test_it_belongs_to_the_device(device: int) -> None:
    """All threads and contexts of a device share its features; they end with it."""
    begin()
    add(ONE_N, (0, 0, 0), numbered(1))
    good(acl.rt.create_context(0))
    search = Search(by_first_byte())
    assert len(search.results(ONE_N)[0]) == 1
    assert in_thread(lambda: (acl.rt.set_device(0), acl.fv.repo_del(ONE_N, acl.fv.create_repo_range(0, 9, 0, 9)))) == (
        0,
        0,
    )
    assert search.results(ONE_N) == [[]]
    ok(acl.rt.reset_device_force(0))

    ok(acl.rt.set_device(0))
    assert acl.fv.release() == 100037


def test_threads_add_and_search_together(device: int) -> None:
    """Additions and searches from many threads leave every feature where it was put."""
    begin()
    wrong: list[object] = []

    def work(number: int) -> None:
        acl.rt.set_device(0)
        search = Search(by_first_byte(), top=64)
        for step in range(10):
            add(ONE_N, (number % 2, 0, number * 100 + step * 2), numbered(number, number))
            found = search.results(ONE_N)[0]
            wrong.extend(each for each in found if each[2] // 100 != each[3])

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert len(Search(by_first_byte(), top=200).results(ONE_N)[0]) == 80
