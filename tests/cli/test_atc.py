"""The atc command: what it prints, its exit status, and that it works as a program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from aacl.backends.cpu.models import load_model
from aacl.cli.atc import main
from aacl.models._package import ModelPackage, read_package

START = "ATC start working now, please wait for a moment."
SUCCESS = "ATC run success, welcome to the next use."
FAILED = "ATC run failed, Please check the detail log, Try 'atc --help' for more information"
ATC = [sys.executable, "-c", "import sys; from aacl.cli.atc import main; sys.exit(main())"]


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


def test_program_converts_a_model(net: Path, tmp_path: Path) -> None:
    """As a program, from another folder: the two lines on stdout, status 0, and a file that runs."""
    run = subprocess.run(
        [*ATC, f"--model={net}", "--framework=5", "--output", "made/net", "--input_shape=x:2,4", "--soc_version=Ascend310P3"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (run.returncode, run.stdout, run.stderr) == (0, f"{START}\n{SUCCESS}\n", "")
    package = read_package((tmp_path / "made" / "net.om").read_bytes())
    assert isinstance(package, ModelPackage)
    x, y = np.ones((2, 4), np.float32), np.zeros((2, 4), np.float32)
    load_model(package.graph[0]).bind([x], [y])()
    np.testing.assert_array_equal(y, x + x)


def test_program_fails_with_a_report(net: Path, tmp_path: Path) -> None:
    """As a program: the failure line, the report with its code, status 255, no traceback and no file."""
    run = subprocess.run(
        [*ATC, f"--model={net}", "--framework=5", f"--output={tmp_path}/o", "--input_shape=wrong:2,4", "--soc_version=A"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    lines = run.stdout.splitlines()
    assert (run.returncode, run.stderr) == (255, "")
    assert lines[:2] == [START, FAILED]
    assert lines[2].startswith("E10016: ")
    assert "'x'" in lines[2]
    assert lines[3].lstrip().startswith("Solution: ")
    assert not (tmp_path / "o.om").exists()


def test_unknown_soc_is_told(net: Path, tmp_path: Path) -> None:
    """A SoC name that no product has is recorded, and told behind the line of success."""
    run = subprocess.run(
        [*ATC, f"--model={net}", "--framework=5", f"--output={tmp_path}/o", "--input_shape=x:2,4", "--soc_version=Ascend9"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith(f"{START}\n{SUCCESS}\nWARNING: --soc_version='Ascend9' is no SoC")


def test_reader_that_leaves_is_no_fault() -> None:
    """Who reads the output may stop: nothing is printed about it."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        run = subprocess.run([*ATC, "--help"], stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(writing)

    assert (run.returncode, run.stderr) == (255, "")


def test_too_little_memory_is_reported(
    net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model or a file that memory does not hold ends in a report, not in a traceback."""

    def fails(*_arguments: object, **_options: object) -> Path:
        raise MemoryError

    monkeypatch.setattr("aacl.converter.convert", fails)

    assert main([f"--model={net}", "--framework=5", f"--output={tmp_path}/o", "--soc_version=A"]) == 255
    assert capsys.readouterr().out.splitlines()[1:] == [
        FAILED,
        "E19999: Inner Error! there is not enough memory for this model or file",
    ]


def test_help_imports_nothing_heavy() -> None:
    """--help prints the usage with status 0 and without importing onnx or ONNX Runtime."""
    script = (
        "import sys; from aacl.cli.atc import main; status = main(['--help']); "
        "print([name for name in ('onnx', 'onnxruntime', 'asyncio') if name in sys.modules], status)"
    )

    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert run.stdout.startswith("usage: atc --model=")
    assert run.stdout.endswith("\n[] 0\n")


def test_single_operators(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--singleop writes one file an operator into the directory --output."""
    desc = {"format": "ND", "shape": [8, 16], "type": "int32"}
    source = tmp_path / "add.json"
    source.write_text(json.dumps([{"op": "Add", "input_desc": [desc, desc], "output_desc": [desc]}]))

    status = main([f"--singleop={source}", f"--output={tmp_path}/models", "--soc_version=Ascend310P3"])

    assert status == 0
    assert SUCCESS in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["0_Add_3_2_8_16_3_2_8_16_3_2_8_16.om"]


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("[{", "E10025", ("no JSON",)),
        ('[{"op": "Add"}, {"name": "x"}]', "E10026", ("operator 1", '"op"')),
        ('[{"op": "Add", "input_desc": [{"format": "ND", "shape": [1]}]}]', "E10027", ("operator 0", '"type"')),
    ],
)
def test_broken_operator_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, code: str, words: tuple[str, ...]
) -> None:
    """A file that cannot be used is a failing run: status 255, and a report with code, file, operator and key."""
    source = tmp_path / "broken.json"
    source.write_text(text)

    status = main([f"--singleop={source}", f"--output={tmp_path}/models", "--soc_version=Ascend310P3"])

    out = capsys.readouterr().out
    assert status == 255
    assert "ATC run failed, Please check the detail log, Try 'atc --help' for more information" in out
    assert all(word in out for word in (f"{code}: ", str(source), *words))
    assert SUCCESS not in out


@pytest.mark.parametrize("flag", ["--help", "-help", "--h", "-h"])
def test_help_spellings(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every spelling of help works, whatever else is given."""
    assert main(["--model=x", flag]) == 0
    assert "--soc_version" in capsys.readouterr().out


def test_unknown_option(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown option gives gflags' line on stderr and a failing status, before anything starts."""
    assert main(["--soc_verison=Ascend310P3"]) == 255
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("ERROR: unknown command line flag 'soc_verison'")


@pytest.mark.parametrize(
    ("left_out", "code"),
    [("model", "E10004"), ("framework", "E10007"), ("output", "E10004"), ("soc_version", "E10054")],
)
def test_missing_options(net: Path, left_out: str, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each required option that is missing is named, with its code (C122)."""
    options = {"model": net, "framework": 5, "output": net.with_name("o"), "soc_version": "Ascend310P3"}

    status = main([f"--{name}={value}" for name, value in options.items() if name != left_out])

    out = capsys.readouterr().out
    assert status == 255
    assert f"{code}: --{left_out} is missing" in out


@pytest.mark.parametrize(
    ("option", "code"),
    [
        ("--soc_version=", "E10004"),
        ("--framework=3", "E10055"),
        ("--output=made/", "E10022"),
        ("--precision_mode_v2=fp16", "E10056"),
        ("--dynamic_batch_size=1,2", "E10031"),
        ("--dynamic_batch_size=", "E10004"),
        ("--external_weight=1", "E10055"),
        ("--mode=5", "E10055"),
        ("--mode=6", "E10004"),
        ("--mode=1", "E10004"),
    ],
)
def test_wrong_options(net: Path, option: str, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each wrong option gives its code, status 255 and no file (C122)."""
    arguments = [f"--model={net}", "--framework=5", f"--output={net.with_name('o')}", "--soc_version=Ascend310P3",
                 "--input_shape=x:1,4", "--precision_mode=force_fp16"]  # fmt: skip

    assert main([*arguments, option]) == 255
    assert f"\n{code}: " in capsys.readouterr().out
    assert not net.with_name("o.om").exists()


def test_every_choice_of_the_table_reaches_the_converter(net: Path) -> None:
    """Options that are acted on do so from the command line: outputs, their types and the layout."""
    status = main([f"--model={net}", "--framework=5", f"--output={net.with_name('o.om')}", "--soc_version=Ascend310P3",
                   "--input_shape=x:1,4", "--out_nodes=plus:0", "--output_type=FP16", "--input_format=ND"])  # fmt: skip

    package = read_package(net.with_name("o.om").read_bytes())
    assert status == 0
    assert isinstance(package, ModelPackage)
    assert [(spec.name, spec.dtype.name) for spec in package.signature.outputs] == [("plus:0:y", "FLOAT16")]
    assert package.options["input_format"] == "ND"
