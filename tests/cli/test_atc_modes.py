"""The atc command beyond a plain conversion: other modes, warnings, TensorFlow, and the progress bar."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from onnx import TensorProto, helper

from aacl.cli._progress import ConversionProgress
from aacl.cli.atc import main
from aacl.models._package import ModelPackage, read_package

START = "ATC start working now, please wait for a moment."
SUCCESS = "ATC run success, welcome to the next use."
Output = pytest.CaptureFixture[str]


@pytest.fixture
def net(tmp_path: Path) -> Path:
    """Return the path of y = x + x, x float32 [n, 4]."""
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["y"], name="plus")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path = tmp_path / "net.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def convert(net: Path, *options: str) -> int:
    return main(
        [f"--model={net}", "--framework=5", f"--output={net.with_name('o')}", "--soc_version=Ascend310P3", *options]
    )


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        (["--input_shape=x:-1,4", "--dynamic_batch_size=1,2,4"], "dynamic_batch_size"),
        (["--input_shape=-1,4", "--dynamic_dims=1;2", "--input_format", "ND"], "dynamic_dims"),
        (["--input_shape=x:1~8,4"], None),
        (["--input_shape_range=x:[1~8,4]", "--precision_mode_v2=fp16", "--input_fp16_nodes=x"], None),
    ],
)
def test_gears_and_ranges(net: Path, options: list[str], kind: str | None, capsys: Output) -> None:
    """Gears and ranges are converted from the command line as people type them."""
    assert convert(net, *options) == 0
    assert capsys.readouterr().out == f"{START}\n{SUCCESS}\n"
    package = read_package(net.with_name("o.om").read_bytes())
    assert isinstance(package, ModelPackage)
    gears = package.signature.gears
    assert (None if gears is None else gears.kind.value) == kind
    assert package.signature.inputs[0].shape == (-1, 4)


def test_warnings_follow_the_success_line(net: Path, capsys: Output) -> None:
    """A model with ranges for a product without them succeeds; the warning stands after the success line."""
    assert convert(net, "--input_shape=x:-1,4", "--soc_version=Ascend310") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [START, SUCCESS]
    assert lines[2].startswith("WARNING: models with ranges of shapes are not supported on")
    assert len(lines) == 3


def test_information_is_displayed(net: Path, capsys: Output) -> None:
    """--display_model_info prints the block before the success line, and mode 6 prints the same."""
    assert convert(net, "--input_shape=x:1,4", "--display_model_info=1") == 0
    first = capsys.readouterr().out

    assert main(["--mode=6", f"--om={net.with_name('o.om')}"]) == 0
    assert capsys.readouterr().out == first
    lines = first.splitlines()
    assert (lines[1], lines[-2]) == (
        "============ Display Model Info start ============", "============ Display Model Info end   ============",
    )  # fmt: skip
    assert "--input_shape=x:1,4" in lines[2]


def test_graph_as_json(net: Path, capsys: Output) -> None:
    """Mode 1 writes an .om file's graph, or with --framework=5 an ONNX model's."""
    assert convert(net, "--input_shape=x:1,4") == 0
    target = net.with_suffix(".json")

    for source, more in ((net.with_name("o.om"), []), (net, ["--framework=5"])):
        assert main(["--mode=1", f"--om={source}", f"--json={target}", *more]) == 0
        assert [op["type"] for op in json.loads(target.read_text())["graph"][0]["op"]] == ["Data", "Add", "NetOutput"]
        target.unlink()
    assert main(["--mode=1", f"--om={net}", f"--json={target}"]) == 255
    assert "E10041: " in capsys.readouterr().out
    assert main(["--mode=1", f"--om={net}", f"--json={target}", "--framework=0"]) == 255


def test_check_only(net: Path, tmp_path: Path, capsys: Output) -> None:
    """Mode 3 writes the report and converts nothing; a model with an unknown operator fails."""
    report = tmp_path / "report.json"
    assert main(["--mode=3", f"--model={net}", "--framework=5", f"--check_report={report}"]) == 0
    assert [op["result"] for op in json.loads(report.read_text())["op"]] == ["success"]

    net.write_bytes(net.read_bytes().replace(b"Add", b"Odd"))
    assert main(["--mode=3", f"--model={net}", "--framework=5", f"--check_report={report}"]) == 255
    assert "E16002: 1 nodes cannot be converted" in capsys.readouterr().out
    assert [op["result"] for op in json.loads(report.read_text())["op"]] == ["failed"]
    assert list(tmp_path.glob("*.om")) == []


@pytest.mark.parametrize(("framework", "words"), [("0", "Caffe"), ("1", "MindSpore"), ("3", "TensorFlow")])
def test_other_frameworks(net: Path, framework: str, words: str, capsys: Output) -> None:
    """Caffe and MindSpore are refused by name; TensorFlow says what to install where it is not."""
    assert convert(net, f"--framework={framework}") == 255
    out = capsys.readouterr().out
    assert "E10055: " in out
    assert words in out


def test_bar_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal a bar names the step once the conversion takes long, and goes; in a pipe there is none."""
    program = (
        "import aacl.cli._progress as p; p._PATIENCE = 0\n"
        "with p.ConversionProgress() as told:\n"
        "    told('gear 1 of 2', 0.5)\n"
    )
    environment = {**os.environ, "TERM": "xterm"}
    ours, theirs = pty.openpty()
    try:
        subprocess.run([sys.executable, "-c", program], stdout=theirs, stderr=theirs, env=environment, check=True)
        shown = os.read(ours, 65536)
    finally:
        os.close(ours)
        os.close(theirs)
    piped = subprocess.run([sys.executable, "-c", program], capture_output=True, env=environment, check=True)

    assert b"gear 1 of 2" in shown
    assert b" 50%" in shown
    assert (piped.stdout, piped.stderr) == (b"", b"")


def test_bar_needs_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short conversion shows nothing on a terminal either."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    with ConversionProgress() as progress:
        progress("read", 0.0)

    assert progress._bar is None
