"""Which test file compares which operator type with a reference, noted while tests run."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

__all__ = ("covered", "note")

covered: defaultdict[str, set[str]] = defaultdict(set)
"""Operator types by the name of the test file that ran them."""


def note(op_type: str) -> None:
    """Note that the test under way ran an operator."""
    current = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0]
    if current:
        covered[Path(current).name].add(op_type)
