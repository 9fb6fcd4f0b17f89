"""Inputs that --input_fp16_nodes makes FP16."""

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

F = TensorProto.FLOAT
Save = Callable[..., Path]
Read = Callable[[Path], ModelPackage]
Run = Callable[..., list[Any]]


@pytest.mark.parametrize("names", ["a", "a;", ["a"]])
def test_named_inputs_become_half(two_inputs: Path, read: Read, compute: Run, names: str | list[str]) -> None:
    """The inputs named take FP16, the others keep their type, and so do the outputs and the arithmetic."""
    path = convert(two_inputs, two_inputs.with_name("o"), input_shape="-1,4;2,2", input_fp16_nodes=names)

    signature = read(path).signature
    assert [spec.dtype for spec in signature.inputs] == [DataType.FLOAT16, DataType.FLOAT]
    assert [spec.dtype for spec in signature.outputs] == [DataType.FLOAT, DataType.FLOAT]
    a, b = np.array([[1.5, 2, 3, 60000]], np.float16), np.ones((2, 2), np.float32)
    assert compute(path, a, b)[0].tolist() == a.tolist()


def test_input_that_a_branch_reads_is_replaced_there_too(save: Save, compute: Run) -> None:
    """A branch that reads the input reads what the Cast makes of it."""
    branches = {
        key: helper.make_graph([helper.make_node(op, ["x"], [key])], key, [], [helper.make_tensor_value_info(key, F, [2])])
        for key, op in (("then_branch", "Neg"), ("else_branch", "Abs"))
    }  # fmt: skip
    source = save(
        [helper.make_node("If", ["c"], ["y"], **branches)],
        [("c", TensorProto.BOOL, []), ("x", F, [2])],
        [("y", F, [2])],
    )

    path = convert(source, source.with_name("o"), input_fp16_nodes="x")

    x = np.array([1, -2], np.float16)
    assert [compute(path, np.array(flag), x)[0].tolist() for flag in (True, False)] == [[-1, 2], [1, 2]]


@pytest.mark.parametrize(
    ("names", "code", "words"),
    [
        ("nobody", "E10016", "'nobody', which is not in the model; its inputs: 'x', 'i'"),
        ("k", "E10017", "'k', which is no input"),
        ("named", "E10017", "'named', which is no input"),
        ("i", "E10001", "'i', which is INT64"),
        (";x", "E10016", "''"),
    ],
)
def test_wrong_names(save: Save, names: str, code: str, words: str) -> None:
    """A name that is nowhere, one that is no input, and an input of another type are refused with their codes."""
    nodes = [helper.make_node("Mul", ["x", "k"], ["p"], name="named"), helper.make_node("Neg", ["i"], ["q"])]
    source = save(
        nodes, [("x", F, [1]), ("i", TensorProto.INT64, [1])], [("p", F, [1]), ("q", TensorProto.INT64, [1])],
        {"k": np.ones(1, np.float32)},
    )  # fmt: skip

    with pytest.raises(InvalidOption, match=words) as caught:
        convert(source, source.with_name("o"), input_fp16_nodes=names)
    assert caught.value.report.code == code
    assert not source.with_name("o.om").exists()
