"""What is no sound ONNX file is refused with what it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from aacl.converter import (
    ConversionError,
    ModelFileMissing,
    ModelUnreadable,
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
def test_truncated_model_is_refused(conv_net: Save, tmp_path: Path, part: float) -> None:
    """A model cut anywhere raises a ConversionError, and nothing is written."""
    data = conv_net().read_bytes()
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


def test_unsound_graph_is_refused(save: Save) -> None:
    """A node that reads a tensor nobody makes is refused as unsound, with its name."""
    source = save([helper.make_node("Add", ["x", "nobody"], ["y"])], [("x", F, [2])], [("y", F, [2])])

    with pytest.raises(ModelUnreadable, match="nobody"):
        convert(source, source.with_name("o"))
