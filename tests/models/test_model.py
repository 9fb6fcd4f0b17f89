"""Models: loading them, what they say of themselves, and what is left after a failure."""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import aacl
from aacl import blocking
from aacl.converter import convert_operators
from aacl.dtypes import DataType
from aacl.errors import (
    ClosedResource,
    InvalidArgument,
    ModelDataError,
    ModelPathError,
    NotCurrent,
)
from aacl.models import Model, ModelSignature, TensorSpec
from aacl.models._load import load_in_thread
from aacl.models._package import ModelPackage, package_pieces

Build = Callable[..., Path]


def open_models() -> int:
    return aacl.open_resources().get("model", 0)


class Engine:
    """Stands for a loaded model."""

    def __init__(self) -> None:
        self.closed = threading.Event()

    def close(self) -> None:
        self.closed.set()


class Backend:
    """A device whose models load when the test says so."""

    def __init__(self) -> None:
        self.started, self.gate, self.engine = threading.Event(), threading.Event(), Engine()

    def load_model(self, graph: bytes) -> Engine:
        assert len(graph) > 0
        self.started.set()
        self.gate.wait()
        return self.engine


async def test_loads_in_the_current_context_and_says_what_it_is(add_one: Path) -> None:
    """Inside the block a model has its name, inputs, outputs, context and device; the block's end closes it."""
    async with aacl.Device() as device, Model(add_one) as model:
        assert (model.name, model.context, model.device) == ("add_one", device.default_context, device)
        assert model.inputs == (TensorSpec("x", DataType.FLOAT, (2, 3)),)
        assert [(spec.name.split(":")[-1], spec.shape) for spec in model.outputs] == [("y", (2, 3))]
        assert open_models() == 1
        assert "'add_one' open on device 0, inputs: 1, outputs: 1, queued runs: 0>" in repr(model)

    assert model.closed
    assert open_models() == 0
    assert "closed" in repr(model)


async def test_bytes_and_text_paths_load_too(add_one: Path, add_one_bytes: bytes) -> None:
    """The source is a path as text or object, or the file's bytes; bytes that change later change nothing."""
    data = bytearray(add_one_bytes)
    async with aacl.Device(), aacl.Stream():
        for source in (str(add_one), os.fspath(add_one), bytes(data), memoryview(data)):
            async with Model(source) as model:
                assert (await model.infer(np.zeros((2, 3), np.float32)) == 1).all()

        async with Model(data) as model:
            data[:] = b"\0" * len(data)
            assert (await model.infer(np.zeros((2, 3), np.float32)) == 1).all()


async def test_explicit_device_needs_no_current_one(add_one: Path) -> None:
    """A model loads on the device, or in the context, that it is given."""
    device = await aacl.Device(1).open()
    context = await aacl.Context(device).open()
    on_device = await Model(add_one, device=device).open()
    in_context = await Model(add_one, device=context).open()

    assert (on_device.context, on_device.device.index) == (device.default_context, 1)
    assert in_context.context is context
    await device.aclose()
    assert on_device.closed
    assert in_context.closed


async def test_without_a_device_nothing_is_loaded(add_one: Path) -> None:
    """Where no device is current, opening raises NotCurrent."""
    with pytest.raises(NotCurrent):
        await Model(add_one).open()


def test_loads_without_an_event_loop(add_one: Path) -> None:
    """The blocking face opens, runs and closes a model on the caller's thread."""
    with blocking.Device() as device, blocking.Stream() as stream:
        model = blocking.open_resource(Model(add_one))
        x = stream.to_device(np.ones((2, 3), np.float32))

        y = stream.to_host(stream.execute(model(x)))

        assert (y == 2).all()
        assert model.device is device
        blocking.close(model)
        blocking.close(model)
        with pytest.raises(ClosedResource):
            model(x)


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        (None, ModelPathError, "there is no model file"),
        (b"", ModelPathError, "empty"),
        (b"garbage, and more of it" * 20, ModelDataError, "not an .om file"),
        (b"\x08\x08\x12\x04test" + b"\0" * 300, ModelDataError, "atc"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", ModelDataError, "git lfs pull"),
        (slice(0, -7), ModelDataError, "cut short"),
        (slice(0, 100), ModelDataError, "cut short"),
    ],
)
async def test_files_that_are_no_model_are_refused(
    content: bytes | slice | None, error: type[Exception], words: str, add_one_bytes: bytes, tmp_path: Path
) -> None:
    """C076, C084: each bad file has its error, leaves nothing open, and a good load works afterwards."""
    path = tmp_path / "bad.om"
    if content is not None:
        path.write_bytes(add_one_bytes[content] if isinstance(content, slice) else content)
    async with aacl.Device():
        model = Model(path)
        with pytest.raises(error, match=words):
            await model.open()

        assert open_models() == 0
        assert "new" in repr(model)
        path.write_bytes(add_one_bytes)
        async with model:
            assert model.name == "add_one"


async def test_paths_that_name_no_file_are_refused(tmp_path: Path) -> None:
    """C076: an empty path, a directory and a device are path errors."""
    async with aacl.Device():
        with pytest.raises(ModelPathError, match="names no model"):
            await Model("").open()
        with pytest.raises(ModelPathError, match=r"cannot read.*directory"):
            await Model(tmp_path).open()
        with pytest.raises(ModelPathError, match="null"):
            await Model("a\0b.om").open()
        with pytest.raises(ModelDataError, match="0 bytes"):
            await Model(b"").open()
        with pytest.raises(ModelPathError, match="is a device, which may never end"):
            await Model("/dev/zero").open()


@pytest.mark.parametrize("source", [None, 5, 1.5, ["net.om"]])
def test_source_of_another_kind_is_refused(source: Any) -> None:
    """What is neither a path nor bytes raises InvalidArgument that says so."""
    with pytest.raises(InvalidArgument, match="path or the bytes"):
        Model(source)


async def test_operator_file_is_refused(tmp_path: Path) -> None:
    """A single-operator file raises ModelDataError that names the operator."""
    desc = '{"format": "ND", "shape": [8, 16], "type": "int32"}'
    document = tmp_path / "ops.json"
    document.write_text(f'[{{"op": "Add", "input_desc": [{desc}, {desc}], "output_desc": [{desc}]}}]')
    paths = convert_operators(document, tmp_path)
    async with aacl.Device():
        with pytest.raises(ModelDataError, match="operator Add"):
            await Model(paths[0]).open()


async def test_graph_that_the_device_cannot_run_is_refused() -> None:
    """A sound file whose graph is damaged raises ModelDataError, and leaves nothing open."""
    spec = TensorSpec("data", DataType.FLOAT, (1, 3))
    data = b"".join(package_pieces(ModelPackage(ModelSignature("net", (spec,), (spec,)), (b"graph",))))
    async with aacl.Device():
        with pytest.raises(ModelDataError):
            await Model(data).open()

    assert open_models() == 0


async def test_opens_once(add_one: Path) -> None:
    """Opening again, or while it is being opened, raises InvalidArgument; after closing, ClosedResource."""
    async with aacl.Device():
        model = Model(add_one)
        first = asyncio.create_task(model.open())
        await asyncio.sleep(0)
        with pytest.raises(InvalidArgument, match="being opened"):
            await model.open()
        await first
        with pytest.raises(InvalidArgument, match="open already"):
            await model.open()
        await model.aclose()
        await model.aclose()
        with pytest.raises(ClosedResource):
            await model.open()


async def test_nothing_is_known_before_opening(add_one: Path) -> None:
    """Inputs, name and context of a model that was not opened raise ClosedResource with the remedy."""
    model = Model(add_one)

    for ask in (lambda: model.inputs, lambda: model.name, lambda: model.context, lambda: model.device):
        with pytest.raises(ClosedResource, match="open"):
            ask()
    with pytest.raises(ClosedResource):
        model()
    with pytest.raises(ClosedResource):
        await model.infer(1)
    assert model.statistics().graph_nbytes == 0


async def test_signature_stays_readable_after_closing(add_one: Path) -> None:
    """C078: what a model takes and gives can be read after it was closed."""
    async with aacl.Device(), Model(add_one) as model:
        inputs = model.inputs

    assert model.inputs == inputs
    assert model.name == "add_one"


async def test_same_file_loads_twice(add_one: Path) -> None:
    """C086: two models of one file are independent; closing one leaves the other."""
    async with aacl.Device(), aacl.Stream():
        first, second = await Model(add_one).open(), await Model(add_one).open()
        await first.aclose()

        assert (await second.infer(np.zeros((2, 3), np.float32)) == 1).all()
        assert first.number != second.number


async def test_cancelled_load_is_undone(add_one: Path) -> None:
    """What a cancelled load makes in its thread is closed as soon as it is there."""
    backend: Any = Backend()
    task = asyncio.create_task(load_in_thread(add_one, backend))
    await asyncio.to_thread(backend.started.wait)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    backend.gate.set()

    assert await asyncio.to_thread(backend.engine.closed.wait, 10)


async def test_model_whose_load_was_cancelled_can_be_opened(add_one_bytes: bytes, tmp_path: Path) -> None:
    """A cancelled load leaves the model as it was, new and without an owner."""
    pipe = tmp_path / "pipe.om"
    os.mkfifo(pipe)
    async with aacl.Device():
        model = Model(pipe)
        task = asyncio.create_task(model.open())
        writer = await asyncio.to_thread(os.open, pipe, os.O_WRONLY)  # returns once the load reads
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        os.close(writer)
        assert open_models() == 0

        pipe.unlink()
        pipe.write_bytes(add_one_bytes)
        async with model:
            assert model.name == "add_one"


@pytest.mark.parametrize("what", ["model", "device"])
async def test_closing_during_the_load_wins(what: str, add_one_bytes: bytes, tmp_path: Path) -> None:
    """A model that was closed, or whose device was closed, while it loaded raises ClosedResource and stays closed."""
    pipe = tmp_path / "pipe.om"
    os.mkfifo(pipe)
    device = await aacl.Device().open()
    model = Model(pipe, device=device)
    task = asyncio.create_task(model.open())
    writer = await asyncio.to_thread(os.open, pipe, os.O_WRONLY)

    await (model.aclose() if what == "model" else device.aclose())
    await asyncio.to_thread(_write_all, writer, add_one_bytes)

    with pytest.raises(ClosedResource):
        await task
    assert open_models() == 0
    await device.aclose()


def _write_all(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


async def test_loading_leaves_the_loop_alone(heavy: Path) -> None:
    """C141: while 64 MiB of weights load and unload, a task that wakes every millisecond is never held up for 50 ms."""
    import onnxruntime  # noqa: F401 - its own first import holds the interpreter, once in a process

    async def largest_gap() -> float:
        gaps: list[float] = []
        ticker = asyncio.create_task(_tick(gaps))
        async with Model(heavy):
            pass
        ticker.cancel()
        return max(gaps)

    async with aacl.Device():
        # The machine may hold up any of them; a load on the loop's thread holds up all.
        assert min([await largest_gap() for _ in range(3)]) < 0.050


async def _tick(gaps: list[float]) -> None:
    last = time.perf_counter()
    while True:
        await asyncio.sleep(0.001)
        now = time.perf_counter()
        gaps.append(now - last)
        last = now


async def test_many_rounds_leave_nothing(add_one: Path, sum_and_product: Path) -> None:
    """C025: two models loaded, run and closed in turn, again and again, leave no resource and no thread behind."""

    async def round_trip(path: Path) -> None:
        async with aacl.Stream(), Model(path) as model:
            await model.infer(*[np.ones(spec.shape, np.float32) for spec in model.inputs])

    async with aacl.Device() as device:
        for path in (add_one, sum_and_product) * 3:
            await round_trip(path)
        used, threads = device.memory().used, _lasting_threads()

        for path in (add_one, sum_and_product) * 10:
            await round_trip(path)

        assert device.memory().used == used
        assert _lasting_threads() == threads
        assert open_models() == 0


def _lasting_threads() -> set[str]:
    """Return the threads' names, without those of the host calls' pool, which are as many as were busy at once."""
    return {thread.name for thread in threading.enumerate() if not thread.name.startswith("aacl-host")}


async def test_is_not_pickled(add_one: Path) -> None:
    """C159: a model refuses to be pickled and says what to do."""
    async with aacl.Device(), Model(add_one) as model:
        with pytest.raises(TypeError, match="open one in the other process"):
            pickle.dumps(model)


def test_strings_are_refused_by_name() -> None:
    """C164: bytes that hold a model of strings load nowhere; its converter refuses them, and so does the engine."""
    node = helper.make_node("Identity", ["words"], ["y"])
    text = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node], "g", [text("words", TensorProto.STRING, [2])], [text("y", TensorProto.STRING, [2])]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    spec = TensorSpec("words", DataType.FLOAT, (2,))
    package = ModelPackage(ModelSignature("net", (spec,), (spec,)), (model.SerializeToString(),))
    with blocking.Device(), pytest.raises(ModelDataError, match="'words'"):
        blocking.open_resource(Model(b"".join(package_pieces(package))))


def test_importing_the_room_is_cheap() -> None:
    """The package loads neither ONNX Runtime nor attrs before a model is opened."""
    code = "import aacl.models, sys; print(sorted({'attr', 'onnx', 'onnxruntime', 'asyncio'} & set(sys.modules)))"

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "[]"


async def test_awaiting_a_run_says_what_to_await(add_one: Path) -> None:
    """It runs nowhere without a stream."""
    async with aacl.Device(0), aacl.Stream() as stream, aacl.Model(add_one) as model:
        run = model(*[aacl.empty(spec.shape, spec.dtype) for spec in model.inputs])
        with pytest.raises(TypeError, match=r"use 'await stream.execute\(model\(...\)\)'"):
            await run
        await stream.execute(run)
