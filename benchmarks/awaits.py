"""What awaiting a tiny operation costs: an 8 by 16 int32 Add."""

from __future__ import annotations

import asyncio
import threading

import numpy as np

import aacl
from aacl import ops
from benchmarks import _adds, _peers
from benchmarks._harness import Samples, Side, Steps, alternate, timed
from benchmarks._result import Result, at_most, compared, missing

__all__ = ("measure",)

ROUNDS = 200
# Short rounds on every side: a long one is interrupted more often than a short one.
BARE, PREPARED, FRESH, RUNS, TORCH, BULK = 250, 250, 100, 50, 250, 1000


def measure() -> list[Result]:
    """Measure on asyncio's own loop, and the awaits again on uvloop."""
    return [*asyncio.run(_on_asyncio()), *_on_uvloop()]


async def _on_asyncio() -> list[Result]:
    async with aacl.Device(0), aacl.Stream() as stream:
        sides = {**await _awaits(stream), **await _bulk(stream), "bare": _adds.bare(BARE)}
        sides["onnxruntime"] = _adds.session_run(RUNS)
        try:
            sides["torch"], absent = _adds.torch_add(TORCH), ""
        except _peers.Absent as error:
            absent = str(error)
        samples = await alternate(sides, ROUNDS)
    return _results(samples, absent)


async def _awaits(stream: aacl.Stream) -> dict[str, Side]:
    """Return the awaited Adds: prepared with ``out=``, and made anew each time."""
    left, right = await stream.to_device(_adds.LEFT), await stream.to_device(_adds.RIGHT)
    out = aacl.empty(_adds.SUM.shape, np.int32)
    add = ops.Add(left, right, out=out)

    @timed(PREPARED)
    async def prepared(steps: Steps) -> None:
        for _ in steps:
            await stream.execute(add)

    @timed(FRESH)
    async def fresh(steps: Steps) -> None:
        for _ in steps:
            await stream.execute(ops.Add(left, right))

    await stream.execute(add)
    np.testing.assert_array_equal(await stream.to_host(out), _adds.SUM)
    return {"prepared": prepared, "fresh": fresh}


async def _bulk(stream: aacl.Stream) -> dict[str, Side]:
    """Return 1,000 submissions and one await: to an idle stream, and behind a host call."""
    left, right = await stream.to_device(_adds.LEFT), await stream.to_device(_adds.RIGHT)
    add = ops.Add(left, right, out=aacl.empty(_adds.SUM.shape, np.int32))

    @timed(BULK)
    async def idle(steps: Steps) -> None:
        last = None
        for _ in steps:
            last = stream.execute(add)
        assert last is not None
        await last

    @timed(BULK)
    async def queued(steps: Steps) -> None:
        gate = threading.Event()
        stream.call(gate.wait)
        last = None
        for _ in steps:
            last = stream.execute(add)
        assert last is not None
        assert not last.done()
        gate.set()
        await last

    return {"1,000 idle": idle, "1,000 queued": queued}


def _results(samples: Samples, absent: str) -> list[Result]:
    def beside(*sides: str) -> str:
        return ", ".join(f"{side} {samples.median(side) * 1e6:.2f} µs" for side in sides)

    def bar(name: str, limit: float, side: str, other: str) -> Result:
        return at_most(name, samples.ratio(side, other), limit, detail=beside(side, other))

    results = [bar("await a prepared Add / np.add", 2.7, "prepared", "bare")]
    name = "await a prepared Add / torch.add"
    results.append(missing(name, absent) if absent else bar(name, 1.0, "prepared", "torch"))
    return [
        *results,
        bar("await a fresh Add / onnxruntime run", 0.65, "fresh", "onnxruntime"),
        bar("1,000 Adds, idle stream, one await / np.add", 2.5, "1,000 idle", "bare"),
        bar("1,000 Adds, queued, one await / np.add", 12, "1,000 queued", "bare"),
    ]


def _on_uvloop() -> list[Result]:
    names = {"prepared": "the same await on uvloop / np.add", "fresh": "a fresh Add on uvloop / onnxruntime run"}
    try:
        uvloop = _peers.load("uvloop")
    except _peers.Absent as error:
        return [missing(name, str(error)) for name in names.values()]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        samples = runner.run(_awaits_beside())
    others = {"prepared": "bare", "fresh": "onnxruntime"}
    return [
        compared(name, samples.ratio(side, others[side]), detail=f"{side} {samples.median(side) * 1e6:.2f} µs")
        for side, name in names.items()
    ]


async def _awaits_beside() -> Samples:
    async with aacl.Device(0), aacl.Stream() as stream:
        sides = await _awaits(stream)
        sides |= {"bare": _adds.bare(BARE), "onnxruntime": _adds.session_run(RUNS)}
        return await alternate(sides, ROUNDS // 2)
