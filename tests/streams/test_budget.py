"""A loop is never starved by the work that runs on its thread."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aacl import Completion, Device, Stream, ops
from aacl.streams._budget import LIMIT, LONG, STEP, TURN, UNKNOWN, Cost
from tests.helpers import PythonWork, wait_until_idle


class Ticker:
    """Counts the turns of the loop."""

    def __init__(self) -> None:
        self.turns = 0
        self._loop = asyncio.get_running_loop()
        self._loop.call_soon(self._tick)
        self._stopped = False

    def _tick(self) -> None:
        self.turns += 1
        if not self._stopped:
            self._loop.call_soon(self._tick)

    def stop(self) -> None:
        self._stopped = True


def _busy(nanoseconds: int) -> Callable[[], None]:
    """Return work that takes this long."""

    def work() -> None:
        end = time.perf_counter_ns() + nanoseconds
        while time.perf_counter_ns() < end:
            pass

    return work


# -- costs, as plain values -----------------------------------------------------------------------


def test_a_cost_starts_with_what_the_work_is_said_to_be() -> None:
    """Bytes moved and operations make the first guess; until it is known each run is measured."""
    small, large = Cost.of(100), Cost.of(100 << 20)

    assert small.estimate < LONG < large.estimate
    assert Cost.of(0, 10**9).estimate > LONG
    assert UNKNOWN > LONG
    assert small.charge > STEP


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=40))
def test_a_cost_is_a_middle_one_of_the_recent_runs(runs: list[int]) -> None:
    """The estimate is the lower median of the last runs."""
    cost = Cost(0)
    for elapsed in runs:
        cost.learn(elapsed)
    recent = sorted(runs[-9:])

    assert cost.estimate == recent[(len(recent) - 1) // 2]


def test_one_preemption_does_not_make_short_work_long() -> None:
    """A single slow run among fast ones changes nothing; a majority does, in both directions."""
    cost = Cost(0)
    for elapsed in (500, 500, 500, 50_000_000, 500):
        cost.learn(elapsed)
    assert cost.estimate == 500
    for _ in range(9):
        cost.learn(1_000_000)
    assert cost.estimate > LONG
    for _ in range(9):
        cost.learn(500)
    assert cost.estimate == 500


# -- the loop -------------------------------------------------------------------------------------


async def test_awaited_short_commands_give_the_loop_its_turns(stream: Stream) -> None:
    """A task that does nothing but await finished commands still lets the others run, about every half millisecond."""
    a, out = await stream.to_device(np.ones(64)), await stream.to_device(np.ones(64))
    add = ops.Add(a, a, out=out)
    await stream.execute(add)
    ticker, steps = Ticker(), 5000
    for _ in range(steps):
        await stream.execute(add)
    ticker.stop()

    # A command counts for a microsecond at least, so these are 10 turns' worth or more.
    assert 5 <= ticker.turns < steps // 10


async def test_short_commands_are_not_slowed_down_by_turns(stream: Stream) -> None:
    """A few commands run without any turn of the loop."""
    work = PythonWork(int, estimate=0)
    for _ in range(5):
        await stream.execute(work)
    await asyncio.sleep(0)
    ticker = Ticker()
    for _ in range(5):
        await stream.execute(work)
    ticker.stop()

    assert ticker.turns == 0


def _new_work() -> PythonWork:
    """Return work that takes no time, and counts as a whole step because nobody has measured it yet."""
    return PythonWork(int, estimate=0)


async def test_past_a_turns_worth_awaiting_a_finished_command_yields_once(stream: Stream) -> None:
    """The command was done when execute() returned, and its await gives way exactly once."""
    completions: list[Completion[Any]] = []
    for _ in range(50):  # until nothing else took this thread's time meanwhile
        await asyncio.sleep(0)
        completions = [stream.execute(_new_work()) for _ in range(TURN // STEP + 2)]
        if all(completion.done() for completion in completions):
            break
        await stream.synchronize()
        wait_until_idle(stream)
    assert all(completion.done() for completion in completions)
    ticker = Ticker()
    await completions[-1]
    once = ticker.turns
    await completions[-1]
    ticker.stop()

    assert (once, ticker.turns) == (1, 1)


async def test_past_the_limit_commands_are_queued(stream: Stream) -> None:
    """Without an await the loop's thread runs two milliseconds of work, not more; the rest goes to workers."""
    threads: list[int] = []
    await asyncio.sleep(0)
    for _ in range(2 * LIMIT // STEP):
        stream.execute(PythonWork(lambda: threads.append(threading.get_ident()), estimate=0))
    await stream.synchronize()
    wait_until_idle(stream)
    here = threads.count(threading.get_ident())

    assert len(threads) == 2 * LIMIT // STEP
    assert 1 <= here <= LIMIT // STEP + 1
    await asyncio.sleep(0)
    assert stream.execute(_new_work()).done()  # the loop had its turn


async def test_work_that_proved_long_goes_to_a_worker(stream: Stream) -> None:
    """Said to be short, it runs here once or so; then its time is known."""
    threads: list[int] = []

    def work() -> None:
        _busy(LONG * 2)()
        threads.append(threading.get_ident())

    job = PythonWork(work, estimate=0)
    for _ in range(4):
        await stream.execute(job)

    assert threads[0] == threading.get_ident()
    assert threads[-1] != threading.get_ident()


async def test_work_that_proved_short_comes_back_from_the_worker(stream: Stream) -> None:
    """Believed to be long, it runs on workers until its time is known."""
    threads: list[int] = []
    job = PythonWork(lambda: threads.append(threading.get_ident()), estimate=LONG + 1)
    for _ in range(20):
        await stream.execute(job)
        wait_until_idle(stream)

    assert threads[0] != threading.get_ident()
    assert threads[-1] == threading.get_ident()


async def test_large_kernels_leave_the_loop_free(stream: Stream) -> None:
    """An elementwise operation on tens of megabytes is never done when execute() returns."""
    a = await stream.to_device(np.ones(4 << 20), copy=False)
    completion = stream.execute(ops.Add(a, a))

    assert not completion.done()
    await completion


async def test_a_queue_of_many_short_commands_leaves_the_loop_its_turns(device: Device) -> None:
    """A worker that drains thousands of tiny commands does not keep the GIL from the loop."""
    async with Stream(device) as stream:
        gate = threading.Event()
        stream.call(gate.wait, 10)
        work = PythonWork(int, estimate=0)
        for _ in range(20_000):
            stream.execute(work)
        loop, gaps, last = asyncio.get_running_loop(), [], time.perf_counter()

        def tick() -> None:
            nonlocal last
            now = time.perf_counter()
            gaps.append(now - last)
            last = now
            if not barrier.done():
                loop.call_soon(tick)

        barrier = stream.barrier()
        gate.set()
        loop.call_soon(tick)
        await barrier

    assert len(gaps) > 10
    assert sorted(gaps)[len(gaps) * 9 // 10] < 0.05


async def test_without_a_loop_nothing_is_owed() -> None:
    """A thread without a loop runs any amount of short work where it stands."""

    def submit() -> int:
        from aacl import blocking

        job = PythonWork(_busy(STEP), estimate=0)
        with blocking.Device(0) as device, blocking.Stream(device) as stream:
            return sum(stream.submit(job).done() for _ in range(100))

    assert await asyncio.to_thread(submit) == 100
