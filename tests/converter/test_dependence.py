"""Which outputs' shapes depend on values: the difference between a shape that is found and one that is guessed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from aacl.converter._dependence import dependent_outputs

N = helper.make_node


def value(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)


def body(nodes: Sequence[onnx.NodeProto], inputs: str, outputs: str) -> onnx.GraphProto:
    return helper.make_graph(list(nodes), "body", [*map(value, inputs.split())], [*map(value, outputs.split())])


def loop(nodes: Sequence[onnx.NodeProto], inputs: Sequence[str], outputs: str = "go2 v2") -> onnx.NodeProto:
    return N("Loop", list(inputs), ["y"], body=body(nodes, "i go v", outputs))


GROW = [N("Identity", ["go"], ["go2"]), N("Concat", ["v", "v"], ["v2"], axis=0)]
STOP_BY_VALUE = [N("ReduceMax", ["v"], ["m"]), N("Less", ["m", "k"], ["go2"]), N("Concat", ["v", "v"], ["v2"], axis=0)]


@pytest.mark.parametrize(
    ("nodes", "is_dependent"),
    [
        ([N("Add", ["x", "z"], ["y"])], False),
        ([N("NonZero", ["x"], ["y"])], True),
        ([N("NonZero", ["k"], ["y"])], False),
        ([N("Reshape", ["x", "k"], ["y"])], False),
        ([N("Reshape", ["x", "z"], ["y"])], True),
        ([N("Reshape", ["k", "x"], ["y"])], True),
        ([N("Shape", ["x"], ["s"]), N("Reshape", ["z", "s"], ["y"])], False),
        ([N("NonZero", ["x"], ["n"]), N("Shape", ["n"], ["s"]), N("Reshape", ["z", "s"], ["y"])], True),
        ([N("NonZero", ["x"], ["n"]), N("Size", ["n"], ["y"])], False),
        ([N("NonZero", ["x"], ["n"]), N("Size", ["n"], ["s"]), N("Expand", ["k", "s"], ["y"])], True),
        ([N("NonZero", ["x"], ["n"]), N("Neg", ["n"], ["y"])], True),
        ([N("TopK", ["x", "k"], ["y", "places"])], False),
        ([N("TopK", ["k", "x"], ["y", "places"])], True),
        ([N("Slice", ["x", "k", "k", "", "z"], ["y"])], True),
        ([N("ReduceSum", ["x", "z"], ["y"])], True),
        ([N("Unknown", ["x"], ["y"], domain="my.ops")], True),
        ([N("Unknown", ["k"], ["y"], domain="my.ops")], False),
        ([loop(GROW, ["k", "k", "x"])], False),
        ([loop(GROW, ["z", "k", "x"])], True),
        ([loop(GROW, ["k", "z", "x"])], True),
        ([loop(STOP_BY_VALUE, ["k", "k", "x"])], True),
        ([loop(STOP_BY_VALUE, ["k", "k", "k"])], False),
        ([loop([N("Identity", ["go"], ["go2"]), N("Reshape", ["k", "v"], ["v2"])], ["k", "k", "x"])], True),
        ([loop([N("Identity", ["go"], ["go2"]), N("Add", ["v", "x"], ["v2"])], ["k", "k", "k"])], False),
        ([N("Scan", ["x"], ["y"], body=body([N("Neg", ["a"], ["b"])], "a", "b"), num_scan_inputs=1)], False),
        ([N("Scan", ["x"], ["y"], body=body([N("NonZero", ["a"], ["b"])], "a", "b"), num_scan_inputs=1)], True),
    ],
)  # fmt: skip
def test_shapes_that_depend_on_values(nodes: list[onnx.NodeProto], is_dependent: bool) -> None:
    """Values that decide a shape make it dependent, through any chain of nodes, loops and scans; constants do not."""
    graph = helper.make_graph(
        nodes, "g", [value("x"), value("z")], [value("y")], [helper.make_tensor("k", 1, [1], [1.0])]
    )

    assert dependent_outputs(helper.make_model(graph)) == (["y"] if is_dependent else [])


@pytest.mark.parametrize(
    ("condition", "branch", "is_dependent"),
    [("k", "Neg", False), ("z", "Neg", True), ("k", "NonZero", True)],
)
def test_branches(condition: str, branch: str, is_dependent: bool) -> None:
    """An If depends on values through its condition and through either branch."""
    branches: dict[str, Any] = {
        "then_branch": body([N("Neg", ["x"], ["r"])], "", "r"),
        "else_branch": body([N(branch, ["x"], ["q"])], "", "q"),
    }
    graph = helper.make_graph(
        [N("If", [condition], ["y"], **branches)], "g", [value("x"), value("z")], [value("y")], [helper.make_tensor("k", 1, [1], [1.0])]
    )  # fmt: skip

    assert dependent_outputs(helper.make_model(graph)) == (["y"] if is_dependent else [])
