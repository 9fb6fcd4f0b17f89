"""Converting whole models: results, shapes, names, constants, paths."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from aacl.converter import (
    ConversionError,
    InvalidOption,
    ModelFileMissing,
    ModelUnreadable,
    OutputNotWritable,
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


def code_of(error: pytest.ExceptionInfo[ConversionError]) -> str:
    return error.value.report.code


def conv_net(save: Save, **options: Any) -> Path:
    weight = RNG.standard_normal((8, 3, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["image", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["score"]),
    ]
    return save(nodes, [("image", F, ["n", 3, "h", "w_"])], [("score", F, ["n", 8])], {"w": weight}, **options)


def test_converted_model_computes_the_same(save: Save, read: Read, run_om: Run) -> None:
    """The .om gives what ONNX Runtime gives for the original, and states the shapes asked for."""
    source = conv_net(save)
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


def test_graph_inside_is_a_sound_onnx_model(save: Save, read: Read) -> None:
    """The graph section is a complete ONNX model that onnx's own checker passes, shapes included."""
    path = convert(source := conv_net(save), source.with_name("out"), input_shape={"image": (1, 3, 8, 8)})

    model = onnx.ModelProto.FromString(bytes(read(path).graph[0]))

    onnx.checker.check_model(model, full_check=True)
    assert model.graph.initializer[0].raw_data == onnx.load(source).graph.initializer[0].raw_data


def test_model_in_memory_is_converted_and_left_alone(save: Save, read: Read) -> None:
    """A ModelProto is taken too, and is not changed."""
    model = onnx.load(source := conv_net(save))
    before = model.SerializeToString()

    path = convert(model, source.with_name("memory"), input_shape={"image": (1, 3, 8, 8)})

    assert read(path).signature.outputs[0].shape == (1, 8)
    assert model.SerializeToString() == before


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
        ("a1,4", "E10002", "name:dim"),
        ("a:1,x;b:2,2", "E10002", "'x'"),
        ("a:1.0,4;b:2,2", "E10002", "'1.0'"),
        ("a:0,4;b:2,2", "E10011", "0"),
        ("a:-3,4;b:2,2", "E10011", "-3"),
    ],
)
def test_wrong_input_shapes_are_named(save: Save, shape: str, code: str, words: str) -> None:
    """A wrong name, rank, fixed dim, syntax or a missing input is refused with its code and the real names (C113)."""
    source = two_inputs(save)
    target = source.with_name("o")

    with pytest.raises(InvalidOption, match=words) as caught:
        convert(source, target, input_shape=shape)

    assert code_of(caught) == code
    assert not target.with_suffix(".om").exists()


def two_inputs(save: Save) -> Path:
    nodes = [helper.make_node("Mul", ["a", "w"], ["p"]), helper.make_node("Neg", ["b"], ["q"])]
    return save(
        nodes,
        [("a", F, ["n", 4]), ("b", F, ["m", 2])],
        [("p", F, ["n", 4]), ("q", F, ["m", 2])],
        {"w": np.ones(4, np.float32)},
    )


@pytest.mark.parametrize("shape", ["a:1,4;b:2,2", "a:1,4;b:2,2;", " a : 1 , 4 ; b:2,2 ", "b:2,2;a:1,4"])
def test_blanks_order_and_a_last_semicolon_mean_nothing(save: Save, read: Read, shape: str) -> None:
    """Blanks, the order of the items and a ``;`` at the end change nothing (C113)."""
    source = two_inputs(save)

    signature = read(convert(source, source.with_name("o"), input_shape=shape)).signature

    assert [spec.shape for spec in signature.inputs] == [(1, 4), (2, 2)]


@pytest.mark.parametrize("shape", ["a:-1,4;b:2,2", "a:1~8,4;b:2,2", {"a": (-1, 4), "b": (2, 2)}])
def test_free_dims_are_refused_by_name(save: Save, shape: str | dict[str, tuple[int, ...]]) -> None:
    """A free dim is understood and refused as not converted yet, with the input's name."""
    source = two_inputs(save)

    with pytest.raises(Unconvertible, match=r"'a'.*not converted yet"):
        convert(source, source.with_name("o"), input_shape=shape)


def test_names_may_hold_colons(save: Save, read: Read) -> None:
    """The last ``:`` of an item splits, so names such as ``serving:0`` work; an output keeps its own name last (C081)."""
    long_name = "n" * 200
    nodes = [helper.make_node("Neg", ["in:0"], ["b:0"]), helper.make_node("Abs", ["b:0"], [long_name])]
    source = save(nodes, [("in:0", F, ["n"])], [("b:0", F, ["n"]), (long_name, F, ["n"])])

    signature = read(convert(source, source.with_name("o"), input_shape="in:0:5")).signature

    assert signature.inputs[0].name == "in:0"
    assert [spec.name for spec in signature.outputs] == ["Neg_0:0:b:0", f"Abs_1:0:{long_name}"]


@pytest.mark.parametrize("ir_version", [3, 9])
def test_initializers_listed_as_inputs_are_constants(save: Save, read: Read, run_om: Run, ir_version: int) -> None:
    """An initializer that is a graph input too is a constant: no input of the .om, and not settable (C115)."""
    source = conv_net(save, listed=["w"], ir_version=ir_version)
    image = np.ones((1, 3, 4, 4), np.float32)

    path = convert(source, source.with_name("o"), input_shape="image:1,3,4,4")

    assert [spec.name for spec in read(path).signature.inputs] == ["image"]
    weight = numpy_helper.to_array(onnx.load(source).graph.initializer[0])
    session = onnxruntime.InferenceSession(str(source))
    wanted = session.run(None, {"image": image})[0]
    np.testing.assert_allclose(run_om(path, image)[0], wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(InvalidOption, match="constant"):
        convert(source, source.with_name("o"), input_shape=f"image:1,3,4,4;w:{','.join(map(str, weight.shape))}")


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


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (b"", "E10041", "empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n", "E10041", "git-lfs"),
        (b'{"model": 1}', "E10041", "JSON"),
        (b"PK\x03\x04rest", "E10041", "PyTorch"),
        (b'name: "caffe"\nlayer { name: "x" }\n', "E10041", "no ONNX file"),
        (b"\x0a\x10\x0a\x01x\x12\x0bPlaceholder", "E16004", "no graph"),
        (b"IMOD" + bytes(300), "E10041", "converted model"),
    ],
)
def test_files_that_are_no_onnx_are_named(tmp_path: Path, data: bytes, code: str, words: str) -> None:
    """Empty, LFS, JSON, PyTorch, Caffe, TensorFlow and .om files are refused with what they are (C123)."""
    (tmp_path / "net.onnx").write_bytes(data)

    with pytest.raises(ModelUnreadable, match=words) as caught:
        convert(tmp_path / "net.onnx", tmp_path / "o")

    assert code_of(caught) == code
    assert [path.name for path in tmp_path.iterdir()] == ["net.onnx"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.floats(0, 1, exclude_max=True))
def test_truncated_model_is_refused(save: Save, tmp_path: Path, part: float) -> None:
    """A model cut anywhere raises a ConversionError, and nothing is written."""
    data = conv_net(save).read_bytes()
    (tmp_path / "cut.onnx").write_bytes(data[: int(len(data) * part)])

    with pytest.raises(ConversionError):
        convert(tmp_path / "cut.onnx", tmp_path / "o", input_shape="image:1,3,8,8")

    assert not (tmp_path / "o.om").exists()


def test_missing_file_and_directory(tmp_path: Path) -> None:
    """A path without a file, and a directory, are refused by name."""
    with pytest.raises(ModelFileMissing, match=r"nothing\.onnx") as caught:
        convert(tmp_path / "nothing.onnx", tmp_path / "o")
    assert code_of(caught) == "E10410"
    with pytest.raises(ModelUnreadable, match="directory"):
        convert(tmp_path, tmp_path / "o")


def test_graph_without_inputs_or_outputs_is_refused(save: Save) -> None:
    """A graph must have inputs and outputs."""
    source = save([helper.make_node("Neg", ["k"], ["y"])], [], [("y", F, [2])], {"k": np.ones(2, np.float32)})

    with pytest.raises(ModelUnreadable, match="no inputs"):
        convert(source, source.with_name("o"))


def test_duplicate_tensor_names_are_refused(save: Save) -> None:
    """Two nodes that make one tensor, or two outputs of one name, are refused by name (C126)."""
    nodes = [helper.make_node("Neg", ["x"], ["y"]), helper.make_node("Abs", ["x"], ["y"])]
    with pytest.raises(ModelUnreadable, match="'y'"):
        convert(save(nodes, [("x", F, [2])], [("y", F, [2])]), "unused")
    with pytest.raises(ModelUnreadable, match="'z'"):
        convert(save([helper.make_node("Neg", ["x"], ["z"])], [("x", F, [2])], [("z", F, [2])] * 2), "unused")


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
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go2"]), helper.make_node("Concat", ["v", "v"], ["v2"], axis=0)],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []), helper.make_tensor_value_info("v", F, None)],
        [helper.make_tensor_value_info("go2", TensorProto.BOOL, []), helper.make_tensor_value_info("v2", F, None)],
    )  # fmt: skip
    source = save(
        [helper.make_node("Loop", ["count", "yes", "x"], ["y"], body=body)],
        [("x", F, [2])],
        [("y", F, None)],
        {"count": np.array(3), "yes": np.array(True)},
    )

    assert read(convert(source, source.with_name("o"))).signature.outputs[0].shape == (16,)


def test_value_dependent_shapes_are_refused_by_name(save: Save) -> None:
    """An output whose shape depends on values is refused, not given a guessed shape."""
    source = save(
        [helper.make_node("NonZero", ["x"], ["where"])], [("x", F, [4])], [("where", TensorProto.INT64, None)]
    )

    with pytest.raises(Unconvertible, match="'where' depends on the values"):
        convert(source, source.with_name("o"))


def test_operator_in_a_form_without_code_is_refused(save: Save) -> None:
    """An operator that exists, in a type nobody implements, is refused with the runtime's reason."""
    source = save(
        [helper.make_node("Erf", ["x"], ["y"])], [("x", TensorProto.INT32, [2])], [("y", TensorProto.INT32, [2])]
    )

    with pytest.raises(ConversionError, match="Erf"):
        convert(source, source.with_name("o"))


@pytest.mark.parametrize("name", ["sub/dir/net", "net.om", "net", "net.v1"])
def test_output_path(save: Save, tmp_path: Path, name: str) -> None:
    """``.om`` is appended once, a missing directory is made, dots in the name stay (C130)."""
    source = two_inputs(save)

    path = convert(source, tmp_path / "o" / name, input_shape="a:1,4;b:1,2")

    assert path == tmp_path / "o" / (name if name.endswith(".om") else f"{name}.om")
    assert path.is_file()
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["", "/", "sub/"])
def test_output_without_a_file_name(save: Save, tmp_path: Path, name: str) -> None:
    """A directory is no output (C122, C130)."""
    with pytest.raises(InvalidOption) as caught:
        convert(two_inputs(save), f"{tmp_path}/{name}" if name else "", input_shape="a:1,4;b:1,2")

    assert code_of(caught) == "E10022"


def test_output_that_cannot_be_written(save: Save, tmp_path: Path) -> None:
    """A directory that cannot be made is refused by name; nothing is left behind (C130)."""
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(OutputNotWritable, match="cannot be written") as caught:
        convert(two_inputs(save), tmp_path / "file" / "net", input_shape="a:1,4;b:1,2")

    assert code_of(caught) == "E10001"


def test_failed_conversion_leaves_an_older_file_whole(save: Save, tmp_path: Path) -> None:
    """A conversion that fails leaves what was at its output path before."""
    (tmp_path / "net.om").write_bytes(b"older")

    with pytest.raises(InvalidOption):
        convert(two_inputs(save), tmp_path / "net", input_shape="a:1,4")

    assert (tmp_path / "net.om").read_bytes() == b"older"


def external(path: Path, location: str, data: bytes | None, target: Path | None = None) -> Path:
    """Save a model whose weight [16, 16] lies in a file of its own."""
    tensor = TensorProto(name="w", data_type=F, dims=[16, 16], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", "8"), ("length", "1024")):
        tensor.external_data.add(key=key, value=value)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", F, [1, 16])],
        [helper.make_tensor_value_info("y", F, [1, 16])],
        [tensor],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    (path / "net.onnx").write_bytes(model.SerializeToString())
    if data is not None:
        (target or path / location).write_bytes(data)
    return path / "net.onnx"


def test_external_data_is_embedded(tmp_path: Path, run_om: Run) -> None:
    """Weights beside the model are put into the .om, which then needs no other file."""
    weight = RNG.standard_normal((16, 16)).astype(np.float32)
    source = external(tmp_path, "net.data", b"12345678" + weight.tobytes())
    x = np.ones((1, 16), np.float32)

    path = convert(source, tmp_path / "o")
    (tmp_path / "net.data").unlink()

    np.testing.assert_allclose(run_om(path, x)[0], x @ weight, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("location", "data", "words"),
    [
        ("net.data", None, "net.data: No such file"),
        ("net.data", b"12345678 short", "1024 bytes at 8.*14 bytes"),
        ("../outside.data", bytes(2000), "outside the model's folder"),
        ("/etc/hostname", None, "outside the model's folder"),
        ("", None, "outside the model's folder"),
    ],
)
def test_external_data_that_cannot_be_read(tmp_path: Path, location: str, data: bytes | None, words: str) -> None:
    """Missing or short data, and data outside the model's folder, is refused with the tensor's name."""
    (tmp_path / "model").mkdir()
    source = external(tmp_path / "model", location, data)

    with pytest.raises(ModelUnreadable, match=f"'w'.*{words}"):
        convert(source, tmp_path / "o")


def test_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    """A symbolic link beside the model that leads outside is refused like a path outside."""
    (tmp_path / "model").mkdir()
    (tmp_path / "secret").write_bytes(bytes(2000))
    (tmp_path / "model" / "net.data").symlink_to(tmp_path / "secret")

    with pytest.raises(ModelUnreadable, match="outside the model's folder"):
        convert(external(tmp_path / "model", "net.data", None), tmp_path / "o")


def test_hardware_options_are_recorded(save: Save, read: Read) -> None:
    """Options that steer hardware only are recorded in the file, and the arithmetic stays float32 (C127)."""
    source = save([helper.make_node("Mul", ["x", "k"], ["y"])], [("x", F, [1])], [("y", F, [1])], {"k": np.array([2], np.float32)})  # fmt: skip

    path = convert(
        source, source.with_name("o"), options={"precision_mode": "force_fp16", "buffer_optimize": "off_optimize"}
    )

    package = read(path)
    assert package.options["precision_mode"] == "force_fp16"
    assert package.options["buffer_optimize"] == "off_optimize"
    assert package.signature.outputs[0].dtype is DataType.FLOAT


def test_scalar_output_is_a_scalar(save: Save, read: Read) -> None:
    """A scalar output, which ONNX Runtime shows like an unknown rank, has no dims and its true size."""
    source = save([helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0)], [("x", F, [4])], [("y", F, None)])

    output = read(convert(source, source.with_name("o"))).signature.outputs[0]

    assert (output.shape, output.nbytes) == ((), 4)
