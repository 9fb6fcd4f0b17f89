"""Words on the command line that nothing can mean."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from aacl.cli import atc


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--input_shape=x:99999999999999999999,4"], "E10013"),
        (["--input_shape=x:9223372036854775808,4"], "E10013"),
        (["--model=a\0b"], "E10041"),
        (["--output=a\0b"], "E10001"),
    ],
)
def test_what_no_file_or_shape_can_be_is_a_report(
    words: list[str], code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A dim beyond int64 and a zero byte in a path end in a report with a code, not in a traceback."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "g",
        [value("x", TensorProto.FLOAT, ["n", 4])],
        [value("y", TensorProto.FLOAT, ["n", 4])],
    )
    model = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), model)
    usual = [f"--model={model}", "--framework=5", f"--output={tmp_path}/m", "--input_shape=x:2,4", "--soc_version=A"]

    assert atc.main([*usual, *words]) == 255
    assert code in capsys.readouterr().out
    assert not list(tmp_path.glob("*.om"))
