"""Bounded streams: WouldBlock when full, ready() to wait for room."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import numpy as np
import pytest

import aacl
from aacl import ClosedResource, Device, InvalidArgument, Stream, WouldBlock, ops
from tests.helpers import Hold, PythonWork


@pytest.fixture
async def bounded(device: Device) -> AsyncIterator[Stream]:
    """A stream that queues two commands at most."""
    async with Stream(device, limit=2) as opened:
        yield opened


def _fill(stream: Stream) -> None:
    while stream.statistics().queued < 2:
        stream.call(int)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_is_at_least_one(limit: int) -> None:
    """A queue without room for anything means nothing."""
    with pytest.raises(InvalidArgument, match="at least 1"):
        Stream(limit=limit)


async def test_a_full_queue_takes_nothing(bounded: Stream) -> None:
    """Every kind of submission raises WouldBlock, and nothing is half submitted; the limit is named."""
    a = await bounded.to_device(np.ones(2))
    with Hold(bounded):
        _fill(bounded)
        for submit in (
            lambda: bounded.call(int),
            lambda: bounded.execute(ops.Add(a, a)),
            lambda: bounded.fill(a, 0),
            lambda: bounded.to_host(a),
            bounded.record_event,
        ):
            with pytest.raises(WouldBlock, match=r"2 commands queued.*ready"):
                submit()
        assert bounded.statistics().queued == 2
    await bounded.synchronize()


async def test_synchronising_needs_no_room(bounded: Stream) -> None:
    """A full stream can be waited for and aborted."""
    with Hold(bounded) as hold:
        _fill(bounded)
        waiting = asyncio.create_task(bounded.synchronize())
        await asyncio.sleep(0)
        hold.release()
        await waiting
    with Hold(bounded):
        _fill(bounded)
        assert await bounded.abort() == 2


async def test_ready_waits_for_room(bounded: Stream) -> None:
    """It returns once a command of a full queue was taken out, and at once when there is room."""
    await bounded.ready()
    with Hold(bounded) as hold:
        _fill(bounded)
        waiting = asyncio.create_task(bounded.ready())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not waiting.done()
        hold.release()
        await waiting
        bounded.call(int)


async def test_ready_gives_other_tasks_a_turn(stream: Stream) -> None:
    """Even without a limit it yields."""
    turns: list[int] = []
    asyncio.get_running_loop().call_soon(turns.append, 1)
    await stream.ready()

    assert turns == [1]


async def test_producers_that_wait_for_room_all_get_through(device: Device) -> None:
    """Many tasks feed a queue of one; each command runs and no task is forgotten."""
    ran: list[int] = []
    async with Stream(device, limit=1) as stream:

        async def produce(number: int) -> None:
            for _ in range(20):
                while True:
                    try:
                        stream.execute(PythonWork(lambda: ran.append(number), estimate=0 if number % 2 else 10**6))
                        break
                    except WouldBlock:
                        await stream.ready()

        async with asyncio.timeout(15):
            await asyncio.gather(*[produce(number) for number in range(6)])

    assert len(ran) == 120


async def test_abort_makes_room(bounded: Stream) -> None:
    """Who waits for room is woken when the queue was dropped."""
    with Hold(bounded):
        _fill(bounded)
        waiting = [asyncio.create_task(bounded.ready()) for _ in range(2)]
        await asyncio.sleep(0)
        await bounded.abort()
        done, _ = await asyncio.wait(waiting, timeout=5)
        for task in waiting:
            task.cancel()
    assert len(done) == 2


async def test_unused_room_is_passed_on(device: Device) -> None:
    """A waiter that was woken and submits nothing, or was cancelled, does not keep the others waiting."""
    async with Stream(device, limit=1) as stream:
        with Hold(stream) as hold:
            stream.call(int)
            waiting = [asyncio.create_task(stream.ready()) for _ in range(4)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            hold.release()
            _, pending = await asyncio.wait(waiting, timeout=5)
            for task in pending:
                task.cancel()
        assert not pending
        assert waiting[0].cancelled()


async def test_a_waiter_cancelled_after_its_wake_up_passes_it_on(device: Device) -> None:
    """The wake-up of a task that was cancelled in the same turn goes to the next one."""
    async with Stream(device, limit=1) as stream:
        with Hold(stream) as hold:
            queued = stream.call(int)
            first, second = (asyncio.create_task(stream.ready()) for _ in range(2))
            await asyncio.sleep(0)
            hold.release()
            assert queued.wait(10, block_loop=True)  # the wake-up is on the way to this loop
            first.cancel()
            done, _ = await asyncio.wait({second}, timeout=5)
            second.cancel()
        assert done
        with pytest.raises(asyncio.CancelledError):
            await first


async def test_the_end_of_the_stream_wakes_who_waits_for_room(device: Device) -> None:
    """They learn that the stream was closed."""
    stream = await Stream(device, limit=1).open()
    with Hold(stream) as hold:
        stream.call(int)
        waiting = [asyncio.create_task(stream.ready()) for _ in range(3)]
        await asyncio.sleep(0)
        closing = asyncio.create_task(stream.aclose())
        await asyncio.sleep(0)
        hold.release()
        await closing
    for error in await asyncio.gather(*waiting, return_exceptions=True):
        assert error is None or isinstance(error, ClosedResource)
    with pytest.raises(ClosedResource):
        await stream.ready()


async def test_short_work_on_an_idle_bounded_stream_runs_at_once(bounded: Stream) -> None:
    """The limit is one of queued commands: what runs inline needs no place."""
    completions = [bounded.execute(PythonWork(int, estimate=0)) for _ in range(10)]

    assert all(completion.done() for completion in completions)


def test_blocking_submissions_to_a_full_queue() -> None:
    """Without a loop WouldBlock is raised as well."""
    with (
        aacl.blocking.Device(0) as device,
        aacl.blocking.Stream(device, limit=1) as stream,
        Hold(stream.stream),
    ):
        stream.submit(PythonWork(int))
        with pytest.raises(WouldBlock):
            stream.submit(PythonWork(int))
