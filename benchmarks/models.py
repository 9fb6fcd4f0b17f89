"""What awaiting a model costs beyond running it: a small convolution net, and a model of one tiny Add."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import aacl
from aacl.converter import convert
from benchmarks import _adds, _nets, _peers
from benchmarks._harness import Samples, Side, Steps, alternate, timed
from benchmarks._result import Result, at_least, at_most, compared, missing

__all__ = ("measure",)

ROUNDS, NET_ROUNDS = 150, 80
RUNS, ADDS, ASYNC_ADDS = 20, 100, 20
PAUSE = 0.05
"""Seconds for which a session's own threads spin after a run: on few cores they would slow the next side."""


def measure() -> list[Result]:
    """Measure awaited models beside ONNX Runtime's own calls, and beside OpenVINO's."""
    return asyncio.run(_measure())


async def _measure() -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        async with aacl.Device(0), aacl.Stream() as stream:
            return [*await _conv_net(stream, Path(folder)), *await _tiny_add(stream, Path(folder))]


async def _conv_net(stream: aacl.Stream, folder: Path) -> list[Result]:
    model, image = _nets.conv_net(), _nets.image()
    bound, expected = _nets.io_binding(model, {"image": image}, RUNS)
    sides: dict[str, Side] = {"run_with_iobinding": bound}
    beside = "await a conv net / OpenVINO infer"
    try:
        sides["openvino"], absent = _openvino(model, image), ""
    except _peers.Absent as error:
        absent = str(error)
    async with aacl.Model(convert(model, folder / "conv")) as ours:
        sides["await"], found = await _awaited(stream, ours, [image], RUNS)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        samples = await alternate(sides, NET_ROUNDS, pause=PAUSE)
    return [
        at_most("await a conv net / run_with_iobinding", samples.ratio("await", "run_with_iobinding"), 1.10,
                detail=_beside(samples, "await", "run_with_iobinding")),
        missing(beside, absent) if absent else
        compared(beside, samples.ratio("await", "openvino"), detail=_beside(samples, "await", "openvino")),
    ]  # fmt: skip


async def _tiny_add(stream: aacl.Stream, folder: Path) -> list[Result]:
    model = _adds.model()
    sides: dict[str, Side] = {"run_async": _run_async(_adds.session()), "run": _adds.session_run(ADDS)}
    async with aacl.Model(convert(model, folder / "add")) as ours:
        sides["await"], found = await _awaited(stream, ours, [_adds.LEFT, _adds.RIGHT], ADDS)
        np.testing.assert_array_equal(found, _adds.SUM)
        samples = await alternate(sides, ROUNDS)
    faster, run = samples.ratio("run_async", "await"), samples.ratio("await", "run")
    return [
        at_least("awaited run_async / await an Add model", faster, 5, detail=_beside(samples, "run_async", "await")),
        compared("await an Add model / onnxruntime run", run, detail=_beside(samples, "await", "run")),
    ]


async def _awaited(stream: aacl.Stream, model: aacl.Model, arrays: list[Any], count: int) -> tuple[Side, Any]:
    """Return the awaited run with ``out=``, and what it gives."""
    inputs = [await stream.to_device(array) for array in arrays]
    out = aacl.empty(model.outputs[0].shape, model.outputs[0].dtype)
    work = model(*inputs, out=out)
    for _ in range(16):  # until its cost is known
        await stream.execute(work)
    found = await stream.to_host(out)

    @timed(count)
    async def run(steps: Steps) -> None:
        for _ in steps:
            await stream.execute(work)

    return run, found


def _run_async(session: Any) -> Side:
    """Return ``session.run_async`` of the Add, awaited as its callback allows."""
    feed = {"a": _adds.LEFT, "b": _adds.RIGHT}

    def deliver(results: Any, future: asyncio.Future[Any], error: str) -> None:
        loop = future.get_loop()
        if error:
            loop.call_soon_threadsafe(future.set_exception, RuntimeError(error))
        else:
            loop.call_soon_threadsafe(future.set_result, results)

    @timed(ASYNC_ADDS)
    async def run(steps: Steps) -> None:
        loop = asyncio.get_running_loop()
        for _ in steps:
            future = loop.create_future()
            session.run_async(None, feed, deliver, future)
            await future

    return run


def _openvino(model: Any, image: Any) -> Side:
    """Return a blocking OpenVINO inference of the net, for latency.

    Raises:
        Absent: there is no OpenVINO.
    """
    compiled = _nets.open_vino(model, "LATENCY")
    request = compiled.create_infer_request()
    request.set_input_tensor(_peers.load("openvino").Tensor(image))

    @timed(RUNS)
    def run(steps: Steps) -> None:
        for _ in steps:
            request.infer()

    return run


def _beside(samples: Samples, *sides: str) -> str:
    return ", ".join(f"{side} {samples.median(side) * 1e6:.1f} µs" for side in sides)
