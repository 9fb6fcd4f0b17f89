"""The life of a command as one table."""

from __future__ import annotations

from aacl.streams._state import DONE, DUE, FAILED, MOVES, NAMES, QUEUED, RUNNING


def test_every_state_has_a_name_and_moves() -> None:
    """The numbers are indices of the names; the table covers each state and leads to states only."""
    states = {QUEUED, RUNNING, DONE, DUE, FAILED}

    assert states == set(range(len(NAMES))) == set(MOVES)
    assert all(targets <= states for targets in MOVES.values())


def test_what_is_over_has_the_higher_numbers() -> None:
    """One comparison tells: that is what done() makes."""
    over = {state for state in MOVES if not MOVES[state] - {DONE}} - {QUEUED, RUNNING}

    assert over == {state for state in MOVES if state >= DONE} == {DONE, DUE, FAILED}


def test_nothing_comes_back() -> None:
    """From no state a way leads back to it."""
    for state in MOVES:
        reached, frontier = set[int](), set(MOVES[state])
        while frontier:
            reached |= frontier
            frontier = {after for each in frontier for after in MOVES[each]} - reached
        assert state not in reached


def test_an_end_is_final() -> None:
    """Done and failed commands move no more."""
    assert MOVES[DONE] == MOVES[FAILED] == set()
