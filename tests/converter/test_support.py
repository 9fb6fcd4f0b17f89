"""Operators that cannot be converted are all named at once; those that can are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from aacl.converter import (
    ConversionError,
    Unconvertible,
    convert,
)
from aacl.models._package import ModelPackage

F = TensorProto.FLOAT
Save = Callable[..., Path]
Read = Callable[[Path], ModelPackage]
Run = Callable[..., list[Any]]
RNG = np.random.default_rng(3)


def code_of(error: pytest.ExceptionInfo[ConversionError]) -> str:
    return error.value.report.code


def test_every_unsupported_operator_is_listed_once(save: Save) -> None:
    """All unknown operators are named at once: type, domain, opset and nodes; nothing is written (C111)."""
    nodes = [
        helper.make_node("Mystery", ["x"], ["a"], name="m1"),
        helper.make_node("Mystery", ["a"], ["b"], name="m2"),
        helper.make_node("Fancy", ["b"], ["c"], name="f", domain="my.ops"),
        helper.make_node("Neg", ["c"], ["y"], name="fine"),
    ]
    source = save(nodes, [("x", F, [2])], [("y", F, [2])], opsets={"": 17, "my.ops": 3})

    with pytest.raises(Unconvertible) as caught:
        convert(source, source.with_name("o"))

    text = str(caught.value)
    assert code_of(caught) == "E16002"
    assert text.count("ai.onnx::17::Mystery (nodes m1, m2)") == 1
    assert text.count("my.ops::3::Fancy (nodes f)") == 1
    assert "Neg" not in text
    assert list(source.parent.glob("*.om")) == []


def test_opset_beyond_any_number_of_operators(save: Save) -> None:
    """An opset that ONNX's own functions cannot take is one without operators, not a failure of those functions."""
    source = save([helper.make_node("Neg", ["x"], ["y"])], [("x", F, [2])], [("y", F, [2])], opsets={"": 2**40})

    with pytest.raises(Unconvertible, match=r"ai\.onnx::1099511627776::Neg") as caught:
        convert(source, source.with_name("o"))

    assert code_of(caught) == "E16002"


def test_unsupported_operator_inside_a_branch_is_found(save: Save) -> None:
    """An unknown operator inside the branch of an If is listed too."""
    branches = {
        key: helper.make_graph([helper.make_node(op, ["x"], ["r"], name=key)], key, [], [helper.make_tensor_value_info("r", F, [2])])
        for key, op in (("then_branch", "Neg"), ("else_branch", "Hidden"))
    }  # fmt: skip
    source = save(
        [helper.make_node("If", ["c"], ["y"], **branches)],
        [("c", TensorProto.BOOL, []), ("x", F, [2])],
        [("y", F, [2])],
    )

    with pytest.raises(Unconvertible, match=r"Hidden \(nodes else_branch"):
        convert(source, source.with_name("o"))


def test_operators_with_a_local_function_are_supported(save: Save, tmp_path: Path, run_om: Run) -> None:
    """An operator that the model defines itself is no unknown one."""
    model = onnx.load(
        save(
            [helper.make_node("Twice", ["x"], ["y"], domain="my")],
            [("x", F, [2])],
            [("y", F, [2])],
            opsets={"": 17, "my": 1},
        )
    )
    function = helper.make_function(
        "my", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 17)]
    )
    model.functions.append(function)

    path = convert(model, tmp_path / "o")

    np.testing.assert_array_equal(run_om(path, np.array([1, 2], np.float32))[0], [2, 4])


def test_contributed_operators_are_supported(save: Save, run_om: Run) -> None:
    """Operators that ONNX Runtime adds to the standard are converted."""
    source = save(
        [helper.make_node("Gelu", ["x"], ["y"], domain="com.microsoft")],
        [("x", F, [1])],
        [("y", F, [1])],
        opsets={"": 17, "com.microsoft": 1},
    )

    assert abs(run_om(convert(source, source.with_name("o")), np.zeros(1, np.float32))[0][0]) < 1e-6


def test_strings_are_refused_by_name(save: Save) -> None:
    """A string input or output is refused with its name (C164)."""
    source = save([helper.make_node("Identity", ["words"], ["y"])], [("words", TensorProto.STRING, [2])], [("y", TensorProto.STRING, [2])])  # fmt: skip

    with pytest.raises(Unconvertible, match="input 'words' holds strings"):
        convert(source, source.with_name("o"))


def test_operator_in_a_form_without_code_is_refused(save: Save) -> None:
    """An operator that exists, in a type nobody implements, is refused with the runtime's reason."""
    source = save(
        [helper.make_node("Erf", ["x"], ["y"])], [("x", TensorProto.INT32, [2])], [("y", TensorProto.INT32, [2])]
    )

    with pytest.raises(ConversionError, match="Erf"):
        convert(source, source.with_name("o"))


def test_constant_nodes_are_supported(save: Save, read: Read, run_om: Run) -> None:
    """Constant nodes, which exporters write by the dozen, convert; a shape from one is known."""
    nodes = [
        helper.make_node("Constant", [], ["t"], value=numpy_helper.from_array(np.array([-1, 2]))),
        helper.make_node("Reshape", ["x", "t"], ["y"]),
    ]
    path = convert(
        source := save(nodes, [("x", F, ["n", 4])], [("y", F, None)]), source.with_name("o"), input_shape="x:3,4"
    )

    assert read(path).signature.outputs[0].shape == (6, 2)
    assert run_om(path, np.ones((3, 4), np.float32))[0].sum() == 12
