"""What the tests of the drop-in do again and again, as pyACL programs do it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

import acl
from aacl.converter import convert, convert_operators

FLOAT, FLOAT16, INT32, INT64, BOOL = 0, 1, 3, 9, 12
ND = 2
H2H, H2D, D2H, D2D, DEFAULT = 0, 1, 2, 3, 4

untyped: Any = acl
"""The module, for calls that type checkers refuse too."""

Array = np.ndarray[Any, np.dtype[Any]]


def ok(ret: int) -> None:
    """Check a code; the text says what went wrong."""
    assert ret == 0, (ret, acl.get_recent_err_msg())


def good(answer: tuple[Any, int]) -> Any:
    """Check the code of an answer and return its value."""
    value, ret = answer
    ok(ret)
    return value


def put(array: Array) -> int:
    """Copy an array to new device memory and return its address."""
    pointer: int = good(acl.rt.malloc(max(1, array.nbytes), 0))
    data = array.tobytes()
    ok(acl.rt.memcpy(pointer, array.nbytes, acl.util.bytes_to_ptr(data), array.nbytes, H2D))
    return pointer


def get(pointer: int, like: Array) -> Array:
    """Copy memory of the device to an array of a shape and dtype."""
    data = acl.util.ptr_to_bytes(pointer, like.nbytes)
    return np.frombuffer(data, like.dtype).reshape(like.shape)


def run_program(source: str, *arguments: str, status: int = 0, folder: Path | None = None, **environment: str) -> str:
    """Run Python source in a process of its own, check its exit status, and return what it printed."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("AACL_")}
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", textwrap.dedent(source), *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=15,
        env=plain | environment,
        cwd=folder,
    )
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done.stdout


def in_thread(function: Callable[[], Any]) -> Any:
    """Call a function in a new thread, and return or raise what it does."""
    answers: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10)
    assert not thread.is_alive(), "the thread did not end"
    if errors:
        raise errors[0]
    return answers[0]


class Reporter:
    """A thread that reports callbacks until it is told to stop."""

    def __init__(self) -> None:
        self._stop = False
        self.codes: set[int] = set()
        self.thread: int = good(acl.util.start_thread(self._loop, []))

    def _loop(self, _arguments: list[object]) -> None:
        while not self._stop:
            self.codes.add(acl.rt.process_report(50))

    def stop(self) -> None:
        """End the thread."""
        self._stop = True
        ok(acl.util.stop_thread(self.thread))


class Gate:
    """Holds a stream up until it is opened."""

    def __init__(self, reporter: Reporter, stream: int) -> None:
        self._open = threading.Event()
        self.reached = threading.Event()
        assert acl.rt.subscribe_report(reporter.thread, stream) in (0, 107011)
        ok(acl.rt.launch_callback(self._wait, None, 1, stream))

    def _wait(self, _data: object) -> None:
        self.reached.set()
        self._open.wait(15)

    def open(self) -> None:
        """Let the stream go on."""
        self._open.set()


MakeGate = Callable[[int], Gate]


# -- operators ----------------------------------------------------------------------------------


def tensor(dtype: str, shape: Sequence[int], **more: object) -> dict[str, object]:
    """Return a tensor as atc's operator files describe it."""
    return {"format": "ND", "shape": list(shape), "type": dtype, **more}


def compile_operators(folder: Path, *operators: dict[str, object]) -> Path:
    """Make operator models (``op``, ``input_desc``, ``output_desc``, ``attr``) and return their folder."""
    file = folder / "operators.json"
    file.write_text(json.dumps(operators))
    output = folder / "op_models"
    convert_operators(file, output)
    return output


def binary(op: str, dtype: str, shape: Sequence[int]) -> dict[str, object]:
    """Return an operator of two inputs that are like its output."""
    one = tensor(dtype, shape)
    return {"op": op, "input_desc": [one, one], "output_desc": [one]}


# -- models -------------------------------------------------------------------------------------


def _save(folder: Path, name: str, graph: onnx.GraphProto, input_shape: str | None = None) -> str:
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return str(convert(model, folder / name, input_shape=input_shape))


def _values(*specs: tuple[str, int, Sequence[int]]) -> list[onnx.ValueInfoProto]:
    return [helper.make_tensor_value_info(name, kind, list(shape)) for name, kind, shape in specs]


def add1(folder: Path, name: str = "add1", step: float = 1.0, output: str = "y") -> str:
    """Convert y = x + step, float32 [1, 4], and return the file's path."""
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "step"], [output], name="plus")],
        "g",
        _values(("x", TensorProto.FLOAT, [1, 4])),
        _values((output, TensorProto.FLOAT, [1, 4])),
        [helper.make_tensor("step", TensorProto.FLOAT, [1], [step])],
    )
    return _save(folder, name, graph)


def two_in(folder: Path) -> str:
    """Convert a [2, 3] and b [2, 4] → a · 2 and b · 3, float32, and return the file's path."""
    graph = helper.make_graph(
        [helper.make_node("Mul", ["a", "two"], ["p"]), helper.make_node("Mul", ["b", "three"], ["q"])],
        "g",
        _values(("a", TensorProto.FLOAT, [2, 3]), ("b", TensorProto.FLOAT, [2, 4])),
        _values(("p", TensorProto.FLOAT, [2, 3]), ("q", TensorProto.FLOAT, [2, 4])),
        [helper.make_tensor(name, TensorProto.FLOAT, [1], [k]) for name, k in (("two", 2.0), ("three", 3.0))],
    )
    return _save(folder, "two_in", graph)


def gather(folder: Path) -> str:
    """Convert y = x[i], x float32 [4], i int64 [1]; an index out of range fails at run time."""
    graph = helper.make_graph(
        [helper.make_node("Gather", ["x", "i"], ["y"], name="picks", axis=0)],
        "g",
        _values(("x", TensorProto.FLOAT, [4]), ("i", TensorProto.INT64, [1])),
        _values(("y", TensorProto.FLOAT, [1])),
    )
    return _save(folder, "gather", graph)


def slow(folder: Path, steps: int = 40, size: int = 512) -> str:
    """Convert a chain of matrix products, some hundred milliseconds long."""
    names = ["x", *[f"h{step}" for step in range(steps - 1)], "y"]
    graph = helper.make_graph(
        [helper.make_node("MatMul", [names[step], "w"], [names[step + 1]]) for step in range(steps)],
        "g",
        _values(("x", TensorProto.FLOAT, [size, size])),
        _values(("y", TensorProto.FLOAT, [size, size])),
        [helper.make_tensor("w", TensorProto.FLOAT, [size, size], np.eye(size, dtype=np.float32).ravel())],
    )
    return _save(folder, "slow", graph)


class Dataset:
    """A dataset with its buffers and their memory."""

    def __init__(self, *arrays: Array) -> None:
        self.arrays = arrays
        self.pointers = [put(array) for array in arrays]
        self.buffers = [acl.create_data_buffer(p, a.nbytes) for p, a in zip(self.pointers, arrays, strict=True)]
        self.handle = acl.mdl.create_dataset()
        for buffer in self.buffers:
            assert acl.mdl.add_dataset_buffer(self.handle, buffer) == (self.handle, 0)

    def read(self, index: int = 0) -> Array:
        """Return what a buffer holds now."""
        return get(self.pointers[index], self.arrays[index])

    def destroy(self) -> None:
        """Free it all."""
        ok(acl.mdl.destroy_dataset(self.handle))
        for buffer, pointer in zip(self.buffers, self.pointers, strict=True):
            ok(acl.destroy_data_buffer(buffer))
            ok(acl.rt.free(pointer))
