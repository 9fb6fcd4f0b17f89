"""A program's own kernel in C, its blocks on all cores, beside np.add split over the same cores."""

from __future__ import annotations

import asyncio
import os
import shutil
import struct
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import aacl
from benchmarks._harness import Side, Steps, alternate, timed
from benchmarks._result import Result, at_least, compared, missing

__all__ = ("measure",)

ROUNDS = 25
RUNS = 40
ELEMENTS = 1_000_000
BLOCKS = 8
Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
NAME = f"own C kernel, {BLOCKS} blocks, 10⁶ float32 adds / np.add split over the same cores"

SOURCE = """
#include "aacl_kernel.h"
AACL_KERNEL(add) {
    const long *count = tiling;
    const float *restrict a = inputs[0], *restrict b = inputs[1];
    float *restrict y = outputs[0];
    long share = (*count + blocks - 1) / blocks, from = block * share, to = from + share;
    if (to > *count) to = *count;
    for (long i = from; i < to; ++i) y[i] = a[i] + b[i];
}
"""


def measure() -> list[Result]:
    """Measure runs of a stream, one after the other, beside adds that a pool of threads makes one after the other."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        return [missing(NAME, "there is no C compiler")]
    return asyncio.run(_measure(_compiled(compiler)))


def _compiled(compiler: str) -> aacl.SharedKernel:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "add.so")
        options = ["-O3", "-march=native", "-shared", "-fPIC", f"-I{aacl.kernel_include_dir()}", "-o", str(made)]
        subprocess.run([compiler, *options, "-x", "c", "-"], input=SOURCE, text=True, check=True)
        return aacl.SharedKernel(made, "add")


def _select(*_: Any) -> aacl.Launch:
    return aacl.Launch("add", tiling=struct.pack("<q", ELEMENTS), blocks=BLOCKS)


async def _measure(kernel: aacl.SharedKernel) -> list[Result]:
    cores = len(os.sched_getaffinity(0))
    with (
        aacl.register_operator("OwnAdd", selector=_select, kernels={"add": kernel}),
        ThreadPoolExecutor(cores) as pool,
    ):
        async with aacl.Device(0), aacl.Stream() as stream:
            samples = await alternate({**await _ours(stream), **_numpy(pool, cores)}, ROUNDS)
    times = ", ".join(f"{side} {samples.median(side) * 1e6:.0f} µs" for side in samples.rounds)
    return [
        at_least(NAME, samples.inverse_ratio("queued", "np.add split"), 0.9, detail=f"{times}; {cores} cores"),
        compared("the same, each awaited", samples.inverse_ratio("awaited", "np.add split")),
    ]


async def _ours(stream: aacl.Stream) -> dict[str, Side]:
    a, b, out = [await stream.to_device(array) for array in _arrays()]
    add = aacl.Operation("OwnAdd", [a, b], out=out)
    await stream.execute(add)
    np.testing.assert_array_equal(await stream.to_host(out), await stream.to_host(a) + await stream.to_host(b))

    @timed(RUNS)
    async def queued(steps: Steps) -> None:
        for _ in steps:
            stream.execute(add)
        await stream.synchronize()

    @timed(RUNS)
    async def awaited(steps: Steps) -> None:
        for _ in steps:
            await stream.execute(add)

    return {"queued": queued, "awaited": awaited}


def _numpy(pool: ThreadPoolExecutor, cores: int) -> dict[str, Side]:
    a, b, out = _arrays()
    share = -(-ELEMENTS // cores)
    parts = [tuple(each[start : start + share] for each in (a, b, out)) for start in range(0, ELEMENTS, share)]

    @timed(RUNS)
    def split(steps: Steps) -> None:
        for _ in steps:
            for future in [pool.submit(_add, *part) for part in parts]:
                future.result()

    @timed(RUNS)
    def whole(steps: Steps) -> None:
        for _ in steps:
            np.add(a, b, out=out)

    return {"np.add split": split, "np.add": whole}


def _add(a: Array, b: Array, out: Array) -> None:
    np.add(a, b, out=out)


def _arrays() -> list[Array]:
    random = np.random.default_rng(1)
    return [random.random(ELEMENTS, np.float32) for _ in range(3)]
