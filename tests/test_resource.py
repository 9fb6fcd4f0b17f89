"""The base of everything that is opened and closed."""

from __future__ import annotations

import gc
import pickle
import threading
from typing import Any

import pytest

import aacl
from aacl import ClosedResource, InvalidArgument, _resource, open_resources
from aacl._resource import Resource, ResourceState
from tests.helpers import Boom


class Thing(Resource):
    """A resource that says what happens to it."""

    kind = "thing"

    def __init__(self, log: list[Any] | None = None, name: str = "", *, fails: bool = False) -> None:
        super().__init__()
        self._log, self._name, self._fails = [] if log is None else log, name, fails

    def _release(self) -> None:
        self._log.append(self._name)
        if self._fails:
            raise Boom(self._name)

    def close(self) -> list[BaseException]:
        """Close what is below and then this, as the performers do."""
        below = [each for each in self._descendants() if each._begin_close()]
        return [error for each in below for error in each._finish_close()]


@pytest.fixture
def thing() -> Thing:
    """An open one."""
    made = Thing()
    made._opened_in(None)
    return made


def test_states(thing: Thing) -> None:
    """new, open, closing, closed; there is no way back."""
    new = Thing()
    assert (new._state, new.closed) == (ResourceState.NEW, False)
    assert (thing._state, thing.closed) == (ResourceState.OPEN, False)
    assert thing._begin_close()
    assert (thing._state, thing.closed) == (ResourceState.CLOSING, False)
    assert thing._begin_close(), "an interrupted close is gone on with"
    assert thing._finish_close() == []
    assert (thing._state, thing.closed) == (ResourceState.CLOSED, True)
    assert not thing._begin_close()


@pytest.mark.parametrize("state", ["new", "closing", "closed"])
def test_use_in_the_wrong_state_is_said(thing: Thing, state: str) -> None:
    """The text has the act, the state, the resource and what to do."""
    if state == "new":
        thing.close()
        thing = Thing()
    elif state == "closing":
        thing._begin_close()
    else:
        thing.close()
    with pytest.raises(ClosedResource, match=f"cannot shake {state} thing {thing.number}; "):
        thing._check_open("shake")
    if state == "closing":
        thing._finish_close()


def test_only_new_ones_open(thing: Thing) -> None:
    """Open ones and closed ones are refused, each with its own error."""
    with pytest.raises(InvalidArgument, match="open already"):
        thing._check_new()
    thing.close()
    with pytest.raises(ClosedResource):
        thing._check_new()


def test_a_new_one_that_is_closed_stays_closed() -> None:
    """Closing before opening is remembered."""
    thing = Thing()
    assert not thing._begin_close()
    assert thing.closed


def test_children_come_before_their_owner_youngest_first(thing: Thing) -> None:
    """The whole tree below, deepest first."""
    log: list[Any] = []
    root = Thing(log, "root")
    root._opened_in(thing)
    first, second = Thing(log, "first"), Thing(log, "second")
    first._opened_in(root)
    second._opened_in(root)
    for name, owner in (("a", first), ("b", first), ("c", second)):
        Thing(log, name)._opened_in(owner)
    assert thing.close() == []

    assert log == ["c", "second", "b", "a", "first", "root"]


def test_a_closed_owner_takes_no_children(thing: Thing) -> None:
    """The child stays new."""
    thing.close()
    child = Thing()
    with pytest.raises(ClosedResource):
        child._opened_in(thing)
    assert child._state is ResourceState.NEW


def test_errors_are_collected_and_stop_nothing(thing: Thing) -> None:
    """What release and callbacks raise is returned, in order, and every callback is called."""
    log: list[Any] = []
    child = Thing(log, "child", fails=True)
    child._opened_in(thing)
    for text in ("one", "two"):
        child.on_close(lambda text=text: log.append(text))  # type: ignore[misc]
    child.on_close(lambda: 1 / 0)
    errors = thing.close()

    assert [type(error) for error in errors] == [Boom, ZeroDivisionError]
    assert log == ["child", "two", "one"]


def test_numbers_count_each_kind() -> None:
    """Two of a kind have different numbers."""
    assert Thing().number + 1 == Thing().number


def test_open_ones_are_counted_by_kind(thing: Thing) -> None:
    """Of all that is open in the process."""
    assert open_resources()["thing"] == 1
    thing.close()
    assert "thing" not in open_resources()


async def test_the_count_shows_devices_contexts_and_streams() -> None:
    """A default context counts as one."""
    assert open_resources() == {}
    async with aacl.Device(0), aacl.Context(), aacl.Stream(), aacl.Stream(), aacl.MemoryPool(100):
        assert open_resources() == {"device": 1, "context": 2, "stream": 2, "memory pool": 1}
    assert open_resources() == {}


def test_resources_cannot_be_pickled(thing: Thing) -> None:
    """They are of this process."""
    with pytest.raises(TypeError, match="other process"):
        pickle.dumps(thing)
    thing.close()


def test_closing_by_many_happens_once(thing: Thing) -> None:
    """Of many threads that close, one calls each callback."""
    barrier, called = threading.Barrier(8), []
    for number in range(20):
        thing.on_close(lambda number=number: called.append(number))  # type: ignore[misc]

    def close() -> None:
        barrier.wait(10)
        if thing._begin_close():
            thing._finish_close()

    threads = [threading.Thread(target=close) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert sorted(called) == list(range(20))
    assert thing.closed


def test_a_close_that_was_interrupted_is_gone_on_with(thing: Thing) -> None:
    """What the interrupt kept from happening happens in the next close, and nothing twice."""
    called: list[str] = []

    def interrupt() -> None:
        called.append("interrupt")
        raise KeyboardInterrupt

    thing.on_close(lambda: called.append("last"))
    thing.on_close(interrupt)
    assert thing._begin_close()
    with pytest.raises(KeyboardInterrupt):
        thing._finish_close()
    assert thing._begin_close()
    assert thing._finish_close() == []

    assert called == ["interrupt", "last"]
    assert thing.closed


def test_an_open_one_is_not_collected() -> None:
    """It has work to end and an order to be closed in: forgetting it does not close it."""
    thing = Thing()
    thing._opened_in(None)
    number = thing.number
    del thing
    gc.collect()
    kept = [each for each in _resource._open.values() if isinstance(each, Thing)]

    assert [each.number for each in kept] == [number]
    kept[0].close()
