"""Streams that stop at a failure until they are told to recover."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from aacl import Aborted, Completion, Device, KernelError, Stream, StreamError
from tests.helpers import Boom, Hold, Overlap, PythonWork, fail

WAYS: dict[str, Callable[[Stream], Completion[Any]]] = {
    "call": lambda stream: stream.call(fail),
    "worker": lambda stream: stream.execute(PythonWork(fail)),
    "inline": lambda stream: stream.execute(PythonWork(fail, estimate=0)),
}


@pytest.fixture
async def stopping(device: Device) -> AsyncIterator[Stream]:
    """A stream that stops at its first failure."""
    stream = await Stream(device, stop_at_failure=True).open()
    yield stream
    async with asyncio.timeout(10):
        await stream.aclose()


@pytest.fixture(params=WAYS)
def failing(request: pytest.FixtureRequest) -> Callable[[Stream], Completion[Any]]:
    """Submit something that fails, in each of the ways."""
    return WAYS[request.param]


async def test_it_takes_nothing_after_a_failure(stopping: Stream, failing: Callable[[Stream], Completion[Any]]) -> None:
    """Work of every kind is refused, with the failure as the cause, until recover()."""
    with pytest.raises((Boom, KernelError)) as caught:
        await failing(stopping)
    await asyncio.sleep(0)
    for submit in (
        lambda: stopping.execute(PythonWork(int, estimate=0)),
        lambda: stopping.execute(PythonWork(int)),
        lambda: stopping.call(int),
    ):
        with pytest.raises(StreamError, match=r"recover\(\)") as refused:
            submit()
        assert refused.value.__cause__ is caught.value
    stopping.recover()

    assert await stopping.call(int) == 0
    assert await stopping.execute(PythonWork(int, result=1, estimate=0)) == 1


async def test_what_is_queued_is_dropped(stopping: Stream, failing: Callable[[Stream], Completion[Any]]) -> None:
    """Commands behind the failure fail with Aborted and do not run."""
    ran: list[int] = []
    with Hold(stopping):
        failed = failing(stopping)
        behind = [stopping.call(ran.append, 1), stopping.execute(PythonWork(lambda: ran.append(2)))]
    results = await asyncio.wait_for(asyncio.gather(failed, *behind, return_exceptions=True), 10)

    assert isinstance(results[0], (Boom, KernelError))
    assert all(isinstance(result, Aborted) for result in results[1:])
    assert ran == []
    stopping.recover()


async def test_synchronize_ends_and_reports(stopping: Stream, failing: Callable[[Stream], Completion[Any]]) -> None:
    """A stopped stream has nothing more to wait for: synchronise raises the failure instead of waiting."""
    with Hold(stopping) as hold:
        failing(stopping)
        under_way = asyncio.create_task(stopping.synchronize())
        await asyncio.sleep(0)
        hold.release()
        done, _ = await asyncio.wait({under_way}, timeout=5)
        under_way.cancel()
    assert done, "synchronize hangs"
    with pytest.raises(StreamError):
        await under_way
    async with asyncio.timeout(5):
        await stopping.synchronize()
    stopping.recover()


async def test_a_stopped_stream_can_be_left(device: Device, failing: Callable[[Stream], Completion[Any]]) -> None:
    """Closing needs no recover(); the failure is reported as usual."""
    stream = Stream(device, stop_at_failure=True)
    with pytest.raises(StreamError):
        async with asyncio.timeout(10), stream:
            failing(stream)

    assert stream.closed


async def test_it_stops_again(stopping: Stream) -> None:
    """After recover() the next failure stops it again."""
    for _ in range(3):
        with pytest.raises(Boom):
            await stopping.call(fail)
        with pytest.raises(StreamError):
            stopping.call(int)
        stopping.recover()


async def test_recover_without_a_failure_does_nothing(stopping: Stream) -> None:
    """Nor on a stream that does not stop at failures."""
    stopping.recover()
    with Hold(stopping):
        stopping.recover()
    assert await stopping.call(int) == 0


async def test_recovering_in_the_middle_of_the_drop_keeps_the_order(stopping: Stream) -> None:
    """A callback of a dropped command calls recover(): afterwards commands still run one at a time."""
    recovered = threading.Event()

    def recover(_: object) -> None:
        stopping.recover()
        recovered.set()

    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    work = Overlap()

    def submit() -> None:
        with Hold(stopping):
            stopping.call(int, on=pool)  # fails in the worker that drains the queue
            stopping.call(int).add_done_callback(recover)
        assert recovered.wait(10)

    await asyncio.to_thread(submit)
    completions = [stopping.call(work) for _ in range(50)]
    async with asyncio.timeout(10):
        await asyncio.gather(*completions)
    with Hold(stopping):
        late = stopping.call(int)
        assert not late.done()
        assert stopping.statistics().queued == 1
    await late

    assert (work.runs, work.overlaps) == (50, 0)
    with pytest.raises(StreamError):
        await stopping.synchronize()
    stopping.recover()
