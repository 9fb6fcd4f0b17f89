"""The right to run a stream's commands.

A stream has one token, which lies in a one-element deque while nobody runs its
commands. Whoever pops it holds the claim: a submitting thread, a worker that
drains the queue, a host call, an event that the stream waits for, or (for ever)
a closed stream. So the hot path needs one check for all of them.

A lock would be the obvious tool, and would be wrong: an asynchronous exception
(Ctrl-C) that strikes between taking it and the ``try`` leaves it held for ever.
A token that is lost on the way is found again: the queue keeps a reference of
its own, and when that is the only one, nobody holds the claim.
"""

from __future__ import annotations

from collections import deque

from aacl.streams._state import DONE, DUE

__all__ = ("Claim", "Token")


class Token:
    """Held by whoever runs the stream's commands.

    Attributes:
        spent: estimated nanoseconds run inline since the last step of the budget.
        state: the state of commands that this claim's holder completes inline.
    """

    __slots__ = ("spent", "state")

    def __init__(self) -> None:
        self.spent = 0
        self.state = DONE

    def owe_turn(self) -> None:
        """From now on completions give the event loop a turn when awaited."""
        self.state = DUE

    def paid_turn(self) -> None:
        """The event loop had its turn."""
        self.state = DONE


Claim = deque[Token]
