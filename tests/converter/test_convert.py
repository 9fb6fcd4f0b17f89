"""Converting whole models: results, names, types and options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import aacl
from aacl.converter import (
    InvalidOption,
    Unconvertible,
    convert,
)
from aacl.dtypes import DataType, Format
from aacl.models._package import ModelPackage

F = TensorProto.FLOAT
Save = Callable[..., Path]
Read = Callable[[Path], ModelPackage]
Run = Callable[..., list[Any]]
RNG = np.random.default_rng(3)


def test_converted_model_computes_the_same(conv_net: Save, read: Read, run_om: Run) -> None:
    """The .om gives what ONNX Runtime gives for the original, and states the shapes asked for."""
    source = conv_net()
    image = RNG.standard_normal((2, 3, 16, 12)).astype(np.float32)

    path = convert(source, source.with_name("out"), input_shape="image:2,3,16,12", soc_version="Ascend910B3")

    signature = read(path).signature
    assert path == source.with_name("out.om")
    assert [(s.name, s.shape, s.dtype, s.format) for s in signature.inputs] == [
        ("image", (2, 3, 16, 12), DataType.FLOAT, Format.NCHW)
    ]
    assert [(s.name, s.shape, s.format) for s in signature.outputs] == [("Flatten_3:0:score", (2, 8), Format.ND)]
    assert (signature.soc_version, signature.name) == ("Ascend910B3", "out")
    wanted = onnxruntime.InferenceSession(str(source)).run(None, {"image": image})[0]
    np.testing.assert_allclose(run_om(path, image)[0], wanted, rtol=1e-5, atol=1e-6)


def test_graph_inside_is_a_sound_onnx_model(conv_net: Save, read: Read) -> None:
    """The graph section is a complete ONNX model that onnx's own checker passes, shapes included."""
    path = convert(source := conv_net(), source.with_name("out"), input_shape={"image": (1, 3, 8, 8)})

    model = onnx.ModelProto.FromString(bytes(read(path).graph[0]))

    onnx.checker.check_model(model, full_check=True)
    assert model.graph.initializer[0].raw_data == onnx.load(source).graph.initializer[0].raw_data


def test_model_in_memory_is_converted_and_left_alone(conv_net: Save, read: Read) -> None:
    """A ModelProto is taken too, and is not changed."""
    model = onnx.load(source := conv_net())
    before = model.SerializeToString()

    path = convert(model, source.with_name("memory"), input_shape={"image": (1, 3, 8, 8)})

    assert read(path).signature.outputs[0].shape == (1, 8)
    assert model.SerializeToString() == before


def test_empty_and_repeated_node_names_are_legal(save: Save, read: Read, run_om: Run) -> None:
    """Nodes without a name are named by type and place; repeated names are numbered (C126)."""
    nodes = [
        helper.make_node("Neg", ["x"], ["a"], name="same"),
        helper.make_node("Abs", ["a"], ["b"], name="same"),
        helper.make_node("Neg", ["b"], ["y"]),
    ]
    path = convert(source := save(nodes, [("x", F, [1])], [("b", F, [1]), ("y", F, [1])]), source.with_name("o"))

    assert [spec.name for spec in read(path).signature.outputs] == ["same_1:0:b", "Neg_2:0:y"]
    assert [float(out[0]) for out in run_om(path, np.array([3], np.float32))] == [3, -3]


def test_output_that_is_an_input_or_constant(save: Save, read: Read, run_om: Run) -> None:
    """An output that is an input, or a constant, is copied out, under its own name."""
    constant = np.arange(300, dtype=np.float32)
    source = save([helper.make_node("Neg", ["x"], ["y"])], [("x", F, [2])], [("x", F, [2]), ("k", F, [300]), ("y", F, [2])], {"k": constant})  # fmt: skip

    path = convert(source, source.with_name("o"))

    assert [spec.name for spec in read(path).signature.outputs] == ["x:0:x", "k:0:k", "Neg_0:0:y"]
    x, k, y = run_om(path, np.array([1, 2], np.float32))
    assert (list(x), list(k), list(y)) == ([1, 2], list(constant), [-1, -2])


def test_hardware_options_are_recorded(save: Save, read: Read) -> None:
    """Options that steer hardware only are recorded in the file, beside those that are acted on."""
    source = save([helper.make_node("Neg", ["x"], ["y"])], [("x", F, [1])], [("y", F, [1])])

    path = convert(source, source.with_name("o"), input_shape={"x": (1,)}, options={"buffer_optimize": "off_optimize"})

    options = read(path).options
    assert (options["buffer_optimize"], options["input_shape"]) == ("off_optimize", "x:1")


def test_other_modes_are_not_conversions(two_inputs: Path) -> None:
    """A mode that converts nothing is refused, and the text says what does that."""
    with pytest.raises(InvalidOption, match=r"--mode=6.*inspect_om"):
        convert(two_inputs, "unused", options={"mode": "6"})


@pytest.mark.parametrize(("framework", "name"), [(0, "Caffe"), (1, "MindSpore")])
def test_other_frameworks_are_refused_by_name(two_inputs: Path, framework: int, name: str) -> None:
    """Caffe and MindSpore models are refused, by name."""
    with pytest.raises(Unconvertible, match=f"--framework={framework} \\({name}\\)"):
        convert(two_inputs, "unused", framework=framework)


def test_original_is_saved_beside(two_inputs: Path, read: Read) -> None:
    """With save_original_model, a second file holds the model in its own types."""
    path = convert(
        two_inputs, two_inputs.with_name("o"), input_shape="1,4;2,2", output_type="FP16",
        input_fp16_nodes="a", options={"save_original_model": "true"},
    )  # fmt: skip

    original = read(path.with_name("o_original.om")).signature
    assert [spec.dtype for spec in read(path).signature.outputs] == [DataType.FLOAT16] * 2
    assert {spec.dtype for spec in (*original.inputs, *original.outputs)} == {DataType.FLOAT}
    assert (original.name, original.inputs[0].shape) == ("o_original", (1, 4))


def test_progress_is_told(two_inputs: Path) -> None:
    """The steps come in order, each with a part of the whole, up to 1."""
    steps: list[tuple[str, float]] = []

    convert(
        two_inputs, two_inputs.with_name("o"), input_shape="-1,4;2,2", dynamic_batch_size=[1, 2],
        progress=lambda step, part: steps.append((step, part)),
    )  # fmt: skip

    parts = [part for _, part in steps]
    assert parts == sorted(parts)
    assert (steps[0], steps[-1]) == (("read", 0.0), ("done", 1.0))
    assert [step for step, _ in steps if step.startswith("gear")] == ["gear 1 of 2", "gear 2 of 2"]


def test_public_name_is_the_same_function(two_inputs: Path) -> None:
    """`aacl.convert` is the converter's function."""
    assert aacl.convert is convert


@pytest.mark.parametrize("name", ["input_shape", "out_nodes", "output_type", "singleop", "dynamic_dims"])
def test_arguments_are_no_options(two_inputs: Path, name: str) -> None:
    """An option that is an argument of convert is refused in `options`, where it would have no effect."""
    with pytest.raises(InvalidOption, match=f"'{name}' is an argument"):
        convert(two_inputs, "unused", options={name: "x"})
