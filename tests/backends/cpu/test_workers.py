"""The device's threads, and calls that they share."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from aacl.backends.cpu._workers import Workers
from tests.helpers import interrupted_everywhere


@pytest.fixture
def workers() -> Iterator[Workers]:
    """Three threads."""
    made = Workers(0, 3)
    yield made
    made.close()


def test_every_call_is_made_once(workers: Workers) -> None:
    """Whatever thread makes it."""
    calls: list[int] = []
    workers.parallel(calls.append, 200)

    assert sorted(calls) == list(range(200))


def test_calls_run_at_the_same_time(workers: Workers) -> None:
    """Three calls that wait for each other end: this thread and two others make them."""
    together = threading.Barrier(3)
    workers.parallel(lambda _: together.wait(10), 3)


def test_busy_threads_are_not_waited_for(workers: Workers) -> None:
    """Where nobody is free, the caller makes all calls itself."""
    gate, calls = threading.Event(), list[int]()
    for _ in range(3):
        workers.start(lambda: gate.wait(10))
    try:
        workers.parallel(lambda _: calls.append(threading.get_ident()), 4)
    finally:
        gate.set()

    assert calls == [threading.get_ident()] * 4


def test_a_failure_is_raised(workers: Workers) -> None:
    """That of the lowest number; what was begun is over by then, and nothing is begun after it."""
    running, begun = [], []

    def fail(number: int) -> None:
        begun.append(number)
        running.append(number)
        try:
            if number >= 3:
                raise ValueError(f"call {number}")
        finally:
            running.remove(number)

    with pytest.raises(ValueError, match="call 3"):
        workers.parallel(fail, 5000)

    assert running == []
    assert len(begun) < 5000


def test_shares_within_shares(workers: Workers) -> None:
    """A call may share calls of its own."""
    calls: list[tuple[int, int]] = []
    workers.parallel(lambda outer: workers.parallel(lambda inner: calls.append((outer, inner)), 5), 5)

    assert sorted(calls) == [(outer, inner) for outer in range(5) for inner in range(5)]


def test_an_interrupt_waits_for_the_helpers() -> None:
    """Wherever it strikes the caller, nobody is at work on its arrays when it gets away, and the next share is whole."""
    workers, running = Workers(0, 2), list[int]()

    def call(number: int) -> None:
        running.append(number)
        running.remove(number)

    def share(_: object) -> None:
        workers.parallel(call, 6)

    places = 0
    for _, place in interrupted_everywhere(lambda: None, share):
        places += 1
        assert running == [], place
        running.clear()
        workers.parallel(call, 6)
    workers.close()

    assert places > 10


def test_one_core() -> None:
    """The caller makes all calls, in order."""
    alone, calls = Workers(0, 1), list[int]()
    alone.parallel(calls.append, 5)
    alone.close()

    assert calls == [0, 1, 2, 3, 4]
