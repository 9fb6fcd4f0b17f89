"""Choosing outputs with --out_nodes and their types with --output_type (C124)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from aacl.converter import InvalidOption, convert
from aacl.dtypes import DataType
from aacl.models._package import ModelPackage

Read = Callable[[Path], ModelPackage]
Run = Callable[..., list[Any]]
Save = Callable[..., Path]
X = np.array([[1, -2, 3, -4]], np.float32)


@pytest.mark.parametrize(
    ("out_nodes", "names", "values"),
    [
        ("first:0", ["first:0:a"], [[-1, 2, -3, 4]]),
        ("second:0;first:0", ["second:0:b", "first:0:a"], [[1, 2, 3, 4], [-1, 2, -3, 4]]),
        ("third:1;third:0;", ["third:1:d", "third:0:c"], [[3, 4], [1, 2]]),
        ("d; a", ["third:1:d", "first:0:a"], [[3, 4], [-1, 2, -3, 4]]),
        (["b"], ["second:0:b"], [[1, 2, 3, 4]]),
    ],
)
def test_outputs_are_those_named_in_order(
    chain: Path, read: Read, run_om: Run, out_nodes: str | list[str], names: list[str], values: list[list[float]]
) -> None:
    """Nodes with an index, or tensor names, become the outputs, in the order given."""
    path = convert(chain, chain.with_name("o"), input_shape="x:1,4", out_nodes=out_nodes)

    assert [spec.name for spec in read(path).signature.outputs] == names
    assert [out[0].tolist() for out in run_om(path, X)] == values


@pytest.mark.parametrize(
    ("out_nodes", "code", "words"),
    [
        ("nobody:0", "E10016", "'nobody:0'.*third:0, third:1"),
        ("third:2", "E10001", "output 2 of node 'third', which has 2"),
        ("first:0;b", "E10001", "mixes"),
        ("a;a", "E10001", "twice"),
        ("x", "E10016", "'x'"),
        ("first:zero", "E10016", "'first:zero'"),
    ],
)
def test_outputs_that_do_not_exist_are_refused(chain: Path, out_nodes: str, code: str, words: str) -> None:
    """An unknown node or tensor, an index out of range, a mixture or a repetition is refused with its code."""
    with pytest.raises(InvalidOption, match=words) as caught:
        convert(chain, chain.with_name("o"), input_shape="x:1,4", out_nodes=out_nodes)

    assert caught.value.report.code == code
    assert not chain.with_name("o.om").exists()


def test_cut_drops_what_is_behind_it(save: Save, read: Read) -> None:
    """An unsupported operator behind the cut is of no concern, and constants only it needs are dropped."""
    nodes = [
        helper.make_node("Neg", ["x"], ["a"], name="front"),
        helper.make_node("Mystery", ["a", "big"], ["y"], name="back"),
    ]
    source = save(nodes, [("x", 1, [2])], [("y", 1, [2])], {"big": np.zeros(5000, np.float32)})

    package = read(convert(source, source.with_name("o"), out_nodes="front:0"))

    assert package.signature.weight_nbytes == 0
    assert len(package.graph[0]) < 1000


def test_cut_keeps_what_a_branch_needs(save: Save, run_om: Run) -> None:
    """Nodes that only the inside of an If uses are kept."""
    branches = {
        key: helper.make_graph([helper.make_node(op, ["a"], ["r"])], key, [], [helper.make_tensor_value_info("r", 1, [2])])
        for key, op in (("then_branch", "Neg"), ("else_branch", "Abs"))
    }  # fmt: skip
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["a"], name="square"),
        helper.make_node("If", ["c"], ["y"], name="choice", **branches),
        helper.make_node("Neg", ["y"], ["z"], name="last"),
    ]
    source = save(nodes, [("c", TensorProto.BOOL, []), ("x", 1, [2])], [("z", 1, [2])])

    path = convert(source, source.with_name("o"), out_nodes="choice:0")

    assert run_om(path, np.array(True), np.array([2, 3], np.float32))[0].tolist() == [-4, -9]


@pytest.mark.parametrize(
    ("output_type", "out_nodes", "dtypes"),
    [
        ("FP16", None, [DataType.FLOAT16] * 2),
        ("INT8", "first:0;second:0", [DataType.INT8] * 2),
        ("first:0:FP16;third:1:INT32", "first:0;second:0;third:1", [DataType.FLOAT16, DataType.FLOAT, DataType.INT32]),
        ("b:DOUBLE", "a;b", [DataType.FLOAT, DataType.DOUBLE]),
        ("FP32", None, [DataType.FLOAT] * 2),
    ],
)
def test_output_types(
    chain: Path, read: Read, run_om: Run, output_type: str, out_nodes: str | None, dtypes: list[DataType]
) -> None:
    """One type for all outputs, or one for each that is named; names and values stay."""
    plain = convert(chain, chain.with_name("plain"), input_shape="x:1,4", out_nodes=out_nodes)
    typed = convert(chain, chain.with_name("o"), input_shape="x:1,4", out_nodes=out_nodes, output_type=output_type)

    assert [spec.dtype for spec in read(typed).signature.outputs] == dtypes
    assert [s.name for s in read(typed).signature.outputs] == [s.name for s in read(plain).signature.outputs]
    assert [out.tolist() for out in run_om(typed, X)] == [out.tolist() for out in run_om(plain, X)]


@pytest.mark.parametrize(
    ("output_type", "out_nodes", "words"),
    [
        ("FP99", None, "FP32, FP16.*'FP99'"),
        ("first:0:FP16", None, "none"),
        ("first:0:FP16", "second:0", "'first:0'"),
        ("first:0:FP99", "first:0", "'FP99'"),
    ],
)
def test_wrong_output_types_are_refused(chain: Path, output_type: str, out_nodes: str | None, words: str) -> None:
    """An unknown type, or an output that --out_nodes does not name, is refused."""
    with pytest.raises(InvalidOption, match=words):
        convert(chain, chain.with_name("o"), input_shape="x:1,4", out_nodes=out_nodes, output_type=output_type)
