"""The harness of the node tests: it would notice a wrong answer."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest

import aacl
from aacl.abc import Array
from tests.helpers.onnx_nodes import Case, Status, report, run_case


@pytest.fixture(scope="module")
def stream() -> Iterator[aacl.blocking.Stream]:
    """Return a stream for the cases."""
    with aacl.blocking.Device(0), aacl.blocking.Stream() as opened:
        yield opened


def _case(op_type: str, inputs: tuple[Array, ...], expected: Array, **attributes: object) -> Case:
    return Case("made_up", op_type, 13, dict(attributes), inputs, (True,), (expected,), 1e-3, 1e-7)


def test_right_output_passes_with_its_route(stream: aacl.blocking.Stream) -> None:
    """A case passes when shape, type and values agree, and tells which operators ran."""
    x = np.array([[3, -4]], np.float32)
    outcome = run_case(_case("ReduceL1", (x,), np.array([[7]], np.float32)), stream)

    assert (outcome.status, outcome.route, outcome.reason) == (Status.PASSED, "Abs+ReduceSum", "")


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param(np.array([1, 2.01], np.float32), id="value"),
        pytest.param(np.array([1, np.nan], np.float32), id="nan"),
        pytest.param(np.array([[1, 2]], np.float32), id="shape"),
        pytest.param(np.array([1, 2], np.float64), id="dtype"),
    ],
)
def test_wrong_output_fails_with_its_difference(stream: aacl.blocking.Stream, expected: Array) -> None:
    """Other values, another shape and another type are failures that say what came and what was expected."""
    outcome = run_case(_case("Abs", (np.array([-1, 2], np.float32),), expected), stream)

    assert outcome.status is Status.FAILED
    assert "output 0 is" in outcome.reason
    assert "expected" in outcome.reason


def test_whole_numbers_are_compared_exactly(stream: aacl.blocking.Stream) -> None:
    """One off in a thousand is a failure for integers, though floats have that tolerance."""
    for dtype, status in ((np.int32, Status.FAILED), (np.float32, Status.PASSED)):
        x, expected = np.array([-10000], dtype), np.array([10001], dtype)
        assert run_case(_case("Abs", (x,), expected), stream).status is status


def test_tolerance_follows_the_coarsest_type(stream: aacl.blocking.Stream) -> None:
    """A difference of one unit of bfloat16 is within tolerance there, and a failure in float32."""
    for dtype, status in ((ml_dtypes.bfloat16, Status.PASSED), (np.float32, Status.FAILED)):
        x, expected = np.array([-1], dtype), np.array([1.0078125], dtype)
        assert run_case(_case("Abs", (x,), expected), stream).status is status


def test_type_that_the_prototype_lacks_is_refused(stream: aacl.blocking.Stream) -> None:
    """Nothing runs where the catalogue has no such data type for the operator."""
    x = np.ones(2, np.uint64)
    outcome = run_case(_case("Add", (x, x), x + x), stream)

    assert (outcome.status, outcome.route) == (Status.REFUSED, "")
    assert outcome.reason == "the prototype of Add lists no uint64 for x1"


def test_error_of_the_runtime_is_a_failure(stream: aacl.blocking.Stream) -> None:
    """An error that is not a refusal counts against the operator."""
    x = np.ones((2, 3), np.float32)
    outcome = run_case(_case("Add", (x, np.ones((2, 2), np.float32)), x), stream)

    assert outcome.status is Status.FAILED
    assert outcome.reason.startswith("InvalidArgument")


def test_report_counts_and_names_failures(stream: aacl.blocking.Stream) -> None:
    """The page has the sums, a row an operator, the reasons, and every case that fails."""
    x = np.array([-1, 2], np.float32)
    outcomes = [
        run_case(_case("Abs", (x,), np.abs(x)), stream),
        run_case(_case("Abs", (x,), x), stream),
        run_case(_case("Unique", (x,), x), stream),
    ]
    page = report(7, outcomes)

    assert "| made by the package | 7 |" in page
    assert "| of one node | 3 |" in page
    assert "| **passed** | **1** |" in page
    assert "| Abs | Abs | 2 | 2 | 1 | 0 |" in page
    assert "| Unique | - | 1 | 0 | 0 | 1 |" in page
    assert "| UniqueWithCountsAndSorting does not tell where values occur first | Unique | 1 |" in page
    assert "## Cases that fail" in page
    assert page == report(7, outcomes)
