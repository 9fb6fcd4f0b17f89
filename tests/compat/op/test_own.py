"""What compile functions chose, kept for several threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import count

import pytest

import aacl
from acl.op import _own

_PATIENCE = 0.2  # seconds that a thread gives another one to come where it is


class _Meeting:
    """Numbers that are drawn in the midst of a choice: whether two threads are there at once."""

    def __init__(self) -> None:
        self._numbers, self._barrier = count(1), threading.Barrier(2)
        self.is_met = False

    def __next__(self) -> int:
        try:
            self._barrier.wait(_PATIENCE)
            self.is_met = True
        except threading.BrokenBarrierError:
            pass
        return next(self._numbers)


@pytest.fixture
def own(device: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[_own.OwnOperator]:
    """Return an operator type of the program's own with one kernel."""
    monkeypatch.setitem(_own._kernels, "Raced", {"kernel": lambda *_: None})
    operator = _own.OwnOperator("Raced", lambda *_: 0)
    yield operator
    operator.close()


def test_threads_choose_one_after_the_other(own: _own.OwnOperator, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signature has one choice in the end, and nothing is left of those before it."""
    meeting = _Meeting()
    monkeypatch.setattr(_own, "_numbers", meeting)

    def choose(thread: int) -> None:
        own.choose(("signature",), aacl.Launch("kernel", tiling=bytes([thread])))

    threads = [threading.Thread(target=choose, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not meeting.is_met
    assert list(own._launches) == list(own._numbers.values())
