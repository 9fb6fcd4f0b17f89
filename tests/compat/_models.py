"""Models with gears and with free dims, converted as programs' authors do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

from aacl.converter import convert

Dims = Sequence[int | str]
Value = tuple[str, int, Dims]


def save(
    folder: Path,
    name: str,
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    constants: Sequence[onnx.TensorProto] = (),
    **options: Any,
) -> str:
    """Convert a graph and return the file's path."""
    graph = helper.make_graph(nodes, "g", _values(inputs), _values(outputs), list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return str(convert(model, folder / name, **options))


def _values(group: Sequence[Value]) -> list[onnx.ValueInfoProto]:
    return [helper.make_tensor_value_info(name, kind, list(shape)) for name, kind, shape in group]


def _scalar(name: str, value: float) -> onnx.TensorProto:
    return helper.make_tensor(name, TensorProto.FLOAT, [1], [value])


def add1_free(folder: Path, name: str, **options: Any) -> str:
    """Convert y = x + 1, float32 [n, 4]."""
    return save(
        folder,
        name,
        [helper.make_node("Add", ["x", "one"], ["y"], name="plus")],
        [("x", TensorProto.FLOAT, ["n", 4])],
        [("y", TensorProto.FLOAT, ["n", 4])],
        [_scalar("one", 1)],
        **options,
    )


def batch(folder: Path, gears: str = "1,2,4") -> str:
    """Convert y = x + 1 with batch gears."""
    return add1_free(folder, "batch", input_shape="x:-1,4", dynamic_batch_size=gears)


def ranged(folder: Path, shape: str = "x:-1,4", **options: Any) -> str:
    """Convert y = x + 1 with a free batch."""
    return add1_free(folder, "range", input_shape=shape, **options)


def picture(folder: Path) -> str:
    """Convert y = x * 2, float32 [1, 1, h, w], with image size gears 32 x 64 and 64 x 32."""
    dims: Dims = [1, 1, "h", "w"]
    return save(
        folder,
        "picture",
        [helper.make_node("Mul", ["x", "two"], ["y"], name="twice")],
        [("x", TensorProto.FLOAT, dims)],
        [("y", TensorProto.FLOAT, dims)],
        [_scalar("two", 2)],
        input_shape="x:1,1,-1,-1",
        dynamic_image_size="32,64;64,32",
    )


def two_free(folder: Path) -> str:
    """Convert a [n, 3] and b [2, m] → a · 2 and b · 3, float32, with dims gears (4, 5), (1, 2) and (2, 7)."""
    return save(
        folder,
        "two_free",
        [helper.make_node("Mul", ["a", "two"], ["p"]), helper.make_node("Mul", ["b", "three"], ["q"])],
        [("a", TensorProto.FLOAT, ["n", 3]), ("b", TensorProto.FLOAT, [2, "m"])],
        [("p", TensorProto.FLOAT, ["n", 3]), ("q", TensorProto.FLOAT, [2, "m"])],
        [_scalar("two", 2), _scalar("three", 3)],
        input_shape="a:-1,3;b:2,-1",
        dynamic_dims="4,5;1,2;2,7",
        input_format="ND",
    )


def nonzero(folder: Path, shape: str = "x:-1,4") -> str:
    """Convert y = x + 1 and where = NonZero(x), int64 [2, k]; values decide k."""
    return save(
        folder,
        "nonzero",
        [helper.make_node("Add", ["x", "one"], ["y"]), helper.make_node("NonZero", ["x"], ["where"])],
        [("x", TensorProto.FLOAT, ["n", 4])],
        [("y", TensorProto.FLOAT, ["n", 4]), ("where", TensorProto.INT64, [2, "k"])],
        [_scalar("one", 1)],
        input_shape=shape,
    )


def found(folder: Path) -> str:
    """Convert boxes = the rows of x [n, 4] whose keep [n] is not 0: as many as values say, also none."""
    return save(
        folder,
        "found",
        [
            helper.make_node("Cast", ["keep"], ["mask"], to=TensorProto.BOOL),
            helper.make_node("Compress", ["x", "mask"], ["boxes"], axis=0),
        ],
        [("x", TensorProto.FLOAT, ["n", 4]), ("keep", TensorProto.FLOAT, ["n"])],
        [("boxes", TensorProto.FLOAT, ["k", 4])],
        input_shape="x:-1,4;keep:-1",
    )
