"""Large constants and external data."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from aacl.converter import (
    ModelUnreadable,
    convert,
)
from aacl.models._package import ModelPackage

F = TensorProto.FLOAT
Save = Callable[..., Path]
Read = Callable[[Path], ModelPackage]
Run = Callable[..., list[Any]]
RNG = np.random.default_rng(3)


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


def test_pipe_beside_the_model_is_not_opened(tmp_path: Path) -> None:
    """A named pipe holds no external data: it is refused at once, with nobody at its other end."""
    os.mkfifo(tmp_path / "net.data")

    with pytest.raises(ModelUnreadable, match=r"'w'.*net\.data: it is no regular file"):
        convert(external(tmp_path, "net.data", None), tmp_path / "o")


def test_loop_of_links_beside_the_model(tmp_path: Path) -> None:
    """A symbolic link that leads to itself is refused like any file that cannot be read."""
    (tmp_path / "net.data").symlink_to("net.data")

    with pytest.raises(ModelUnreadable, match=r"'w' cannot be read: net\.data"):
        convert(external(tmp_path, "net.data", None), tmp_path / "o")


def test_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    """A symbolic link beside the model that leads outside is refused like a path outside."""
    (tmp_path / "model").mkdir()
    (tmp_path / "secret").write_bytes(bytes(2000))
    (tmp_path / "model" / "net.data").symlink_to(tmp_path / "secret")

    with pytest.raises(ModelUnreadable, match="outside the model's folder"):
        convert(external(tmp_path / "model", "net.data", None), tmp_path / "o")


@pytest.mark.parametrize("shape", [(300,), (7, 43), (256, 256)])
def test_constants_stay_aligned(save: Save, read: Read, shape: tuple[int, ...]) -> None:
    """Every large constant begins at a multiple of 16 bytes of the file, so that it is used where it lies."""
    weights = {f"w{n}": np.full(shape, n, np.float32) for n in range(1, 4)}
    nodes = [helper.make_node("Sum", ["x", *weights], ["y"])]
    path = convert(
        source := save(nodes, [("x", F, list(shape))], [("y", F, list(shape))], weights), source.with_name("o")
    )
    data = path.read_bytes()

    assert [data.index(value.tobytes()) % 16 for value in weights.values()] == [0, 0, 0]


def test_constants_that_nothing_reads_are_dropped(save: Save, read: Read, run_om: Run) -> None:
    """A large constant without a reader is left out; one that only a branch of If reads stays."""
    branch = helper.make_graph(
        [helper.make_node("Add", ["x", "inner"], ["sum"])], "b", [], [helper.make_tensor_value_info("sum", F, [999])]
    )
    other = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["minus"])], "b", [], [helper.make_tensor_value_info("minus", F, [999])]
    )
    source = save(
        [helper.make_node("If", ["flag"], ["y"], then_branch=branch, else_branch=other)],
        [("x", F, [999]), ("flag", TensorProto.BOOL, [])],
        [("y", F, [999])],
        {"inner": np.full(999, 2, np.float32), "unread": np.zeros(999, np.float32)},
    )
    path, x = convert(source, source.with_name("o")), np.arange(999, dtype=np.float32)

    assert read(path).signature.weight_nbytes < 2 * 999 * 4
    np.testing.assert_array_equal(run_om(path, x, np.array(True))[0], x + 2)
