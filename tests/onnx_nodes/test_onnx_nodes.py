"""The ONNX node tests that Ascend operators pass, and the page that counts them."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from tests.helpers.onnx_nodes import Outcome, Status, collect, mapped_types, report, run_cases
from tests.helpers.onnx_nodes._unmapped import UNMAPPED

PAGE = Path(__file__).parents[2] / "docs" / "onnx_nodes.md"

# Making all the cases takes 9 s of an idle core, and running them as long again; the first test waits for both.
pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    """Return the outcome of every case of one node."""
    _, cases = collect()
    return run_cases(cases)


@pytest.fixture(scope="module")
def by_type(outcomes: list[Outcome]) -> dict[str, list[Outcome]]:
    """Return outcomes by ONNX operator."""
    found: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        found[outcome.op_type].append(outcome)
    return found


@pytest.mark.parametrize("onnx_type", mapped_types())
def test_cases_of_an_onnx_operator_pass_unless_refused(onnx_type: str, by_type: dict[str, list[Outcome]]) -> None:
    """Whatever a mapping does not refuse gives what the specification asks for."""
    failed = [f"{each.name} by {each.route}: {each.reason}" for each in by_type[onnx_type] if _is_wrong(each)]

    assert not failed


def _is_wrong(outcome: Outcome) -> bool:
    return outcome.status is Status.FAILED


def test_every_onnx_operator_is_mapped_or_explained(by_type: dict[str, list[Outcome]]) -> None:
    """Each operator with a case of one node has either a mapping or a reason for having none."""
    mapped, unmapped = set(mapped_types()), set(UNMAPPED)

    assert set(by_type) == mapped | unmapped
    assert not mapped & unmapped


def test_at_least_eight_hundred_cases_pass(outcomes: list[Outcome]) -> None:
    """The greater part of the cases runs through Ascend operators and comes out right."""
    assert sum(outcome.status is Status.PASSED for outcome in outcomes) >= 800


def test_refusals_say_why(outcomes: list[Outcome]) -> None:
    """A case that does not run has a reason."""
    refused = [outcome for outcome in outcomes if outcome.status in (Status.REFUSED, Status.UNMAPPED)]

    assert refused
    assert all(outcome.reason for outcome in refused)


def test_page_is_true(outcomes: list[Outcome]) -> None:
    """The page in the docs is the one that the outcomes make."""
    assert PAGE.read_text(encoding="utf-8") == report(collect()[0], outcomes), "run `make docs`"
