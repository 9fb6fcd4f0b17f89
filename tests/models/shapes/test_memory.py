"""Memory of results whose shapes change from run to run."""

from __future__ import annotations

import gc
import os

import numpy as np
import pytest

import aacl
from aacl.errors import OutOfMemory
from aacl.models import Model


async def test_freed_result_stays_freed(compress: bytes) -> None:
    """A result that the program frees before its run is over holds no elements for the program afterwards."""
    async with aacl.Device() as device, aacl.Stream() as stream, Model(compress) as model:
        given = await stream.to_device(np.ones(6, np.float32))
        gate = stream.call(lambda: None)
        completion = stream.execute(model(given))
        completion.output.free()
        await gate
        await completion

        with pytest.raises(aacl.errors.ClosedResource):
            completion.output.view()
        del completion
        gc.collect()
        used = device.memory().used
        await stream.execute(model(given))
        assert device.memory().used <= used + 128


async def test_full_device_fails_the_run_that_tells_late(compress: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """No room for an output that only the run tells is that run's error, and leaves the model usable."""
    monkeypatch.setenv("AACL_DEVICE_MEMORY", str(1 << 20))
    async with aacl.Device(1) as device, aacl.Stream() as stream, Model(compress) as model:
        given = await stream.to_device(np.ones(6, np.float32))
        pending = model(given)
        free = device.memory().free
        filler = device.allocate(free - 64 - 32)
        with pytest.raises(OutOfMemory):
            await stream.execute(pending)
        filler.free()

        assert (await stream.execute(model(given))).shape == (6,)


@pytest.mark.parametrize("name", ["gears", "doubled", "nonzero", "compress"])
async def test_runs_of_many_shapes_keep_memory_flat(name: str, request: pytest.FixtureRequest) -> None:
    """After the first ones, runs of ever other shapes take no more memory: at most 2 MiB, and no device memory."""
    source, random = request.getfixturevalue(name), np.random.default_rng(7)

    def arrays() -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
        if name == "gears":
            rows = int(random.choice([1, 4, 8]))
            return [np.ones((rows, 3), np.float32), np.ones((rows, 1), np.float32)]
        if name == "compress":
            return [random.standard_normal(6).astype(np.float32)]
        return [random.standard_normal((int(random.integers(2, 7)), int(random.integers(0, 500)))).astype(np.float32)]

    before = 0
    async with aacl.Device() as device, aacl.Stream() as stream, Model(source) as model:
        for number in range(1200):
            given = arrays()
            await model.infer(*given)
            await stream.execute(model(*[await stream.to_device(each) for each in given]))
            if number == 200:
                before = resident()
        assert resident() - before < 2 << 20
        assert device.memory().used < 1 << 20
        assert len(model._bindings) <= 128


def resident() -> int:
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
