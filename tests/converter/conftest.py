"""Small models for the converter's tests, and reading back what it wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from aacl.backends.cpu.models import load_model
from aacl.models._package import ModelPackage, read_package

Array = npt.NDArray[Any]
Save = Callable[..., Path]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """Return a function that saves a graph as ``net.onnx`` and gives its path."""

    def save_graph(
        nodes: Sequence[onnx.NodeProto],
        inputs: Sequence[tuple[str, int, Sequence[int | str | None] | None]],
        outputs: Sequence[tuple[str, int, Sequence[int | str | None] | None]],
        constants: dict[str, Array] | None = None,
        *,
        opsets: dict[str, int] | None = None,
        ir_version: int = 9,
        name: str = "net",
        listed: Sequence[str] = (),
    ) -> Path:
        tensors = [numpy_helper.from_array(value, key) for key, value in (constants or {}).items()]
        extra = [helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in tensors if t.name in listed]
        graph = helper.make_graph(
            list(nodes),
            "g",
            [helper.make_tensor_value_info(*value) for value in inputs] + extra,
            [helper.make_tensor_value_info(*value) for value in outputs],
            tensors,
        )
        imports = [helper.make_opsetid(domain, version) for domain, version in (opsets or {"": 17}).items()]
        path = tmp_path / f"{name}.onnx"
        path.write_bytes(helper.make_model(graph, opset_imports=imports, ir_version=ir_version).SerializeToString())
        return path

    return save_graph


@pytest.fixture
def conv_net(save: Save) -> Save:
    """Return a function that saves image [n, 3, h, w_] -> Conv, Relu, GlobalAveragePool, Flatten -> score [n, 8]."""
    weight = np.random.default_rng(3).standard_normal((8, 3, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["image", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["score"]),
    ]
    image, score = ("image", TensorProto.FLOAT, ["n", 3, "h", "w_"]), ("score", TensorProto.FLOAT, ["n", 8])
    return partial(save, nodes, [image], [score], {"w": weight})


@pytest.fixture
def two_inputs(save: Save) -> Path:
    """Return the path of a [n, 4] -> p, b [m, 2] -> q, with the constant w [4]."""
    nodes = [helper.make_node("Mul", ["a", "w"], ["p"]), helper.make_node("Neg", ["b"], ["q"])]
    return save(
        nodes,
        [("a", TensorProto.FLOAT, ["n", 4]), ("b", TensorProto.FLOAT, ["m", 2])],
        [("p", TensorProto.FLOAT, ["n", 4]), ("q", TensorProto.FLOAT, ["m", 2])],
        {"w": np.ones(4, np.float32)},
    )


@pytest.fixture
def chain(save: Save) -> Path:
    """Return the path of x [n, 4] -> Neg "first" -> a -> Abs "second" -> b -> Split "third" -> c, d."""
    nodes = [
        helper.make_node("Neg", ["x"], ["a"], name="first"),
        helper.make_node("Abs", ["a"], ["b"], name="second"),
        helper.make_node("Split", ["b"], ["c", "d"], name="third", axis=1),
    ]
    outputs: list[tuple[str, int, list[int | str | None]]] = [
        ("c", TensorProto.FLOAT, ["n", 2]),
        ("d", TensorProto.FLOAT, ["n", 2]),
    ]
    return save(nodes, [("x", TensorProto.FLOAT, ["n", 4])], outputs)


@pytest.fixture
def run_om() -> Callable[..., list[Array]]:
    """Return a function that runs an ``.om`` file of ours on arrays and gives its outputs."""

    def run(path: Path, *inputs: Array) -> list[Array]:
        package = read_model(path)
        outputs = [np.zeros(spec.shape, spec.dtype.numpy_dtype) for spec in package.signature.outputs]
        load_model(package.graph[0]).bind(inputs, outputs)()
        return outputs

    return run


def read_model(path: Path) -> ModelPackage:
    package = read_package(path.read_bytes())
    assert isinstance(package, ModelPackage)

    return package


@pytest.fixture
def read() -> Callable[[Path], ModelPackage]:
    """Return a function that reads a model's ``.om`` file."""
    return read_model


@pytest.fixture
def compute() -> Callable[..., list[Array]]:
    """Return a function that runs the graph inside an ``.om`` file on arrays of any shape and gives its outputs."""

    def run(path: Path, *inputs: Array) -> list[Array]:
        session = onnxruntime.InferenceSession(bytes(read_model(path).graph[0]))
        feeds = {node.name: array for node, array in zip(session.get_inputs(), inputs, strict=True)}
        return [np.asarray(output) for output in session.run(None, feeds)]

    return run
