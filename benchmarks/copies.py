"""Copies of 64 MiB to the device and from it."""

from __future__ import annotations

import asyncio
import ctypes

import numpy as np

import aacl
from benchmarks._harness import Samples, Side, Steps, alternate, timed
from benchmarks._result import Result, at_least

__all__ = ("measure",)

ROUNDS = 15
NBYTES = 64 << 20


def measure() -> list[Result]:
    """Measure `to_device` and `to_host` beside the faster of np.copyto and memmove."""
    return asyncio.run(_measure())


async def _measure() -> list[Result]:
    async with aacl.Device(0), aacl.Stream() as stream:
        samples = await alternate({**_bare(), **await _ours(stream)}, ROUNDS)
    return [_result(samples, "to_device"), _result(samples, "to_host")]


def _bare() -> dict[str, Side]:
    source, target = np.ones(NBYTES, np.uint8), np.zeros(NBYTES, np.uint8)

    @timed(1)
    def copyto(_: Steps) -> None:
        np.copyto(target, source)

    @timed(1)
    def memmove(_: Steps) -> None:
        ctypes.memmove(target.ctypes.data, source.ctypes.data, NBYTES)

    return {"np.copyto": copyto, "memmove": memmove}


async def _ours(stream: aacl.Stream) -> dict[str, Side]:
    source, target = np.ones(NBYTES, np.uint8), np.zeros(NBYTES, np.uint8)
    tensor = await stream.to_device(source)

    @timed(1)
    async def to_device(_: Steps) -> None:
        await stream.to_device(source)

    @timed(1)
    async def to_host(_: Steps) -> None:
        await stream.to_host(tensor, target)

    return {"to_device": to_device, "to_host": to_host}


def _result(samples: Samples, side: str) -> Result:
    speeds = ", ".join(f"{each} {NBYTES / samples.median(each) / 1e9:.1f} GB/s" for each in samples.rounds)
    inverse = samples.inverse_ratio(side, "np.copyto", "memmove")
    return at_least(f"{side} of 64 MiB / the faster bare copy", inverse, 0.95, detail=speeds)
