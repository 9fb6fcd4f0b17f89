"""Many requests at once on one model, and a chain of models, beside what others offer for it."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import aacl
from aacl.converter import convert
from benchmarks import _nets, _peers
from benchmarks._harness import Samples, Side, Steps, alternate, timed
from benchmarks._result import Result, at_least, at_most, missing

__all__ = ("measure",)

REQUESTS = 256
ROUNDS = 25
CHAIN_ROUNDS, CHAIN_RUNS = 80, 20
PAUSE = 0.05
"""Seconds for which a session's own threads spin after a run: on few cores they would slow the next side."""


def measure() -> list[Result]:
    """Measure 256 requests in flight, and three nets in a chain beside one net of the three."""
    return asyncio.run(_measure())


async def _measure() -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        async with aacl.Device(0), aacl.Stream() as stream:
            return [*await _in_flight(Path(folder)), *await _chain(stream, Path(folder))]


async def _in_flight(folder: Path) -> list[Result]:
    model, image = _nets.conv_net(), _nets.image()
    session = _nets.session(model)
    expected = session.run(None, {"image": image})[0]
    sides: dict[str, Side] = {"blocking loop": _blocking(session, image), "run_async": _run_async(session, image)}
    try:
        sides["AsyncInferQueue"], absent = _queue(model, image), ""
    except _peers.Absent as error:
        absent = str(error)
    async with aacl.Model(convert(model, folder / "conv")) as ours:
        np.testing.assert_allclose(await ours.infer(image), expected, rtol=1e-5, atol=1e-5)
        sides["infer"] = _gathered(ours, image)
        samples = await alternate(sides, ROUNDS, pause=PAUSE)
    detail = _beside(samples, *sides)
    bars = {"blocking loop": 0.85, "run_async": 1.5, "AsyncInferQueue": 2.0}
    label = f"{REQUESTS} requests of infer / {{}}, rate"
    return [
        missing(label.format(other), absent) if other not in sides else
        at_least(label.format(other), samples.ratio(other, "infer"), bar, detail=detail)
        for other, bar in bars.items()
    ]  # fmt: skip


def _gathered(model: aacl.Model, image: Any) -> Side:
    @timed(1)
    async def run(_: Steps) -> None:
        await asyncio.gather(*[model.infer(image) for _ in range(REQUESTS)])

    return _each(run)


def _blocking(session: Any, image: Any) -> Side:
    """Return a plain loop of ``session.run``."""

    @timed(1)
    def run(_: Steps) -> None:
        for _ in range(REQUESTS):
            session.run(None, {"image": image})

    return _each(run)


def _run_async(session: Any, image: Any) -> Side:
    """Return ``session.run_async`` of every request, gathered as its callback allows."""

    def deliver(results: Any, future: asyncio.Future[Any], error: str) -> None:
        loop = future.get_loop()
        if error:
            loop.call_soon_threadsafe(future.set_exception, RuntimeError(error))
        else:
            loop.call_soon_threadsafe(future.set_result, results)

    @timed(1)
    async def run(_: Steps) -> None:
        loop, futures = asyncio.get_running_loop(), []
        for _ in range(REQUESTS):
            futures.append(loop.create_future())
            session.run_async(None, {"image": image}, deliver, futures[-1])
        await asyncio.gather(*futures)

    return _each(run)


def _queue(model: Any, image: Any) -> Side:
    """Return OpenVINO's AsyncInferQueue, compiled for throughput, whose callback keeps a copy of each result.

    Raises:
        Absent: there is no OpenVINO.
    """
    queue, results = _peers.load("openvino").AsyncInferQueue(_nets.open_vino(model, "THROUGHPUT")), []
    queue.set_callback(lambda request, _: results.append(request.get_output_tensor().data.copy()))

    @timed(1)
    def run(_: Steps) -> None:
        results.clear()
        for _ in range(REQUESTS):
            queue.start_async({"image": image}, None)
        queue.wait_all()
        assert len(results) == REQUESTS

    return _each(run)


def _each(side: Side) -> Side:
    """Return a side of all requests as one of seconds a request."""

    async def run() -> float:
        value = side()
        return (value if isinstance(value, float) else await value) / REQUESTS

    return run


async def _chain(stream: aacl.Stream, folder: Path) -> list[Result]:
    """Measure c(b(a(x))) on the device beside a session of the merged graph, bound to its memory."""
    from onnx import compose

    parts = [compose.add_prefix(_same_size(seed), f"{seed}_") for seed in range(3)]
    merged = parts[0]
    for before, after in ((0, 1), (1, 2)):
        merged = compose.merge_models(merged, parts[after], io_map=[(f"{before}_y", f"{after}_x")])
    x = np.random.default_rng(5).standard_normal((1, 16, _nets.SIZE, _nets.SIZE)).astype(np.float32)
    bound, expected = _nets.io_binding(merged, {"0_x": x}, CHAIN_RUNS)
    paths = [convert(part, folder / f"part{number}") for number, part in enumerate(parts)]
    async with aacl.Model(paths[0]) as a, aacl.Model(paths[1]) as b, aacl.Model(paths[2]) as c:
        chained = await _chained(stream, (a, b, c), x, expected)
        samples = await alternate({"merged": bound, "chain": chained}, CHAIN_ROUNDS, pause=PAUSE)
    return [
        at_most("chain of three models / one merged session", samples.ratio("chain", "merged"), 1.1,
                detail=_beside(samples, "chain", "merged"))
    ]  # fmt: skip


async def _chained(stream: aacl.Stream, models: tuple[aacl.Model, ...], x: Any, expected: Any) -> Side:
    tensors = [await stream.to_device(x)]
    tensors += [aacl.empty(model.outputs[0].shape, model.outputs[0].dtype) for model in models]
    works = [model(tensors[place], out=tensors[place + 1]) for place, model in enumerate(models)]
    for _ in range(16):  # until their costs are known
        for work in works:
            await stream.execute(work)
    np.testing.assert_allclose(await stream.to_host(tensors[-1]), expected, rtol=1e-5, atol=1e-5)
    first, second, last = works

    @timed(CHAIN_RUNS)
    async def run(steps: Steps) -> None:
        for _ in steps:
            stream.execute(first)
            stream.execute(second)
            await stream.execute(last)

    return run


def _same_size(seed: int) -> Any:
    """Return two convolutions of 16 channels with ReLU, x to y, as large as each other."""
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(seed)
    weights = [
        numpy_helper.from_array((random.standard_normal((16, 16, 3, 3)) / 12).astype(np.float32), f"w{layer}")
        for layer in range(2)
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Conv", ["r", "w1"], ["d"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["d"], ["y"]),
    ]
    shape = (1, 16, _nets.SIZE, _nets.SIZE)
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy"]
    graph = helper.make_graph(nodes, "part", infos[:1], infos[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _beside(samples: Samples, *sides: str) -> str:
    return ", ".join(f"{side} {samples.median(side) * 1e6:.1f} µs" for side in sides)
