"""Waking: who waits for a command hears of its end soon, and a loop is not woken for each of many."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import Any

import pytest

from aacl import Completion, Stream
from aacl.streams._budget import TURN
from aacl.streams._ended import Ended
from aacl.streams._waiting import Inbox, LoopCallback, inbox_of
from tests.helpers import Hold, PythonWork
from tests.helpers._hold import PATIENCE

SHORT = 1_000


class _OwnCode(PythonWork):
    """A program's own code, of which only a guess says that it is short."""

    keeps_exceptions = True


def _waits(event: threading.Event, found: list[bool]) -> None:
    found.append(event.wait(PATIENCE))


async def _then(completion: Completion[Any], act: Callable[[], object]) -> None:
    await completion
    act()


@pytest.mark.parametrize("submit", [
    lambda stream, wait: stream.execute(_OwnCode(wait, estimate=SHORT)),
    lambda stream, wait: stream.execute(PythonWork(wait)),
    lambda stream, wait: stream.call(wait),
], ids=["own code", "unknown", "host call"])  # fmt: skip
async def test_what_comes_next_may_wait_for_a_waiter(
    stream: Stream, submit: Callable[[Stream, Callable[[], None]], Completion[Any]]
) -> None:
    """What may take long runs after the waiters of what came before were woken: it may need one of them."""
    heard, found = threading.Event(), list[bool]()
    with Hold(stream):
        first = stream.execute(PythonWork(lambda: None, estimate=SHORT))
        waiter = asyncio.create_task(_then(first, heard.set))
        last = submit(stream, partial(_waits, heard, found))
        for _ in range(3):  # more is behind it, so that nobody would be woken yet
            stream.execute(PythonWork(lambda: None, estimate=SHORT))
        await asyncio.sleep(0)

    await asyncio.gather(waiter, last)
    assert found == [True]


async def test_a_callback_may_wait_for_a_waiter(stream: Stream) -> None:
    """A done callback of a later command, called by the thread that ends it, may wait for who awaits an earlier one."""
    heard, found = threading.Event(), list[bool]()
    with Hold(stream):
        first, second, *_ = [stream.execute(PythonWork(lambda: None, estimate=SHORT)) for _ in range(5)]
        waiter = asyncio.create_task(_then(first, heard.set))
        await asyncio.to_thread(second.add_done_callback, lambda _: _waits(heard, found))
        await asyncio.sleep(0)

    await asyncio.gather(waiter, second)
    await stream.synchronize()
    assert found == [True]


async def test_tasks_go_on_in_the_order_of_the_ends(stream: Stream) -> None:
    """Of many tasks that wait for commands of one stream each goes on in its command's turn."""
    order: list[int] = []
    with Hold(stream):
        tasks = [
            asyncio.create_task(_then(stream.execute(PythonWork(lambda: None, estimate=SHORT)), _appends(order, n)))
            for n in range(64)
        ]
        await asyncio.sleep(0)

    await asyncio.gather(*tasks)
    assert order == list(range(64))


def _appends(order: list[int], number: int) -> Callable[[], None]:
    """Return a call that appends a number."""
    return lambda: order.append(number)


class _Waited:
    """A completion that counts its wakes."""

    def __init__(self, woken: list[_Waited]) -> None:
        self._woken = woken

    def _wake(self) -> None:
        self._woken.append(self)


def test_waiters_wait_for_short_work_only() -> None:
    """Until a turn's time is over waiters wait for work that is short by all that is known of it."""
    woken: list[_Waited] = []
    ended = Ended()
    commands: list[Any] = [_Waited(woken) for _ in range(3)]
    for command in commands:
        ended.add(command)

    assert ended.cannot_wait_for(None)
    assert ended.cannot_wait_for(PythonWork(lambda: None))
    assert ended.cannot_wait_for(PythonWork(lambda: None, estimate=TURN))
    assert ended.cannot_wait_for(_OwnCode(lambda: None, estimate=SHORT))
    ended.wake()
    ended.wake()
    assert woken == commands


class _Loop:
    """As much of a loop as an inbox needs."""

    def __init__(self) -> None:
        self.calls: list[Callable[[], None]] = []
        self.closed = False

    def call_soon_threadsafe(self, call: Callable[[], None]) -> None:
        if self.closed:
            raise RuntimeError("Event loop is closed")
        self.calls.append(call)

    call_soon = call_soon_threadsafe


def test_a_loop_is_woken_once_for_all_that_comes() -> None:
    """Letters that come before the loop looks wake it once; they are read in their order; the next one wakes it again."""
    loop, read = _Loop(), list[Any]()
    inbox = Inbox(loop)  # type: ignore[arg-type]
    for number in range(3):
        inbox.put(lambda number=number: read.append(number))  # type: ignore[misc]

    assert len(loop.calls) == 1
    loop.calls.pop()()
    assert read == [0, 1, 2]
    inbox.put(lambda: read.append(3))
    loop.calls.pop()()
    assert read == [0, 1, 2, 3]


def test_an_interrupt_in_the_loop_loses_no_letter() -> None:
    """What an interrupt leaves unread is read in the loop's next turn."""
    loop, read = _Loop(), list[Any]()

    def interrupted() -> None:
        if not read:
            read.append("interrupt")
            raise KeyboardInterrupt

    inbox = Inbox(loop)  # type: ignore[arg-type]
    inbox.put(interrupted)
    inbox.put(lambda: read.append("second"))
    with pytest.raises(KeyboardInterrupt):
        loop.calls.pop()()

    loop.calls.pop()()
    assert read == ["interrupt", "second"]


def test_nobody_hears_for_a_closed_loop() -> None:
    """What would go to a closed loop is dropped, and is no error."""
    loop = _Loop()
    loop.closed = True
    inbox = Inbox(loop)  # type: ignore[arg-type]
    inbox.put(lambda: None)

    assert not inbox._letters


def test_an_unread_letter_keeps_no_loop() -> None:
    """A loop that was closed before it looked goes with its letters."""
    loop = asyncio.new_event_loop()
    inbox_of(loop).release(loop.create_future())
    loop.close()
    gone = weakref.ref(loop)
    del loop
    gc.collect()

    assert gone() is None


async def test_one_inbox_a_loop() -> None:
    """All threads write to the same inbox of a loop, callbacks and waiting tasks alike, and keep their order."""
    loop = asyncio.get_running_loop()
    inbox, read, everything = inbox_of(loop), list[str](), asyncio.Event()
    future = loop.create_future()
    future.add_done_callback(lambda _: take("task"))

    def take(text: str) -> None:
        read.append(text)
        if len(read) == 3:
            everything.set()

    def write() -> None:
        assert inbox_of(loop) is inbox
        LoopCallback(take, loop, copy_context())("before")  # type: ignore[arg-type]
        inbox.release(future)
        inbox.release(future)
        LoopCallback(take, loop, copy_context())("after")  # type: ignore[arg-type]

    await asyncio.to_thread(write)
    await everything.wait()
    assert read == ["before", "task", "after"]
