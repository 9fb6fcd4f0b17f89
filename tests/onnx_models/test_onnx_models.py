"""The ONNX node tests that pass as models, and the page that counts them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.helpers.onnx_models import Case, Outcome, Status, collect, report, run_cases

PAGE = Path(__file__).parents[2] / "docs" / "onnx_models.md"

# Making all the cases takes 10 s of an idle core, and converting and running them 35 s; the first test waits for both.
pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    """Return the outcome of every case through the native face."""
    return run_cases(collect(), faces=["native"])


def _failed(outcomes: list[Outcome]) -> list[str]:
    return [f"{each.name}: {each.reason}" for each in outcomes if each.status is Status.FAILED]


def test_cases_pass_unless_refused(outcomes: list[Outcome]) -> None:
    """Whatever the converter takes gives what the specification asks for, unless ONNX Runtime itself does not."""
    assert _failed(outcomes) == []


def test_at_least_fifteen_hundred_cases_pass(outcomes: list[Outcome]) -> None:
    """The greater part is converted, loaded and comes out right; the rest says why."""
    rest = [outcome for outcome in outcomes if outcome.status is not Status.PASSED]

    assert len(outcomes) - len(rest) >= 1500
    assert all(outcome.reason for outcome in rest)


def test_page_is_true(outcomes: list[Outcome]) -> None:
    """The page in the docs is the one that the outcomes make."""
    assert PAGE.read_text(encoding="utf-8") == report(outcomes), "run `make docs`"


def test_acl_agrees_for_cases_of_every_operator(outcomes: list[Outcome]) -> None:
    """Through `acl.mdl` two cases of each operator that passes natively pass too; `make docs` runs all of them."""
    passed = {outcome.name for outcome in outcomes if outcome.status is Status.PASSED}
    seen: Counter[str] = Counter()
    chosen = [case for case in collect() if case.name in passed and _is_next(case, seen)]

    again = run_cases(chosen, faces=["acl"])

    assert len({outcome.op_type for outcome in again}) > 150
    assert [outcome for outcome in again if outcome.status is not Status.PASSED] == []


def _is_next(case: Case, seen: Counter[str]) -> bool:
    seen[case.op_type] += 1
    return seen[case.op_type] <= 2
