"""A short, seeded round of damaged files; `make fuzz` gives 10,000."""

from __future__ import annotations

import pytest

from tests.helpers.fuzz import KINDS, corpus, fuzz, mutated

# A process a kind starts, makes its seeds and runs its cases: 2 to 4 s of an idle core.
pytestmark = pytest.mark.timeout(90)
COUNTS = {"om": 150, "onnx": 100, "aipp": 60, "operators": 80, "configuration": 60}


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_refused_or_taken(kind: str) -> None:
    """No crash, no hang, no other error than AclError, no gibibyte, no file opened outside the case's folder."""
    assert fuzz(kind, COUNTS[kind], "ci") == []


@pytest.mark.parametrize("kind", KINDS)
def test_cases_can_be_made_again(kind: str) -> None:
    """The same number makes the same bytes of the same seeds, and most differ from all of these."""
    seeds, again = corpus(kind), corpus(kind)
    made = [mutated(seeds, f"{kind}:x:{number}") for number in range(50)]

    assert made == [mutated(again, f"{kind}:x:{number}") for number in range(50)]
    assert sum(data not in seeds for data in made) > 40
