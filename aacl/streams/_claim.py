"""The right to run a stream's commands.

A stream has one token, which lies in a one-element deque while nobody runs its
commands. Whoever pops it holds the claim: a submitting thread, a worker that
drains the queue, a host call, an event that the stream waits for, or (for ever)
a closed stream. So the hot path needs one check for all of them.

A lock would be the obvious tool, and would be wrong: an asynchronous exception
(Ctrl-C) that strikes between taking it and the ``try`` leaves it held for ever.
CPython looks for interrupts when a call returns and when a function begins, so
the rules for a thread that may be interrupted are:

- what runs between the pop and the giving back is in a ``try`` that gives back;
- no function is called with the token, or while a variable still has it: whoever
  wants it pops it, and the frames of a traceback outlive the interrupt;
- a worker gets it in a *box*, a list of one; after an interrupt it belongs to
  whoever pops the box;
- an interrupt right behind the pop finds the token nowhere but on the
  interpreter's stack, and it dies there. The queue keeps a reference of its
  own; when that is the only one, the token is put back.
"""

from __future__ import annotations

from collections import deque
from sys import getrefcount

__all__ = ("LOST_BY_ATTRIBUTE", "LOST_BY_VARIABLE", "Box", "Claim", "Token")


class Token:
    """Held by whoever runs the stream's commands."""

    __slots__ = ()


Claim = deque[Token]
Box = list[Token]


class _Keeper:
    """Refers to a token as a queue does."""

    def __init__(self) -> None:
        self.token = Token()


def _references_when_lost() -> tuple[int, int]:
    """Count what a token is referred to by when only its queue does: asked by attribute, and by variable.

    How an attribute, a variable and an argument count differs by version of CPython.
    """
    keeper = _Keeper()
    by_attribute = getrefcount(keeper.token)
    token = keeper.token
    return by_attribute, getrefcount(token)


LOST_BY_ATTRIBUTE, LOST_BY_VARIABLE = _references_when_lost()
