"""Work that needs no turn among its like: it runs on several cores at a time, and in its turn among the rest."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from aacl import Aborted, Completion, Device, KernelError, Stream
from aacl.streams._budget import UNKNOWN
from tests.helpers import Boom, Hold, PythonWork, fail
from tests.helpers._hold import PATIENCE


class _Sociable(PythonWork):
    """Work that may run beside others like it."""

    def __init__(self, function: Callable[[], object], beside: Callable[[], object] | None = None) -> None:
        super().__init__(function, estimate=1_000)
        self._run_beside = beside or function


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give devices that are opened from now on two cores."""
    monkeypatch.setenv("AACL_CORES", "2")


@pytest.fixture
async def device(two_cores: None) -> Any:
    """A device with two cores."""
    async with Device(0) as opened:
        yield opened


async def test_they_run_at_the_same_time(stream: Stream) -> None:
    """Two of them that wait for each other come to an end; each runs once, in the form for company."""
    both, alone = threading.Barrier(2), list[int]()
    with Hold(stream):
        commands = [
            stream.execute(_Sociable(lambda: alone.append(0), lambda: both.wait(PATIENCE))) for _ in range(2)
        ]  # fmt: skip

    await asyncio.gather(*commands)
    assert not alone
    assert not both.broken


async def test_one_alone_is_run_as_such(stream: Stream) -> None:
    """What has none of its like behind it runs as it does alone, on whatever stream and behind whatever work."""
    ran: list[str] = []
    with Hold(stream):
        first = stream.execute(_Sociable(lambda: ran.append("alone"), lambda: ran.append("beside")))
        second = stream.execute(PythonWork(lambda: ran.append("other")))
        third = stream.execute(_Sociable(lambda: ran.append("alone"), lambda: ran.append("beside")))

    await asyncio.gather(first, second, third)
    assert ran == ["alone", "other", "alone"]


@pytest.mark.parametrize("submit", [
    lambda stream, look: stream.call(look),
    lambda stream, look: stream.execute(PythonWork(look, estimate=1_000)),
], ids=["host call", "work"])  # fmt: skip
async def test_others_keep_their_place(
    stream: Stream, submit: Callable[[Stream, Callable[[], None]], Completion[Any]]
) -> None:
    """What comes behind them begins when all of them are over, and before those behind it begin."""
    ran, seen = list[int](), list[tuple[int, bool]]()
    lock = threading.Lock()

    def run() -> None:
        with lock:
            ran.append(1)

    with Hold(stream):
        before = [stream.execute(_Sociable(run)) for _ in range(20)]
        look = submit(stream, lambda: seen.append((len(ran), all(command.done() for command in before))))
        after = [stream.execute(_Sociable(run)) for _ in range(20)]

    await asyncio.gather(*before, look, *after)
    assert seen == [(20, True)]
    assert len(ran) == 40


async def test_long_ones_keep_no_waiter_waiting(stream: Stream) -> None:
    """Who waits for one that is over is woken before others that may take long begin, or while they run."""
    heard, found = threading.Event(), list[bool]()

    async def hear(completion: Completion[Any]) -> None:
        await completion
        heard.set()

    with Hold(stream):
        first = stream.execute(_Sociable(lambda: None))
        waiter = asyncio.create_task(hear(first))
        rest = [stream.execute(_Sociable(lambda: found.append(heard.wait(PATIENCE)))) for _ in range(2)]
        for work in (command._work for command in rest):
            assert work is not None
            work._cost.estimate = UNKNOWN
        more = [stream.execute(_Sociable(int)) for _ in range(4)]
        await asyncio.sleep(0)

    await asyncio.gather(waiter, *rest, *more)
    assert found == [True, True]


async def test_a_failure_is_its_own(stream: Stream) -> None:
    """One that fails fails alone."""
    with Hold(stream):
        good = [stream.execute(_Sociable(int)) for _ in range(3)]
        bad = stream.execute(_Sociable(fail))
        good += [stream.execute(_Sociable(int)) for _ in range(3)]

    with pytest.raises(KernelError) as caught:
        await bad
    assert isinstance(caught.value.__cause__, Boom)
    assert await asyncio.gather(*good) == [None] * 6
    await stream.synchronize()


async def test_a_stream_that_stops_at_failures_runs_them_one_by_one(device: Device) -> None:
    """There what stands behind a failure does not begin."""
    ran: list[int] = []
    async with Stream(device, stop_at_failure=True) as stream:
        with Hold(stream):
            bad = stream.execute(_Sociable(fail))
            rest = [stream.execute(_Sociable(lambda: ran.append(1))) for _ in range(8)]
        with pytest.raises(KernelError):
            await bad
        for command in rest:
            with pytest.raises(Aborted):
                await command
        stream.recover()
    assert not ran


async def test_abort_takes_what_has_not_begun(stream: Stream) -> None:
    """An abort while some run drops the rest, whatever stands among it; what runs goes on."""
    begun, gate = threading.Barrier(3), threading.Event()

    def run() -> None:
        begun.wait(PATIENCE)
        gate.wait(PATIENCE)

    with Hold(stream):
        running = [stream.execute(_Sociable(run)) for _ in range(2)]
        queued = [stream.execute(_Sociable(int)), stream.execute(PythonWork(int)), stream.execute(_Sociable(int))]
    await asyncio.to_thread(begun.wait, PATIENCE)
    assert stream.abort_nowait() == 3
    gate.set()

    await asyncio.gather(*running)
    for command in queued:
        with pytest.raises(Aborted):
            await command
    assert await stream.call(int) == 0


async def test_many_of_them_among_others(stream: Stream) -> None:
    """Each of a thousand commands of both kinds runs once, and the others in their order."""
    ran, order, lock = list[int](), list[int](), threading.Lock()

    def run(number: int) -> None:
        with lock:
            ran.append(number)

    def work(number: int) -> PythonWork:
        if number % 7:
            return _Sociable(lambda: run(number))
        return PythonWork(lambda: order.append(number), estimate=1_000)

    commands = [stream.execute(work(number)) for number in range(1000)]
    await asyncio.gather(*commands)
    assert order == list(range(0, 1000, 7))
    assert sorted(ran + order) == list(range(1000))


async def test_one_core_runs_them_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a device with one core nothing is gained, and each runs as it does alone."""
    monkeypatch.setenv("AACL_CORES", "1")
    ran: list[int] = []
    async with Device(1) as device, Stream(device) as stream:
        with Hold(stream):
            commands = [
                stream.execute(_Sociable(lambda number=number: ran.append(number), fail))  # type: ignore[misc]
                for number in range(9)
            ]
        await asyncio.gather(*commands)
    assert ran == list(range(9))
