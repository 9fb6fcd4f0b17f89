"""What a run costs beside ONNX Runtime's `run_with_iobinding`, through both faces, on nets small and large.

`await model.infer` takes and gives host arrays; the other side's memory was bound beforehand.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import numpy as np

import aacl
import acl
from aacl.converter import convert
from benchmarks import _nets, _peers
from benchmarks._harness import Side, Steps, alternate, timed
from benchmarks._result import Result, at_most, missing

__all__ = ("measure",)

PAUSE = 0.05
"""Seconds for which a session's own threads spin after a run: on few cores they would slow the next side."""
H2D, D2H = 1, 2


@attrs.frozen
class _Net:
    """A model with one input and one output, how it is converted, and how it is measured."""

    label: str
    source: Any
    name: str
    array: Any
    shape: str | None
    bar: float
    rounds: int
    runs: int


def measure() -> list[Result]:
    """Measure a conv net, magika with batches of 8, and a ResNet-50."""
    _check(acl.init())
    _check(acl.rt.set_device(0))
    try:
        return [result for make in (_conv, _magika, _resnet) for result in _measure_one(make)]
    finally:
        _check(acl.rt.reset_device(0))
        _check(acl.finalize())


def _conv() -> _Net:
    return _Net("a conv net", _nets.conv_net(), "image", _nets.image(), None, 1.10, 80, 20)


def _magika() -> _Net:
    rows = np.random.default_rng(8).integers(0, 257, (8, 2048)).astype(np.int32)
    return _Net("magika, batch 8", _nets.magika(), "bytes", rows, "bytes:8,2048", 1.05, 25, 1)


def _resnet() -> _Net:
    picture = np.random.default_rng(11).standard_normal((1, 3, 224, 224)).astype(np.float32)
    return _Net("light_resnet50", _nets.resnet50(), "gpu_0/data_0", picture, None, 1.02, 25, 1)


def _measure_one(make: Any) -> list[Result]:
    try:
        net = make()
    except _peers.Absent as error:
        return [missing(make.__name__.strip("_"), str(error))]
    return asyncio.run(_compare(net))


async def _compare(net: _Net) -> list[Result]:
    bound, expected = _nets.io_binding(net.source, {net.name: net.array}, net.runs)
    with tempfile.TemporaryDirectory() as folder:
        path = convert(net.source, Path(folder, "net"), input_shape=net.shape)
        with _executed(path, net, expected) as execute:
            async with aacl.Device(0), aacl.Stream(), aacl.Model(path) as model:
                infer = await _inferred(model, net, expected)
                sides: dict[str, Side] = {"run_with_iobinding": bound, "infer": infer, "mdl.execute": execute}
                samples = await alternate(sides, net.rounds, pause=PAUSE)
    detail = ", ".join(f"{side} {samples.median(side) * 1e6:.0f} µs" for side in sides)
    return [
        at_most(f"{side} of {net.label} / run_with_iobinding", samples.ratio(side, "run_with_iobinding"), net.bar,
                detail=detail)
        for side in ("infer", "mdl.execute")
    ]  # fmt: skip


async def _inferred(model: aacl.Model, net: _Net, expected: Any) -> Side:
    for _ in range(16 if net.runs > 1 else 3):  # until its cost is known
        found = await model.infer(net.array)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())

    @timed(net.runs)
    async def run(steps: Steps) -> None:
        for _ in steps:
            await model.infer(net.array)

    return run


@contextmanager
def _executed(path: Path, net: _Net, expected: Any) -> Iterator[Side]:
    """Give the blocking call of the drop-in on datasets made beforehand."""
    model = _good(acl.mdl.load_from_file(str(path)))
    data, found = net.array.tobytes(), bytes(expected.nbytes)
    source, target = _good(acl.rt.malloc(len(data), 0)), _good(acl.rt.malloc(len(found), 0))
    _check(acl.rt.memcpy(source, len(data), acl.util.bytes_to_ptr(data), len(data), H2D))
    given, wanted = _dataset(source, len(data)), _dataset(target, len(found))
    _check(acl.mdl.execute(model, given, wanted))
    _check(acl.rt.memcpy(acl.util.bytes_to_ptr(found), len(found), target, len(found), D2H))
    result = np.frombuffer(found, expected.dtype).reshape(expected.shape)
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())

    @timed(net.runs)
    def run(steps: Steps) -> None:
        execute = acl.mdl.execute
        for _ in steps:
            execute(model, given, wanted)

    yield run
    for dataset, pointer in ((given, source), (wanted, target)):
        _check(acl.destroy_data_buffer(acl.mdl.get_dataset_buffer(dataset, 0)))
        _check(acl.mdl.destroy_dataset(dataset))
        _check(acl.rt.free(pointer))
    _check(acl.mdl.unload(model))


def _dataset(pointer: int, nbytes: int) -> int:
    dataset: int = acl.mdl.create_dataset()
    _good(acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(pointer, nbytes)))
    return dataset


def _good(answer: tuple[Any, int]) -> Any:
    value, ret = answer
    _check(ret)
    return value


def _check(ret: int) -> None:
    assert ret == 0, (ret, acl.get_recent_err_msg())
