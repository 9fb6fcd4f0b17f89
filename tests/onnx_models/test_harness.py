"""The harness of the node tests: it would notice a wrong answer through either face."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from aacl.abc import Array
from tests.helpers.onnx_models import Case, Outcome, Status, report, run_cases

X = np.array([-1, 2], np.float32)


def _case(op_type: str, expected: Array, *, kind: int = TensorProto.FLOAT) -> Case:
    graph = helper.make_graph(
        [helper.make_node(op_type, ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", kind, [2])],
        [helper.make_tensor_value_info("y", kind, [2])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return Case("made_up", op_type, model, {"x": X}, (expected,), 1e-3, 1e-7)


@pytest.mark.parametrize("face", ["native", "acl"])
def test_right_outputs_pass(face: str) -> None:
    """A case passes when shape, type and values agree."""
    assert run_cases([_case("Abs", np.abs(X))], faces=[face]) == [Outcome("made_up", "Abs", Status.PASSED)]


@pytest.mark.parametrize("face", ["native", "acl"])
@pytest.mark.parametrize(
    "expected",
    [
        pytest.param(np.array([1, 2.01], np.float32), id="value"),
        pytest.param(np.array([1, np.nan], np.float32), id="nan"),
        pytest.param(np.array([[1, 2]], np.float32), id="shape"),
        pytest.param(np.array([1, 2], np.float64), id="dtype"),
    ],
)
def test_wrong_outputs_do_not(face: str, expected: Array) -> None:
    """Other values, another shape, another type: none passes, and ONNX Runtime is found to differ as well."""
    (outcome,) = run_cases([_case("Abs", expected)], faces=[face])

    assert outcome.status is Status.DIFFERS
    assert "ONNX Runtime gives other values" in outcome.reason


def test_what_onnx_runtime_passes_is_our_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong answer of ours counts as failed, with what came and what was expected."""
    monkeypatch.setattr("tests.helpers.onnx_models._outcome.run_by_acl", lambda *_: [X])
    (outcome,) = run_cases([_case("Abs", np.abs(X))])

    assert outcome.status is Status.FAILED
    assert outcome.reason == "acl: output 0 is [-1.  2.], expected [1. 2.]"


def test_refusals_are_told_by_kind() -> None:
    """What the converter does not take is refused, whatever its names are."""
    (outcome,) = run_cases([_case("Identity", X, kind=TensorProto.STRING)])

    assert (outcome.status, outcome.reason) == (Status.REFUSED, "an input or output has strings")


def test_report_counts_and_names() -> None:
    """The page has the sums, the reasons, a row an operator, and every case that fails."""
    outcomes = [
        Outcome("test_a", "Abs", Status.PASSED),
        Outcome("test_b", "Abs", Status.FAILED, "acl: a | b"),
        Outcome("test_c", "Add", Status.REFUSED, "strings"),
        Outcome("test_d", "Add", Status.DIFFERS, "it does"),
    ]
    page = report(outcomes)

    assert "| made by the package | 4 |" in page
    assert "| **passed** | **1** |" in page
    assert "| strings | Add | 1 |" in page
    assert "| test_d | it does |" in page
    assert "| test_b | acl: a \\| b |" in page
    assert "| Abs | 2 | 1 | 0 | 0 | 1 |" in page
    assert page == report(outcomes)
