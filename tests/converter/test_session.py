"""Shapes of outputs: inferred, found by a trial run, or refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from aacl.converter import (
    Unconvertible,
    convert,
)
from aacl.models._package import ModelPackage

F = TensorProto.FLOAT
Save = Callable[..., Path]
Read = Callable[[Path], ModelPackage]
Run = Callable[..., list[Any]]
RNG = np.random.default_rng(3)


def _doubled() -> onnx.GraphProto:
    """Return a loop's body that doubles a vector's length."""
    return helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go2"]), helper.make_node("Concat", ["v", "v"], ["v2"], axis=0)],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []), helper.make_tensor_value_info("v", F, None)],
        [helper.make_tensor_value_info("go2", TensorProto.BOOL, []), helper.make_tensor_value_info("v2", F, None)],
    )  # fmt: skip


def test_shapes_computed_inside_are_found(save: Save, read: Read) -> None:
    """An output shape computed from a Shape node is static once the input is, whatever the exporter stated."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Concat", ["n", "rest"], ["t"], axis=0),
        helper.make_node("Reshape", ["x", "t"], ["y"]),
    ]
    source = save(nodes, [("x", F, ["n", 3, 4])], [("y", F, [1, 12])], {"zero": np.array([0]), "rest": np.array([-1])})

    assert read(convert(source, source.with_name("o"), input_shape="x:5,3,4")).signature.outputs[0].shape == (5, 12)


def test_shapes_that_inference_cannot_tell_are_found_by_trial(save: Save, read: Read) -> None:
    """A Loop's output has no inferable shape; trial runs find it."""
    source = save(
        [helper.make_node("Loop", ["count", "yes", "x"], ["y"], body=_doubled())],
        [("x", F, [2])],
        [("y", F, None)],
        {"count": np.array(3), "yes": np.array(True)},
    )

    assert read(convert(source, source.with_name("o"))).signature.outputs[0].shape == (16,)


@pytest.mark.parametrize("element", [TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.FLOAT8E4M3FN])
def test_trials_take_inputs_of_every_type(element: int, save: Save, read: Read) -> None:
    """A trial run tells shapes also where an input's type is one that NumPy itself has not."""
    source = save(
        [
            helper.make_node("Cast", ["x"], ["f"], to=F),
            helper.make_node("Loop", ["count", "yes", "f"], ["y"], body=_doubled()),
        ],
        [("x", element, [2])],
        [("y", F, None)],
        {"count": np.array(3), "yes": np.array(True)},
        opsets={"": 19},
    )

    assert read(convert(source, source.with_name("o"))).signature.outputs[0].shape == (16,)


def test_value_dependent_shapes_are_free(save: Save, read: Read, compute: Run) -> None:
    """An output whose shape depends on values has free dims, though every input is fixed; nothing is guessed."""
    source = save(
        [helper.make_node("NonZero", ["x"], ["where"])], [("x", F, [2, 4])], [("where", TensorProto.INT64, None)]
    )

    path = convert(source, source.with_name("o"))

    output = read(path).signature.outputs[0]
    assert (output.shape, output.ranges) == ((2, -1), ((2, 2), (0, -1)))
    assert compute(path, np.eye(2, 4, dtype=np.float32))[0].tolist() == [[0, 1], [0, 1]]


def test_rank_that_depends_on_values_is_refused(save: Save) -> None:
    """An If on a condition from outside whose branches have different ranks is refused by the output's name (C125)."""
    branches = {
        key: helper.make_graph(nodes, key, [], [helper.make_tensor_value_info(result, F, None)])
        for key, nodes, result in (
            ("then_branch", [helper.make_node("Neg", ["x"], ["t"])], "t"),
            ("else_branch", [helper.make_node("ReduceSum", ["x"], ["e"], keepdims=0)], "e"),
        )
    }
    source = save(
        [helper.make_node("If", ["c"], ["y"], **branches)],
        [("c", TensorProto.BOOL, []), ("x", F, [3])],
        [("y", F, None)],
    )

    with pytest.raises(Unconvertible, match="output 'y' has 0 or 1 dims"):
        convert(source, source.with_name("o"))
    assert not source.with_name("o.om").exists()


def test_scalar_output_is_a_scalar(save: Save, read: Read) -> None:
    """A scalar output, which ONNX Runtime shows like an unknown rank, has no dims and its true size."""
    source = save([helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0)], [("x", F, [4])], [("y", F, None)])

    output = read(convert(source, source.with_name("o"))).signature.outputs[0]

    assert (output.shape, output.nbytes) == ((), 4)
