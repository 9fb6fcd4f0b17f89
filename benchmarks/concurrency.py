"""Long kernels: two streams on two cores, and what the event loop feels of them."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from time import perf_counter

import numpy as np

import aacl
from aacl import ops
from benchmarks._harness import Side, Spread, Steps, alternate, percentile, timed
from benchmarks._result import Result, at_least, at_most, missing

__all__ = ("measure",)

ROUNDS = 15
ELEMENTS = 1 << 18
"""1 MiB of float32: it stays in a core's cache, so that memory bandwidth does not decide, and is not cut into parts."""
KERNELS = 12
KERNEL_SECONDS = 0.0025
TICK_SECONDS = 0.001
LAG_SECONDS = 1.0
LAG_ROUNDS = 9


def measure() -> list[Result]:
    """Measure the speed-up of a second stream, and the loop's lag while 2.5 ms kernels run."""
    return [*asyncio.run(_two_streams()), *asyncio.run(_loop_lag())]


async def _two_streams() -> list[Result]:
    name = "two streams / one, long kernels"
    cores = len(os.sched_getaffinity(0))
    if cores < 2:
        return [missing(name, f"this process may use {cores} core")]
    async with aacl.Device(0), aacl.Stream() as one, aacl.Stream() as other:
        works = [await _long_work(stream, ELEMENTS) for stream in (one, other)]
        sides = {**_streams((one, other), works), **_threads()}
        samples = await alternate(sides, ROUNDS)
    # Seconds are of the same number of kernels on both sides, so the ratio is the speed-up.
    speed_up, possible = samples.ratio("one stream", "two streams"), samples.ratio("one thread", "two threads")
    kernel = samples.median("one stream") / (2 * KERNELS)
    return [at_least(name, speed_up, 1.8, detail=f"{2 * KERNELS} Tanh of {kernel * 1e3:.1f} ms",
                     ceiling=possible.value)]  # fmt: skip


def _streams(streams: tuple[aacl.Stream, aacl.Stream], works: list[aacl.Operation]) -> dict[str, Side]:
    @timed(1)
    async def alone(_: Steps) -> None:
        for _number in range(2 * KERNELS):
            streams[0].execute(works[0])
        await streams[0].synchronize()

    @timed(1)
    async def together(_: Steps) -> None:
        for _number in range(KERNELS):
            for stream, work in zip(streams, works, strict=True):
                stream.execute(work)
        for stream in streams:
            await stream.synchronize()

    return {"one stream": alone, "two streams": together}


def _threads() -> dict[str, Side]:
    """Return the same NumPy calls on one plain thread and on two: what the machine gives."""
    arrays = [(np.linspace(-2, 2, ELEMENTS, dtype=np.float32), np.empty(ELEMENTS, np.float32)) for _ in range(2)]

    def work(index: int, count: int) -> None:
        source, target = arrays[index]
        for _ in range(count):
            np.tanh(source, target)

    @timed(1)
    def alone(_: Steps) -> None:
        _join([threading.Thread(target=work, args=(0, 2 * KERNELS))])

    @timed(1)
    def together(_: Steps) -> None:
        _join([threading.Thread(target=work, args=(index, KERNELS)) for index in range(2)])

    return {"one thread": alone, "two threads": together}


def _join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


async def _loop_lag() -> list[Result]:
    async with aacl.Device(0), aacl.Stream() as stream:
        work, kernel = await _work_of(stream, KERNEL_SECONDS)
        executed = 0

        async def idle() -> float:
            return percentile(await _ticks(), 0.99)

        async def busy() -> float:
            nonlocal executed
            stop, before = asyncio.Event(), stream.statistics().executed
            feeder = asyncio.create_task(_feed(stream, work, stop))
            lag = percentile(await _ticks(), 0.99)
            stop.set()
            await feeder
            executed += stream.statistics().executed - before
            return lag

        samples = await alternate({"idle": idle, "busy": busy}, LAG_ROUNDS, warm_up=1)
    every = (LAG_ROUNDS + 1) * LAG_SECONDS / max(executed, 1)
    above = samples.difference("busy", "idle")
    detail = (
        f"p99 idle {samples.median('idle') * 1e3:.2f} ms, busy {samples.median('busy') * 1e3:.2f} ms; "
        f"a kernel of {kernel * 1e3:.1f} ms every {every * 1e3:.1f} ms"
    )
    return [at_most("loop lag above idle, p99", _in_milliseconds(above), 2, "ms", detail)]


async def _feed(stream: aacl.Stream, work: aacl.Operation, stop: asyncio.Event) -> None:
    """Keep a stream busy: another kernel always waits behind the one that runs."""
    pending = deque([stream.execute(work), stream.execute(work)])
    while not stop.is_set():
        await pending.popleft()
        pending.append(stream.execute(work))
    await stream.synchronize()


async def _ticks() -> list[float]:
    """Return by how much each of a second's 1 ms sleeps came late, in seconds."""
    lags = []
    end = perf_counter() + LAG_SECONDS
    while (now := perf_counter()) < end:
        await asyncio.sleep(TICK_SECONDS)
        lags.append(perf_counter() - now - TICK_SECONDS)
    return lags


async def _long_work(stream: aacl.Stream, elements: int) -> aacl.Operation:
    source = await stream.to_device(np.linspace(-2, 2, elements, dtype=np.float32))
    work = ops.Tanh(source, out=aacl.empty((elements,), np.float32))
    for _ in range(8):  # until its cost is known
        await stream.execute(work)
    return work


async def _work_of(stream: aacl.Stream, seconds: float) -> tuple[aacl.Operation, float]:
    """Return work of about so many seconds, and what it took."""
    took = await _time(stream, await _long_work(stream, ELEMENTS))
    work = await _long_work(stream, round(ELEMENTS * seconds / took))
    return work, await _time(stream, work)


async def _time(stream: aacl.Stream, work: aacl.Operation) -> float:
    found = []
    for _ in range(9):
        start = stream.record_event()
        stream.execute(work)
        end = stream.record_event()
        await end
        found.append(end.elapsed_since(start))
    return percentile(found, 0.5)


def _in_milliseconds(spread: Spread) -> Spread:
    return Spread(spread.value * 1e3, spread.low * 1e3, spread.high * 1e3)
