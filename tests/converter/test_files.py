"""Where the .om file goes, and that it is written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from aacl.converter import (
    ConversionError,
    InvalidOption,
    OutputNotWritable,
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


@pytest.mark.parametrize("name", ["sub/dir/net", "net.om", "net", "net.v1"])
def test_output_path(two_inputs: Path, tmp_path: Path, name: str) -> None:
    """``.om`` is appended once, a missing directory is made, dots in the name stay (C130)."""
    source = two_inputs

    path = convert(source, tmp_path / "o" / name, input_shape="a:1,4;b:1,2")

    assert path == tmp_path / "o" / (name if name.endswith(".om") else f"{name}.om")
    assert path.is_file()
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["", "/", "sub/"])
def test_output_without_a_file_name(two_inputs: Path, tmp_path: Path, name: str) -> None:
    """A directory is no output (C122, C130)."""
    with pytest.raises(InvalidOption) as caught:
        convert(two_inputs, f"{tmp_path}/{name}" if name else "", input_shape="a:1,4;b:1,2")

    assert code_of(caught) == "E10022"


@pytest.mark.parametrize("name", ["n" * 253, "é" * 127, "sub/" * 1024 + "net"])
def test_output_longer_than_a_path(two_inputs: Path, tmp_path: Path, name: str) -> None:
    """A name, or a path, that no file system takes is refused before the model is read."""
    with pytest.raises(InvalidOption, match="a path takes 4095 bytes, and its last part 255") as caught:
        convert(two_inputs, f"{tmp_path}/{name}", input_shape="a:1,4;b:1,2")

    assert code_of(caught) == "E10021"
    assert not (tmp_path / "sub").exists()


@pytest.mark.parametrize("name", ["n" * 252, "n" * 252 + ".om", "\N{GRINNING FACE}" * 63])
def test_output_as_long_as_a_name(two_inputs: Path, tmp_path: Path, name: str) -> None:
    """What file systems take is written."""
    assert convert(two_inputs, tmp_path / name, input_shape="a:1,4;b:1,2").is_file()


def test_output_that_cannot_be_written(two_inputs: Path, tmp_path: Path) -> None:
    """A directory that cannot be made is refused by name; nothing is left behind (C130)."""
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(OutputNotWritable, match="cannot be written") as caught:
        convert(two_inputs, tmp_path / "file" / "net", input_shape="a:1,4;b:1,2")

    assert code_of(caught) == "E10001"


def test_failed_conversion_leaves_an_older_file_whole(two_inputs: Path, tmp_path: Path) -> None:
    """A conversion that fails leaves what was at its output path before."""
    (tmp_path / "net.om").write_bytes(b"older")

    with pytest.raises(InvalidOption):
        convert(two_inputs, tmp_path / "net", input_shape="a:1,4")

    assert (tmp_path / "net.om").read_bytes() == b"older"


def test_failed_move_leaves_no_scratch_file(two_inputs: Path, tmp_path: Path) -> None:
    """Where a directory has the output's name, the output is refused and no scratch file stays."""
    source = two_inputs
    (tmp_path / "net.om").mkdir()

    with pytest.raises(OutputNotWritable):
        convert(source, tmp_path / "net", input_shape="a:1,4;b:1,2")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.om", "net.onnx"]
