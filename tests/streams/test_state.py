"""The numbers of a command's states."""

from __future__ import annotations

from aacl.streams._state import DONE, DUE, FAILED, NAMES, QUEUED, RUNNING


def test_one_comparison_tells_what_is_over() -> None:
    """Queued and running come before DONE, everything that is over from it on; each number has a name."""
    assert [state >= DONE for state in (QUEUED, RUNNING, DONE, DUE, FAILED)] == [False, False, True, True, True]
    assert [NAMES[state] for state in (QUEUED, RUNNING, DONE, DUE, FAILED)] == [
        "queued",
        "running",
        "done",
        "done",
        "failed",
    ]
