"""What files say of themselves: information, documents and the pre-check, for our files and compiled ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from onnx import TensorProto, helper

from aacl.converter import (
    ModelFileMissing,
    ModelUnreadable,
    OutputNotWritable,
    check_model,
    convert,
    convert_operators,
    inspect_om,
    write_json,
)
from aacl.models._om import Partition, PartitionType, om_pieces
from aacl.models._package import ModelPackage, package_pieces, read_package
from aacl.models._wire import coded

F = TensorProto.FLOAT
Save = Callable[..., Path]


def field(number: int, value: int | bytes | str) -> bytes:
    """Return one field of a protobuf message."""
    if isinstance(value, int):
        return coded(number << 3) + coded(value % 2**64)
    data = value.encode() if isinstance(value, str) else value
    return coded(number << 3 | 2) + coded(len(data)) + data


def attribute(key: str, value: bytes) -> bytes:
    """Return one entry of a map of attributes."""
    return field(11, field(1, key) + field(2, value))


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    """Return the path of a file like those of the real converter: MODEL_DEF, weights, tasks."""
    desc = field(1, "d") + field(2, 1) + field(3, field(1, coded(1) + coded(3))) + field(4, "NCHW")
    op = (
        field(1, "conv1")
        + field(2, "Conv2D")
        + field(5, "data:0")
        + field(28, coded(512))
        + field(29, coded(1024))
        + field(33, desc)
    )
    model_def = (
        field(1, "resnet")
        + field(7, field(1, "graph") + field(6, op))
        + attribute("soc_version", field(2, "Ascend310P3"))
        + attribute("atc_version", field(2, "7.0"))
        + attribute("atc_cmdline", field(2, "atc --model=resnet.onnx --framework=5"))
        + attribute("framework_type", field(3, 5))
        + attribute("memory_size", field(3, 4096))
        + attribute("weight_size", field(3, 2048))
        + attribute("stream_num", field(3, 2))
        + attribute("om_info_list", field(1, field(3, b"".join(map(coded, (2048, 11, 12, 13, 14))))))
    )
    parts = [Partition(PartitionType.MODEL_DEF, (model_def,)), Partition(PartitionType.WEIGHTS_DATA, (bytes(2048),))]
    path = tmp_path / "real.om"
    path.write_bytes(b"".join(om_pieces([parts], name="resnet")))
    return path


def test_compiled_file(compiled: Path) -> None:
    """A device-compiled file's own facts are shown, in the lines that the real tool prints."""
    facts = inspect_om(compiled)

    sizes = (
        "weight_data_size[2048 B], tbe_kernels_size[11 B], cust_aicpu_kernel_store_size[12 B], task_info_size[13 B], "
        "so_store_size[14 B]"
    )
    assert (facts.name, facts.soc_version, facts.is_compiled, facts.stream_num) == ("resnet", "Ascend310P3", True, 2)
    assert facts.lines() == [
        "============ Display Model Info start ============",
        "Original Atc command line: atc --model=resnet.onnx --framework=5",
        "system   info: atc_version[7.0], soc_version[Ascend310P3], framework_type[5].",
        "resource info: memory_size[4096 B], weight_size[2048 B], stream_num[2], event_num[0].",
        f"om       info: modeldef_size[{facts.modeldef_size} B], {sizes}.",
        "============ Display Model Info end   ============",
    ]
    assert facts.modeldef_size > 200


def test_compiled_file_as_json(compiled: Path, tmp_path: Path) -> None:
    """A compiled file's graph is written as JSON, without the keys that the real tool leaves out."""
    document = json.loads(write_json(compiled, tmp_path / "out" / "real.json").read_text())

    op = document["graph"][0]["op"][0]
    assert op == {
        "name": "conv1", "type": "Conv2D", "input": ["data:0"], "input_i": [512], "output_i": [1024],
        "input_desc": [{"name": "d", "dtype": "DT_FLOAT", "shape": {"dim": [1, 3]}, "layout": "NCHW"}],
    }  # fmt: skip
    keys = {entry["key"]: entry["value"] for entry in document["attr"]}
    assert keys["soc_version"] == {"s": "Ascend310P3"}
    assert {"memory_size", "weight_size"}.isdisjoint(keys)


def test_own_file(two_inputs: Path) -> None:
    """Our file's facts are those of the conversion, inputs and outputs with their shapes."""
    path = convert(two_inputs, two_inputs.with_name("o"), input_shape="-1,4;2,2", soc_version="Ascend310P3")

    facts = inspect_om(path)

    assert (facts.name, facts.soc_version, facts.framework_type) == ("o", "Ascend310P3", 5)
    assert (facts.is_dynamic, facts.is_compiled) == (True, False)
    assert "--input_shape=-1,4;2,2" in facts.command_line
    assert facts.weight_size == facts.weight_data_size > 16
    assert facts.inputs == ("a FLOAT [-1, 4] ND", "b FLOAT [2, 2] ND")
    assert "output   info: Mul_0:0:p FLOAT [-1, 4] ND" in facts.lines()


def test_own_file_as_json(two_inputs: Path, tmp_path: Path) -> None:
    """Our file's graph is written in the same form: Data, Const, operators with their inputs, NetOutput."""
    path = convert(two_inputs, two_inputs.with_name("o"), input_shape="-1,4;2,2")

    document = json.loads(write_json(path, tmp_path / "o.json").read_text())

    ops = {op["name"]: op for op in document["graph"][0]["op"]}
    assert {name: op["type"] for name, op in ops.items()} == {
        "a": "Data", "b": "Data", "w": "Const", "Mul_0": "Mul", "Neg_1": "Neg", "Node_Output": "NetOutput",
    }  # fmt: skip
    assert (ops["Mul_0"]["input"], ops["Node_Output"]["input"]) == (["a:0", "w:0"], ["Mul_0:0", "Neg_1:0"])
    assert ops["a"]["output_desc"] == [{"dtype": "DT_FLOAT", "shape": {"dim": [-1, 4]}}]
    assert {"key": "soc_version", "value": {"s": "Ascend310P3"}} in document["attr"]


def test_large_constants_and_attributes_as_json(save: Save, tmp_path: Path) -> None:
    """Constants show their type and dims alone; attributes of every kind are there."""
    branch = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["r"])], "b", [], [helper.make_tensor_value_info("r", F, [1, 300])]
    )
    nodes = [
        helper.make_node("Add", ["x", "w"], ["a"]),
        helper.make_node("LeakyRelu", ["a"], ["l"], alpha=0.5),
        helper.make_node("Transpose", ["l"], ["t"], perm=[0, 1]),
        helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch),
    ]
    source = save(
        nodes, [("x", F, [1, 300]), ("c", TensorProto.BOOL, [])], [("t", F, None), ("y", F, None)],
        {"w": np.ones((1, 300), np.float32)},
    )  # fmt: skip

    text = write_json(source, tmp_path / "net.json", is_onnx=True).read_text()

    ops = {op["name"]: op for op in json.loads(text)["graph"][0]["op"]}
    assert ops["w"]["output_desc"] == [{"dtype": "DT_FLOAT", "shape": {"dim": [1, 300]}}]
    assert ops["LeakyRelu"]["attr"] == [{"key": "alpha", "value": {"f": 0.5}}]
    assert ops["Transpose"]["attr"] == [{"key": "perm", "value": {"list": {"i": [0, 1]}}}]
    assert ops["If"]["attr"][0]["value"]["g"]["op"][0]["name"] == "Neg"
    assert len(text) < 9000


def test_operator_file(tmp_path: Path) -> None:
    """A single operator's file has facts and a document too."""
    desc = {"format": "ND", "shape": [2], "type": "float"}
    (tmp_path / "ops.json").write_text(
        json.dumps([{"op": "Add", "name": "plus", "input_desc": [desc] * 2, "output_desc": [desc]}])
    )
    (path,) = convert_operators(tmp_path / "ops.json", tmp_path)

    assert (inspect_om(path).name, inspect_om(path).soc_version) == ("plus", "Ascend310P3")
    assert json.loads(write_json(path, tmp_path / "plus.json").read_text())["operator"]["op_type"] == "Add"


@pytest.mark.parametrize("cut", [0, 10, 255, 300, -1])
def test_damaged_files_are_refused(compiled: Path, cut: int) -> None:
    """A file cut anywhere is refused with its name, by both."""
    compiled.write_bytes(compiled.read_bytes()[:cut])

    for read in (inspect_om, lambda path: write_json(path, path.with_suffix(".json"))):
        with pytest.raises(ModelUnreadable, match=r"real\.om"):
            read(compiled)
    assert not compiled.with_suffix(".json").exists()


def test_damaged_model_def_is_refused(tmp_path: Path) -> None:
    """A whole file around a MODEL_DEF that is none is refused by both."""
    (tmp_path / "x.om").write_bytes(b"".join(om_pieces([[Partition(PartitionType.MODEL_DEF, (b"\x0a\xff\xff",))]])))

    for call in (lambda: inspect_om(tmp_path / "x.om"), lambda: write_json(tmp_path / "x.om", tmp_path / "x.json")):
        with pytest.raises(ModelUnreadable, match=r"MODEL_DEF.*damaged"):
            call()


@pytest.mark.parametrize("graph", [b"\x3a\xff\x01", b"\x3a\x04\x0a\x02\xff", b"\x3a\x03\x0a\x01\xff", b"\xff"])
def test_own_file_with_a_damaged_graph(two_inputs: Path, graph: bytes) -> None:
    """A file of ours whose graph is no ONNX model gives no document, and no traceback."""
    package = read_package(convert(two_inputs, two_inputs.with_name("o"), input_shape="1,4;2,2").read_bytes())
    assert isinstance(package, ModelPackage)
    hostile = attrs.evolve(package, graph=(graph,), options={"framework": "five"})
    (path := two_inputs.with_name("hostile.om")).write_bytes(b"".join(package_pieces(hostile)))

    with pytest.raises(ModelUnreadable, match="graph"):
        write_json(path, path.with_suffix(".json"))
    assert inspect_om(path).framework_type == -1


def test_missing_and_unwritable_files(two_inputs: Path, tmp_path: Path) -> None:
    """A missing file, a folder, and a target that cannot be written each have their error."""
    with pytest.raises(ModelFileMissing, match="does not exist"):
        inspect_om(tmp_path / "none.om")
    with pytest.raises(ModelUnreadable, match="cannot be read"):
        inspect_om(tmp_path)
    with pytest.raises(OutputNotWritable, match="cannot be written"):
        write_json(two_inputs, two_inputs / "below" / "a.json", is_onnx=True)


class TestPreCheck:
    """The check without a conversion."""

    def test_finds_every_operator(self, save: Save, tmp_path: Path) -> None:
        """The report has every node with its result; what failed is returned with code and reason."""
        nodes = [
            helper.make_node("Neg", ["x"], ["a"], name="fine"),
            helper.make_node("Mystery", ["a"], ["y"], name="odd"),
        ]
        source = save(nodes, [("x", F, [2])], [("y", F, [2])])

        failed = check_model(source, tmp_path / "report.json")

        wanted: dict[str, Any] = {
            "op_name": "odd", "op_type": "Mystery", "result": "failed", "error_code": "E16002",
            "reason": "ai.onnx::17::Mystery has no implementation",
        }  # fmt: skip
        assert failed == [wanted]
        assert json.loads((tmp_path / "report.json").read_text()) == {
            "model": "net.onnx",
            "op": [{"op_name": "fine", "op_type": "Neg", "result": "success"}, wanted],
        }

    def test_report_that_cannot_be_written(self, two_inputs: Path, tmp_path: Path) -> None:
        """A folder in the report's place is an error with its name."""
        with pytest.raises(OutputNotWritable, match="report"):
            check_model(two_inputs, tmp_path)
