"""What a queued command weighs."""

from __future__ import annotations

import asyncio
import gc
import threading
import tracemalloc

import numpy as np

import aacl
from aacl import ops
from benchmarks import _adds
from benchmarks._harness import Spread
from benchmarks._result import Result, at_most

__all__ = ("measure",)

COMMANDS = 100_000
ROUNDS = 3


def measure() -> list[Result]:
    """Measure 100,000 prepared Adds queued behind a host call."""
    return asyncio.run(_measure())


async def _measure() -> list[Result]:
    async with aacl.Device(0), aacl.Stream() as stream:
        left, right = await stream.to_device(_adds.LEFT), await stream.to_device(_adds.RIGHT)
        out = aacl.empty(_adds.SUM.shape, np.int32)
        add = ops.Add(left, right, out=out)
        await stream.execute(add)
        found = [await _weigh(stream, add) for _ in range(ROUNDS)]
        np.testing.assert_array_equal(await stream.to_host(out), _adds.SUM)
    return [at_most("100,000 queued commands", Spread.of(found), 400, "bytes each", "traced allocations")]


async def _weigh(stream: aacl.Stream, add: aacl.Operation) -> float:
    """Return the bytes a command takes while it is queued."""
    gate = threading.Event()
    stream.call(gate.wait)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        last = stream.execute(add)
        for _ in range(COMMANDS - 1):
            last = stream.execute(add)
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0] - before
        assert stream.statistics().queued >= COMMANDS - 1
    finally:
        tracemalloc.stop()
        gate.set()
    await last
    return taken / COMMANDS
