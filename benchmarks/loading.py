"""What loading costs: beside ONNX Runtime's session, and a second time; and what 10,000 runs leave behind."""

from __future__ import annotations

import asyncio
import gc
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import aacl
from aacl.converter import convert
from benchmarks import _nets
from benchmarks._harness import Side, Spread, alternate
from benchmarks._result import Result, at_most

__all__ = ("measure",)

ROUNDS = 9
SETTLED_SECONDS = 2.5
"""After which a file that is written is known by its times; until then its contents are compared."""
WIDTH, LAYERS = 2048, 8
"""Of the perceptron that is loaded: 128 MiB of weights."""
RUNS, SETTLED = 10_000, 200
MIB = 1 << 20


def measure() -> list[Result]:
    """Measure loads of a model of 128 MiB, then the memory that runs take."""
    return asyncio.run(_measure())


async def _measure() -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        async with aacl.Device(0), aacl.Stream():
            return [*await _loads(Path(folder)), *await _growth(Path(folder))]


async def _loads(folder: Path) -> list[Result]:
    onnx_file = folder / "net.onnx"
    onnx_file.write_bytes(_perceptron())
    path = convert(onnx_file, folder / "net")
    await asyncio.sleep(SETTLED_SECONDS)
    second_time, second_memory = await _second(path)
    samples = await alternate({"load": _load(path), "session": _session(onnx_file)}, ROUNDS)
    return [
        at_most("load from disk / creating the session", samples.ratio("load", "session"), 1.1,
                detail=f"load {samples.median('load') * 1e3:.0f} ms, session {samples.median('session') * 1e3:.0f} ms"),
        second_time,
        second_memory,
    ]  # fmt: skip


def _load(path: Path) -> Side:
    async def run() -> float:
        began = perf_counter()
        model = await aacl.Model(path).open()
        took = perf_counter() - began
        await model.aclose()
        return took

    return run


def _session(path: Path) -> Side:
    def run() -> float:
        began = perf_counter()
        session = _nets.session(path)
        took = perf_counter() - began
        del session
        return took

    return run


async def _second(path: Path) -> tuple[Result, Result]:
    """Load a file while it is loaded: what it takes in time and in resident memory, as shares of the first load."""
    times, sizes, firsts = [], [], []
    for _ in range(5):
        gc.collect()
        marks, models = [(perf_counter(), _resident())], []
        for _ in range(2):
            models.append(await aacl.Model(path).open())
            marks.append((perf_counter(), _resident()))
        (t0, m0), (t1, m1), (t2, m2) = marks
        times.append((t2 - t1) / (t1 - t0))
        sizes.append((m2 - m1) / max(m1 - m0, 1))
        firsts.append((t1 - t0, m1 - m0))
        for model in models:
            await model.aclose()
    seconds, nbytes = firsts[len(firsts) // 2]
    detail = f"the first {seconds * 1e3:.0f} ms and {nbytes / MIB:.0f} MiB"
    return (
        at_most("second load of a file / the first, time", Spread.of(times), 0.2, detail=detail),
        at_most("second load of a file / the first, memory", Spread.of(sizes), 0.2, detail=detail),
    )


async def _growth(folder: Path) -> list[Result]:
    net, rng = _nets.conv_net("n"), np.random.default_rng(1)
    images = [rng.standard_normal((n, 3, _nets.SIZE, _nets.SIZE)).astype(np.float32) for n in (1, 2, 4, 3, 7)]
    kinds: dict[str, tuple[dict[str, Any], Sequence[Any]]] = {
        "static": ({"input_shape": f"image:1,3,{_nets.SIZE},{_nets.SIZE}"}, images[:1]),
        "gears": ({"input_shape": f"image:-1,3,{_nets.SIZE},{_nets.SIZE}", "dynamic_batch_size": "1,2,4"}, images[:3]),
        "ranges": ({"input_shape": f"image:1~8,3,{_nets.SIZE},{_nets.SIZE}"}, images),
    }
    return [await _grown(kind, convert(net, folder / kind, **options), some) for kind, (options, some) in kinds.items()]


async def _grown(kind: str, path: Path, images: Sequence[Any]) -> Result:
    """Return by how much resident memory grows from the first 200 runs to the last."""
    async with aacl.Model(path) as model:
        for number in range(SETTLED):
            await model.infer(images[number % len(images)])
        before = _resident()
        for number in range(RUNS - SETTLED):
            await model.infer(images[number % len(images)])
        grown = (_resident() - before) / MIB
    return at_most(f"growth over {RUNS:,} runs, {kind}", Spread(grown, grown, grown), 2, "MiB")


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _perceptron() -> bytes:
    """Return layers of MatMul and ReLU."""
    from onnx import TensorProto, helper, numpy_helper

    random, nodes, weights = np.random.default_rng(2), [], []
    for layer in range(LAYERS):
        weight = random.standard_normal((WIDTH, WIDTH), np.float32)
        weights.append(numpy_helper.from_array(weight, f"w{layer}"))
        nodes.append(helper.make_node("MatMul", [f"x{layer}", f"w{layer}"], [f"m{layer}"]))
        nodes.append(helper.make_node("Relu", [f"m{layer}"], [f"x{layer + 1}"]))
    infos = [helper.make_tensor_value_info(f"x{n}", TensorProto.FLOAT, (1, WIDTH)) for n in (0, LAYERS)]
    graph = helper.make_graph(nodes, "perceptron", infos[:1], infos[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(model.SerializeToString())
