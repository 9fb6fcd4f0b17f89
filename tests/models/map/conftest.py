"""Models to be mapped over items."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from aacl.converter import convert

Make = Callable[..., Path]
F32, I64 = TensorProto.FLOAT, TensorProto.INT64


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Convert nodes whose values have these types and dims; names among them are free dims."""

    def build(nodes: list[onnx.NodeProto], inputs: dict[str, Any], outputs: dict[str, Any], **options: Any) -> Path:
        ins, outs = (
            [helper.make_tensor_value_info(name, *each) for name, each in side.items()] for side in (inputs, outputs)
        )
        graph = helper.make_graph(nodes, "net", list(ins), list(outs))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        return convert(model, tmp_path_factory.mktemp("mapped") / "net", **options)

    return build


@pytest.fixture(scope="session")
def twice(make: Make) -> Callable[..., Path]:
    """Y = 2x, x of a batch and 3 columns, for the sizes that the options ask for."""

    def build(batch: int | str, columns: int | str = 3, **options: Any) -> Path:
        dims = [batch, columns]
        return make([helper.make_node("Add", ["x", "x"], ["y"])], {"x": (F32, dims)}, {"y": (F32, dims)}, **options)

    return build


@pytest.fixture(scope="session")
def sized(make: Make) -> Callable[..., Path]:
    """The same, and in a second output, for each row, how many rows there are."""
    nodes = [
        helper.make_node("Add", ["x", "x"], ["y"]),
        helper.make_node("Shape", ["x"], ["s"], end=1),
        helper.make_node("Expand", ["s", "s"], ["n"]),
    ]

    def build(batch: int | str, **options: Any) -> Path:
        return make(nodes, {"x": (F32, [batch, 3])}, {"y": (F32, [batch, 3]), "n": (I64, [batch])}, **options)

    return build


@pytest.fixture(scope="session")
def by_four(twice: Callable[..., Path]) -> Path:
    """Y = 2x, float32 [4, 3]."""
    return twice(4)


@pytest.fixture(scope="session")
def by_gear(twice: Callable[..., Path]) -> Path:
    """The same in batches of 1, 4 and 8."""
    return twice("n", input_shape={"x": (-1, 3)}, dynamic_batch_size=[1, 4, 8])


@pytest.fixture(scope="session")
def by_range(twice: Callable[..., Path]) -> Path:
    """The same with any batch and up to 6 columns."""
    return twice("n", "m", input_shape={"x": (-1, "1~6")})


@pytest.fixture(scope="session")
def pick_each(make: Make) -> Path:
    """Y = x[i] for each of 4 items: a run fails when one index of them is out of range."""
    node = helper.make_node("GatherElements", ["x", "i"], ["y"], name="pick_each", axis=1)
    return make([node], {"x": (F32, [4, 3]), "i": (I64, [4, 1])}, {"y": (F32, [4, 1])})
