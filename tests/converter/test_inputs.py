"""A model's inputs: the dims that --input_shape states, against those of the model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from aacl.converter import (
    ConversionError,
    InvalidOption,
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


def test_static_model_needs_no_shapes(save: Save, read: Read) -> None:
    """Where the model fixes every dim, --input_shape may be left out."""
    source = save([helper.make_node("Neg", ["x"], ["y"])], [("x", F, [2, 3])], [("y", F, [2, 3])])

    assert read(convert(source, source.with_name("o"))).signature.inputs[0].shape == (2, 3)


def test_scalar_input(save: Save, read: Read, run_om: Run) -> None:
    """A scalar is written ``name:`` and stays a scalar."""
    source = save([helper.make_node("Mul", ["x", "s"], ["y"])], [("x", F, ["n"]), ("s", F, [])], [("y", F, ["n"])])

    path = convert(source, source.with_name("o"), input_shape="x:3;s:")

    assert read(path).signature.inputs[1].shape == ()
    np.testing.assert_array_equal(run_om(path, np.ones(3, np.float32), np.array(5, np.float32))[0], [5, 5, 5])


@pytest.mark.parametrize("dims", [["n", 4], [None, 4], [-1, 4], [0, 4], None])
def test_unfixed_dims_need_input_shape(save: Save, read: Read, dims: list[int | str | None] | None) -> None:
    """A symbolic, missing, -1 or 0 dim, or a missing shape, is refused with the input's dims listed, and converts
    once --input_shape fixes it (C119).
    """
    source = save([helper.make_node("Neg", ["data"], ["y"])], [("data", F, dims)], [("y", F, None)])
    target = source.with_name("o")

    with pytest.raises(InvalidOption, match="data") as caught:
        convert(source, target)

    assert code_of(caught) == "E10001"
    assert not target.with_suffix(".om").exists()
    assert read(convert(source, target, input_shape="data:3,4")).signature.outputs[0].shape == (3, 4)


@pytest.mark.parametrize(
    ("shape", "code", "words"),
    [
        ("input:1,4;b:2,2", "E10016", "its inputs: 'a', 'b'"),
        ("a:1,3,4;b:2,2", "E10001", r"3 dims \[1, 3, 4\].*2: \[n, 4\]"),
        ("a:1,5;b:2,2", "E10001", "dim 1 of input 'a' as 5.*fixes it at 4"),
        ("a:1,4", "E10001", r"b \[m, 2\]"),
        ("a:1,4;a:1,4;b:2,2", "E10002", "'a' twice"),
        ("a:1,4;w:3;b:2,2", "E10017", "constant"),
        ("a:1,4;;b:2,2", "E10002", "''"),
        ("a1,4", "E10002", "'a1', which is no whole number"),
        ("a:1,4;2,2", "E10002", "name:dim"),
        ("a:1~x,4;b:2,2", "E10002", "'x'"),
        ("a:1_0,4;b:2,2", "E10002", "'1_0'"),
        ("a:１,4;b:2,2", "E10002", "'１'"),  # noqa: RUF001 - a digit of another script
        ("a:4611686018427387904,4;b:2,2", "E19023", "'a'.* takes 73786976294838206464 bytes"),
        ("a:8~2,4;b:2,2", "E10002", "range 8~2"),
        ("a:-1,-1;b:2,2", "E10001", "dim 1 of input 'a' as -1.*fixes it at 4"),
        ("a:1,1~8;b:2,2", "E10001", "as 1~8.*fixes it at 4"),
        ("1,4;2,2;3", "E10002", "3 shapes without names.*2 inputs: 'a', 'b'"),
        ("1,4", "E10001", r"b \[m, 2\]"),
        (";1,4", "E10002", "name:dim"),
        ("a:99999999999999999999,4;b:2,2", "E10013", "largest"),
        ("a:1,x;b:2,2", "E10002", "'x'"),
        ("a:1.0,4;b:2,2", "E10002", "'1.0'"),
        ("a:0,4;b:2,2", "E10011", "0"),
        ("a:-3,4;b:2,2", "E10011", "-3"),
    ],
)
def test_wrong_input_shapes_are_named(two_inputs: Path, shape: str, code: str, words: str) -> None:
    """A wrong name, rank, fixed dim, syntax or a missing input is refused with its code and the real names (C113)."""
    source = two_inputs
    target = source.with_name("o")

    with pytest.raises(InvalidOption, match=words) as caught:
        convert(source, target, input_shape=shape)

    assert code_of(caught) == code
    assert not target.with_suffix(".om").exists()


@pytest.mark.parametrize(
    "shape",
    ["a:1,4;b:2,2", "a:1,4;b:2,2;", " a : 1 , 4 ; b:2,2 ", "b:2,2;a:1,4", "1,4;2,2", " 1,4 ; 2,2; ", "a:1~1,4;b:2,2",
     {"b": (2, 2), "a": (1, "4")}, [(1, 4), (2, 2)]],
)  # fmt: skip
def test_blanks_order_and_a_last_semicolon_mean_nothing(two_inputs: Path, read: Read, shape: Any) -> None:
    """Blanks, the order of the items and a ``;`` at the end change nothing; without names, order counts (C113)."""
    source = two_inputs

    signature = read(convert(source, source.with_name("o"), input_shape=shape)).signature

    assert [spec.shape for spec in signature.inputs] == [(1, 4), (2, 2)]


def test_names_may_hold_colons(save: Save, read: Read) -> None:
    """The last ``:`` of an item splits, so names such as ``serving:0`` work; an output keeps its own name last (C081)."""
    long_name = "n" * 200
    nodes = [helper.make_node("Neg", ["in:0"], ["b:0"]), helper.make_node("Abs", ["b:0"], [long_name])]
    source = save(nodes, [("in:0", F, ["n"])], [("b:0", F, ["n"]), (long_name, F, ["n"])])

    signature = read(convert(source, source.with_name("o"), input_shape="in:0:5")).signature

    assert signature.inputs[0].name == "in:0"
    assert [spec.name for spec in signature.outputs] == ["Neg_0:0:b:0", f"Abs_1:0:{long_name}"]


@pytest.mark.parametrize("ir_version", [3, 9])
def test_initializers_listed_as_inputs_are_constants(conv_net: Save, read: Read, run_om: Run, ir_version: int) -> None:
    """An initializer that is a graph input too is a constant: no input of the .om, and not settable (C115)."""
    source = conv_net(listed=["w"], ir_version=ir_version)
    image = np.ones((1, 3, 4, 4), np.float32)

    path = convert(source, source.with_name("o"), input_shape="image:1,3,4,4")

    assert [spec.name for spec in read(path).signature.inputs] == ["image"]
    weight = numpy_helper.to_array(onnx.load(source).graph.initializer[0])
    session = onnxruntime.InferenceSession(str(source))
    wanted = session.run(None, {"image": image})[0]
    np.testing.assert_allclose(run_om(path, image)[0], wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(InvalidOption, match="constant"):
        convert(source, source.with_name("o"), input_shape=f"image:1,3,4,4;w:{','.join(map(str, weight.shape))}")


def test_input_that_is_no_tensor_is_refused(save: Save, tmp_path: Path) -> None:
    """A sequence input is refused by name."""
    model = onnx.load(
        save([helper.make_node("SequenceAt", ["s", "i"], ["y"])], [("i", TensorProto.INT64, [])], [("y", F, [2])])
    )
    model.graph.input.append(helper.make_tensor_sequence_value_info("s", F, [2]))

    with pytest.raises(Unconvertible, match="input 's' is no tensor but a sequence"):
        convert(model, tmp_path / "o")
