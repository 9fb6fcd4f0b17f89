"""Files that are made to do harm: each is refused with an error that says why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import aacl
from aacl.converter import ModelUnreadable, check_model, convert, convert_operators, inspect_om, write_json
from aacl.models import ModelPackage, ModelSignature, TensorSpec
from aacl.models._package import package_pieces
from acl._config import read_config

COUNT = 1024
SECRET = np.full(COUNT, 7, np.float32).tobytes()


def reaching(location: str) -> onnx.ModelProto:
    """Return y = x + w, w being the contents of another file."""
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[COUNT], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", "0"), ("length", str(len(SECRET)))):
        tensor.external_data.add(key=key, value=value)
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [COUNT]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", infos[:1], infos[1:], [tensor])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def packed(graph: bytes) -> bytes:
    """Return an .om file with any bytes as its graph."""
    x, y = (TensorSpec(name, aacl.DataType.FLOAT, (COUNT,)) for name in "xy")
    return b"".join(map(bytes, package_pieces(ModelPackage(ModelSignature("net", (x,), (y,)), (graph,)))))


def load(source: Path | bytes) -> None:
    """Load a model and close it."""
    with aacl.blocking.Device(0):
        aacl.blocking.close(aacl.blocking.open_resource(aacl.Model(source)))


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """Return a file in a folder whose inner folder is the one that files come from."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "secret").write_bytes(SECRET)
    return tmp_path / "secret"


@pytest.mark.parametrize("where", ["absolute", "parent", "link", "zero"])
def test_onnx_files_reach_nothing_outside_their_folder(secret: Path, where: str) -> None:
    """Data of a model is read beside it only, and through no link that leads elsewhere."""
    inner = secret.with_name("inner")
    (inner / "link").symlink_to(secret)
    location = {"absolute": str(secret), "parent": "../secret", "link": "link", "zero": "link\0"}[where]
    (inner / "net.onnx").write_bytes(reaching(location).SerializeToString())

    with pytest.raises(ModelUnreadable, match="outside the model's folder"):
        convert(inner / "net.onnx", inner / "net")
    assert not (inner / "net.om").exists()


@pytest.mark.parametrize("where", ["absolute", "parent", "here"])
def test_om_files_reach_no_file_at_all(secret: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """A graph that names a file is refused, from a path and from bytes, also where the file lies at hand."""
    monkeypatch.chdir(secret.parent if where == "here" else secret.with_name("inner"))
    data = packed(
        reaching({"absolute": str(secret), "parent": "../secret", "here": "secret"}[where]).SerializeToString()
    )
    Path("net.om").write_bytes(data)

    for source in (data, Path("net.om").resolve()):
        with pytest.raises(aacl.ModelDataError, match="ONNX Runtime cannot load the model"):
            load(source)


@pytest.mark.parametrize("field", ["op_type", "domain", "name", "input", "location"])
def test_names_that_are_no_text(tmp_path: Path, field: str) -> None:
    """A name that is not UTF-8 is found before anything is done with it."""
    model = reaching("marker" if field == "location" else "w.bin")
    node = model.graph.node[0]
    if field == "input":
        node.input[0] = model.graph.input[0].name = "marker"
    elif field != "location":
        setattr(node, field, "marker")
    path = tmp_path / "net.onnx"
    path.write_bytes(model.SerializeToString().replace(b"marker", b"m\xffrker"))

    for use in (lambda: convert(path, tmp_path / "net"), lambda: check_model(path, tmp_path / "report.json")):
        with pytest.raises(ModelUnreadable, match="no UTF-8 text"):
            use()


def test_names_of_an_om_that_are_no_text(tmp_path: Path) -> None:
    """The runtime refuses them, and the JSON of the file shows them as well as it can."""
    model = reaching("w.bin")
    del model.graph.initializer[:]
    model.graph.node[0].input[1] = "x"
    model.graph.node[0].name = "marker"
    model.graph.output[0].name = model.graph.node[0].output[0] = "marker"
    (tmp_path / "net.om").write_bytes(packed(model.SerializeToString().replace(b"marker", b"m\xffrker")))

    with pytest.raises(aacl.ModelDataError, match="UTF-8"):
        load(tmp_path / "net.om")
    inspect_om(tmp_path / "net.om")
    assert "m\\ufffdrker" in write_json(tmp_path / "net.om", tmp_path / "net.json").read_text()


@pytest.mark.parametrize(("element", "dims"), [(1, [2000]), (1, [0]), (0, [COUNT]), (1, [1 << 62]), (8, [COUNT])])
def test_constants_whose_bytes_do_not_fit(tmp_path: Path, element: int, dims: list[int]) -> None:
    """A constant's bytes, dims and type that contradict each other are refused by name."""
    model = reaching("x")
    tensor = model.graph.initializer[0]
    tensor.ClearField("data_location")
    del tensor.external_data[:], tensor.dims[:]
    tensor.raw_data, tensor.data_type = SECRET, element
    tensor.dims.extend(dims)

    with pytest.raises(aacl.AclError, match=r"\bw\b"):
        convert(model, tmp_path / "net")


DEEP = {
    "brackets": "[" * 100_000,
    "braces": '{"a":' * 100_000,
    "digits": '{"dump": {"dump_path": ' + "9" * 10_000 + "}}",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=list(DEEP))
@pytest.mark.parametrize("read", [read_config, lambda path: convert_operators(path, f"{path}.d")])
def test_json_that_nests_too_deep(tmp_path: Path, text: str, read: Callable[[str], Any]) -> None:
    """Nesting and numbers without end are refused, not followed."""
    (tmp_path / "file.json").write_text(text)

    with pytest.raises(aacl.AclError, match=r"JSON|levels"):
        read(str(tmp_path / "file.json"))


@pytest.mark.parametrize("dims", [[1 << 40], [1 << 62, 1 << 62], [65536, 65536, 16]])
def test_small_models_that_make_large_values(tmp_path: Path, dims: list[int]) -> None:
    """A few bytes that ask for terabytes are an error of the run, and the process goes on."""
    shape = helper.make_tensor("s", TensorProto.INT64, [len(dims)], dims)
    nodes = [helper.make_node("ConstantOfShape", ["s"], ["big"]), helper.make_node("Add", ["x", "big"], ["y"])]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, dims_) for name, dims_ in (("x", [1]), ("y", None)))
    graph = helper.make_graph(nodes, "g", [x], [y], [shape])

    path = convert(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "net")
    with aacl.blocking.Device(0), aacl.blocking.Stream() as stream:
        model = aacl.blocking.open_resource(aacl.Model(path))
        source = stream.to_device(np.ones(1, np.float32))
        with pytest.raises(aacl.AclError):
            stream.execute(model(source))
