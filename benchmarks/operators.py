"""Operators on large tensors, beside NumPy on one thread and two, torch on all cores of the device, and ONNX Runtime."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from time import perf_counter
from typing import Any

import numpy as np

import aacl
from aacl import Operation
from benchmarks import _peers
from benchmarks._harness import Side, Spread, Steps, alternate, percentile, timed
from benchmarks._result import Result, at_least, at_most, missing

__all__ = ("measure",)

SIZES = {1024: (25, 12), 4096: (9, 3)}
"""Rows and columns: rounds, and runs a round."""
PAUSE = 0.02
"""Seconds for which a peer's threads spin after a run: on few cores they would slow the next side."""
MATRIX = 1024

Array = np.ndarray[Any, Any]

# Operator type, attributes, the dtype of the result, whether both inputs are there, whether it stays square.
CASES: dict[str, tuple[str, dict[str, Any], Any, int, bool]] = {
    "Add": ("Add", {}, np.float32, 2, True),
    "Mul": ("Mul", {}, np.float32, 2, True),
    "Relu": ("Relu", {}, np.float32, 1, True),
    "Cast to int32": ("Cast", {"dst_type": "INT32"}, np.int32, 1, True),
    "ReduceSum of rows": ("ReduceSumD", {"axes": [1]}, np.float32, 1, False),
    "Softmax": ("SoftmaxV2", {}, np.float32, 1, True),
    "Transpose": ("TransposeD", {"perm": [1, 0]}, np.float32, 1, True),
}


def measure() -> list[Result]:
    """Measure the operators, products, a convolution, and what preparing an operation costs."""
    return asyncio.run(_measure())


async def _measure() -> list[Result]:
    async with aacl.Device(0) as device, aacl.Stream() as stream:
        cores = device.properties.cores
        results = [line for size in SIZES for name in CASES for line in await _case(stream, name, size, cores)]
        return [*results, *await _products(stream), *await _convolution(stream), *await _preparation(stream)]


async def _case(stream: aacl.Stream, name: str, size: int, cores: int) -> list[Result]:
    op_type, attributes, dtype, count, is_square = CASES[name]
    rounds, runs = SIZES[size]
    x = np.random.default_rng(3).standard_normal((size, size)).astype(np.float32)
    tensor = await stream.to_device(x)
    out = aacl.empty((size, size) if is_square else (size,), dtype)
    sides: dict[str, Side] = {
        "await": await _awaited(stream, Operation(op_type, [tensor] * count, attributes, out=out), runs),
        "numpy": _repeated(_numpy(name, x), runs),
        "halves": _repeated(_halves(name, x), runs),
    }
    try:
        sides["torch"], absent = _repeated(_torch(name, x, cores), runs), ""
    except _peers.Absent as error:
        absent = str(error)
    samples = await alternate(sides, rounds, pause=PAUSE)
    title = f"{name} {size}\N{SUPERSCRIPT TWO}"
    detail = ", ".join(f"{side} {samples.median(side) * 1e3:.2f} ms" for side in sides)
    return [
        missing(f"{title}: torch / await", absent)
        if absent
        else at_least(f"{title}: torch / await", samples.ratio("torch", "await"), 1.0, detail=detail),
        at_least(f"{title}: one-thread NumPy / await", samples.ratio("numpy", "await"), 1.5, detail=detail,
                 ceiling=samples.ratio("numpy", "halves").value),
    ]  # fmt: skip


async def _awaited(stream: aacl.Stream, work: Operation, runs: int) -> Side:
    for _ in range(12):  # until its cost is known
        await stream.execute(work)

    @timed(runs)
    async def side(steps: Steps) -> None:
        for _ in steps:
            await stream.execute(work)

    return side


def _repeated(function: Callable[[], object], runs: int) -> Side:
    @timed(runs)
    def side(steps: Steps) -> None:
        for _ in steps:
            function()

    return side


def _elsewhere(function: Callable[[], object], runs: int) -> Side:
    """Return a function awaited from another plain thread: what is possible without holding the loop up."""

    @timed(runs)
    async def side(steps: Steps) -> None:
        loop = asyncio.get_running_loop()
        for _ in steps:
            await loop.run_in_executor(None, function)

    return side


def _numpy(name: str, x: Array) -> Callable[[], object]:
    out = _result(name, x)
    return lambda: _compute(name, x, out)


def _halves(name: str, x: Array) -> Callable[[], object]:
    """Return the same NumPy calls on two plain threads, one of which is there already: what two cores can give."""
    out, middle = _result(name, x), len(x) // 2
    left, right = (
        (x[part], out[:, part] if name == "Transpose" else out[part]) for part in (slice(middle), slice(middle, None))
    )
    todo, done = SimpleQueue[None](), SimpleQueue[None]()

    def other() -> None:
        while True:
            todo.get()
            _compute(name, *right)
            done.put(None)

    def run() -> None:
        todo.put(None)
        _compute(name, *left)
        done.get()

    threading.Thread(target=other, daemon=True).start()
    return run


def _result(name: str, x: Array) -> Array:
    dtype = np.int32 if name == "Cast to int32" else x.dtype
    return np.empty(x.shape[:1] if name == "ReduceSum of rows" else x.shape, dtype)


def _compute(name: str, x: Array, out: Array) -> None:
    if name == "Softmax":
        np.subtract(x, x.max(1, keepdims=True), out)
        np.exp(out, out)
        np.divide(out, out.sum(1, keepdims=True), out)
    else:
        _CALLS[name](x, out)


_CALLS: dict[str, Callable[[Array, Array], object]] = {
    "Add": lambda x, out: np.add(x, x, out),
    "Mul": lambda x, out: np.multiply(x, x, out),
    "Relu": lambda x, out: np.maximum(x, np.float32(0), out=out),
    "Cast to int32": lambda x, out: np.copyto(out, x, casting="unsafe"),
    "ReduceSum of rows": lambda x, out: x.sum(1, out=out),
    "Transpose": lambda x, out: np.copyto(out, x.T),
}


def _torch(name: str, x: Array, cores: int) -> Callable[[], object]:
    torch = _peers.load("torch")
    torch.set_num_threads(cores)
    t, total = torch.from_numpy(x), torch.empty(len(x))
    out, whole = torch.empty_like(t), torch.empty(x.shape, dtype=torch.int32)
    return {
        "Add": lambda: torch.add(t, t, out=out),
        "Mul": lambda: torch.mul(t, t, out=out),
        "Relu": lambda: torch.clamp_min(t, 0, out=out),
        "Cast to int32": lambda: whole.copy_(t),
        "ReduceSum of rows": lambda: torch.sum(t, 1, out=total),
        "Softmax": lambda: torch.softmax(t, 1),
        "Transpose": lambda: out.copy_(t.t()),
    }[name]


async def _products(stream: aacl.Stream) -> list[Result]:
    x = np.random.default_rng(4).standard_normal((MATRIX, MATRIX)).astype(np.float32)
    half, small, out = x.astype(np.float16), x[:256, :256].astype(np.float16), np.empty_like(x)
    tensor, halves = await stream.to_device(x), await stream.to_device(half)
    sides: dict[str, Side] = {
        "await": await _awaited(stream, _matmul(tensor, np.float32), 3),
        "BLAS": _repeated(lambda: np.matmul(x, x, out), 3),
        "BLAS elsewhere": _elsewhere(lambda: np.matmul(x, x, out), 3),
        "await halves": await _awaited(stream, _matmul(halves, np.float16), 3),
    }
    samples = await alternate(sides, 25, pause=PAUSE)
    # NumPy multiplies halves without BLAS, in seconds at this size: a smaller product, scaled by the work, stands for it.
    slow = await alternate({"numpy": _repeated(lambda: np.matmul(small, small), 1)}, 3)
    expected = slow.median("numpy") * (MATRIX / len(small)) ** 3
    gain = expected / samples.median("await halves")
    return [
        at_least(f"MatMul {MATRIX}\N{SUPERSCRIPT THREE}: NumPy's BLAS / await", samples.ratio("BLAS", "await"), 0.98,
                 detail=f"{samples.median('await') * 1e3:.1f} ms",
                 ceiling=samples.ratio("BLAS", "BLAS elsewhere").value),
        at_least(f"MatMul {MATRIX}\N{SUPERSCRIPT THREE} float16: NumPy / await", Spread(gain, gain, gain), 10,
                 detail=f"{samples.median('await halves') * 1e3:.1f} ms"),
    ]  # fmt: skip


def _matmul(tensor: aacl.Tensor, dtype: Any) -> Operation:
    return Operation("MatMul", [tensor, tensor], out=aacl.empty((MATRIX, MATRIX), dtype))


async def _convolution(stream: aacl.Stream) -> list[Result]:
    rng = np.random.default_rng(5)
    image = rng.standard_normal((1, 64, 56, 56)).astype(np.float32)
    weights = rng.standard_normal((64, 64, 3, 3)).astype(np.float32)
    inputs = [await stream.to_device(image), await stream.to_device(weights)]
    inputs = [aacl.Tensor(aacl.TensorDesc.of(np.float32, each.shape, aacl.Format.NCHW), each.buffer) for each in inputs]
    work = Operation(
        "Conv2D",
        inputs,
        {"strides": [1, 1, 1, 1], "pads": [1, 1, 1, 1], "data_format": "NCHW"},
        out=aacl.empty((1, 64, 56, 56), np.float32),
    )
    sides = {"await": await _awaited(stream, work, 10), "onnxruntime": _repeated(_ort_conv(image, weights), 10)}
    samples = await alternate(sides, 25, pause=PAUSE)
    return [
        at_least("Conv2D 3\N{MULTIPLICATION SIGN}3, 64 \N{RIGHTWARDS ARROW} 64, 56\N{SUPERSCRIPT TWO}: "
                 "onnxruntime / await", samples.ratio("onnxruntime", "await"), 0.95,
                 detail=f"{samples.median('await') * 1e3:.2f} ms")
    ]  # fmt: skip


def _ort_conv(image: Array, weights: Array) -> Callable[[], object]:
    import onnxruntime
    from onnx import TensorProto, helper

    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape)
             for name, array in (("x", image), ("w", weights), ("y", image))]  # fmt: skip
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    graph = helper.make_graph([node], "conv", ports[:2], ports[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.force_spinning_stop", "1")  # as the device's own sessions
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding, out = session.io_binding(), np.empty_like(image)
    for name, array in (("x", image), ("w", weights)):
        binding.bind_input(name, "cpu", 0, np.float32, array.shape, array.ctypes.data)
    binding.bind_output("y", "cpu", 0, np.float32, out.shape, out.ctypes.data)

    def run() -> Array:
        session.run_with_iobinding(binding)
        return out  # which the binding does not keep

    return run


async def _preparation(stream: aacl.Stream) -> list[Result]:
    new: list[float] = []
    for rows in range(1, 301):
        x = aacl.empty((rows, 7), np.float32)
        began = perf_counter()
        await stream.execute(Operation("Add", [x, x]))
        new.append((perf_counter() - began) * 1e6)
    x = aacl.empty((8, 16), np.float32)

    @timed(500)
    async def known(steps: Steps) -> None:
        for _ in steps:
            await stream.execute(Operation("Add", [x, x]))

    @timed(500)
    def bare(steps: Steps) -> None:
        for _ in steps:
            np.add(left, left)

    left = np.ones((8, 16), np.float32)
    samples = await alternate({"known": known, "bare": bare}, 100)
    hit = (samples.decile("known") - samples.decile("bare")) * 1e6
    return [
        at_most("a new signature: prepared and awaited", Spread(percentile(new, 0.5), percentile(new, 0.25),
                percentile(new, 0.75)), 300, "us"),
        at_most("a known signature: new operation, awaited, beyond np.add", Spread(hit, hit, hit), 2, "us"),
    ]  # fmt: skip
