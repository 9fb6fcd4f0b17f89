"""Small models, converted once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from aacl.converter import convert
from aacl.models import Gears, ModelPackage, ModelSignature, TensorSpec
from aacl.models._package import package_pieces

Value = tuple[str, int, Sequence[int]]
Build = Callable[..., Path]
Pack = Callable[..., bytes]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Convert nodes, inputs, outputs and constants into a file of the name given."""

    def make(
        name: str,
        nodes: Sequence[onnx.NodeProto],
        inputs: Sequence[Value],
        outputs: Sequence[Value],
        constants: Sequence[onnx.TensorProto] = (),
    ) -> Path:
        graph = helper.make_graph(
            list(nodes),
            name,
            [helper.make_tensor_value_info(*value) for value in inputs],
            [helper.make_tensor_value_info(*value) for value in outputs],
            list(constants),
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        return convert(model, tmp_path_factory.mktemp("models") / name)

    return make


@pytest.fixture(scope="session")
def add_one(build: Build) -> Path:
    """Y = x + 1, float32 [2, 3]."""
    one = numpy_helper.from_array(np.ones((), np.float32), "one")
    node = helper.make_node("Add", ["x", "one"], ["y"])
    return build("add_one", [node], [("x", TensorProto.FLOAT, [2, 3])], [("y", TensorProto.FLOAT, [2, 3])], [one])


@pytest.fixture(scope="session")
def add_one_bytes(add_one: Path) -> bytes:
    """The bytes of that file."""
    return add_one.read_bytes()


@pytest.fixture(scope="session")
def sum_and_product(build: Build) -> Path:
    """Two float32 [4] inputs, a and b; two outputs, a + b and a * b."""
    nodes = [helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node("Mul", ["a", "b"], ["p"])]
    four = [4]
    return build(
        "sum_and_product",
        nodes,
        [("a", TensorProto.FLOAT, four), ("b", TensorProto.FLOAT, four)],
        [("s", TensorProto.FLOAT, four), ("p", TensorProto.FLOAT, four)],
    )


@pytest.fixture(scope="session")
def pick(build: Build) -> Path:
    """Y = x[i]: fails while it runs when the index is out of range."""
    node = helper.make_node("Gather", ["x", "i"], ["y"], name="pick_one")
    return build(
        "pick",
        [node],
        [("x", TensorProto.FLOAT, [4]), ("i", TensorProto.INT64, [1])],
        [("y", TensorProto.FLOAT, [1])],
    )


@pytest.fixture(scope="session")
def slow(build: Build) -> Path:
    """Some 100 milliseconds of matrix products that leave a float32 [1024, 1024] as it is."""
    identity = numpy_helper.from_array(np.eye(1024, dtype=np.float32), "w")
    nodes = [helper.make_node("MatMul", [f"h{index}", "w"], [f"h{index + 1}"]) for index in range(5)]
    shape = [1024, 1024]
    return build("slow", nodes, [("h0", TensorProto.FLOAT, shape)], [("h5", TensorProto.FLOAT, shape)], [identity])


@pytest.fixture(scope="session")
def heavy(build: Build) -> Path:
    """A model with 64 MiB of weights."""
    weight = numpy_helper.from_array(np.ones((4096, 4096), np.float32), "w")
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    return build(
        "heavy", [node], [("x", TensorProto.FLOAT, [1, 4096])], [("y", TensorProto.FLOAT, [1, 4096])], [weight]
    )


@pytest.fixture(scope="session")
def pack() -> Pack:
    """Make the bytes of a model whose signature is given: free dims of the graph have names."""

    def make(
        nodes: Sequence[onnx.NodeProto],
        inputs: Sequence[onnx.ValueInfoProto],
        outputs: Sequence[onnx.ValueInfoProto],
        takes: Sequence[TensorSpec],
        gives: Sequence[TensorSpec],
        *,
        constants: Sequence[onnx.TensorProto] = (),
        gears: Gears | None = None,
        name: str = "net",
    ) -> bytes:
        graph = helper.make_graph(list(nodes), name, list(inputs), list(outputs), list(constants))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        signature = ModelSignature(name, tuple(takes), tuple(gives), gears=gears)
        return b"".join(package_pieces(ModelPackage(signature, (model.SerializeToString(),))))

    return make
