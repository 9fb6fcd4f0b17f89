"""On which threads blocks run, by how long such runs have taken."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from aacl import Stream
from aacl.ops._spread import LaunchCost
from aacl.streams._budget import LONG
from tests.helpers import wait_until_idle
from tests.helpers.own_operators import Own


async def test_nothing_of_unknown_cost_runs_on_the_loops_thread(stream: Stream) -> None:
    """The first runs are the workers'; what proved to be short then runs where it is submitted."""
    threads: list[int] = []

    def note(*_: Any) -> None:
        threads.append(threading.get_ident())

    with Own(note) as own:
        await stream.execute(own())
        assert threads[0] != threading.get_ident()
        for _ in range(40):
            await stream.execute(own())
            wait_until_idle(stream)
            await asyncio.sleep(0)
    assert threads[-1] == threading.get_ident()


async def test_short_runs_stay_on_one_thread(stream: Stream) -> None:
    """More blocks than cores are spread until the run is known to be short: to wake a thread would take longer."""
    threads: list[int] = []

    def note(*_: Any) -> None:
        threads.append(threading.get_ident())

    with Own(note, blocks=6) as own:
        for _ in range(12):
            await stream.execute(own())
        threads.clear()
        await stream.execute(own())
    assert len(threads) == 6
    assert len(set(threads)) == 1


async def test_blocks_that_have_a_core_each_may_wait_for_each_other(stream: Stream) -> None:
    """However short such runs are known to be, no block stands behind another one on its thread."""
    meeting = threading.Barrier(2)
    with Own(lambda *_: meeting.wait(10), blocks=2) as own:
        for _ in range(40):
            await stream.execute(own())


def test_blocks_are_counted_together() -> None:
    """A launch is as long as its blocks one after the other, since that is what it is on one thread."""
    cost = LaunchCost()
    for _ in range(9):
        cost.busy = 3 * LONG
        cost.learn(LONG // 2)
    assert cost.estimate == 3 * LONG
    for _ in range(9):
        cost.busy = 100
        cost.learn(500)
    assert cost.estimate == 500
