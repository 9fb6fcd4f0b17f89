"""How much device work runs on the threads that submit it.

Work that is short runs where it is submitted, since handing it to another
thread costs more than the work. Two limits keep an event loop alive: what a
loop's thread has run since the loop's last turn is added up, and

- past `TURN` the next completion, though done, gives the loop one turn when it is awaited;
- past `LIMIT` work is queued for a worker instead.

Adding up is done in steps of `STEP`: between them a command costs one addition.
The command that completes a step is also the one whose time is taken, so short
commands are sampled and long ones are always measured.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

from aacl.streams._state import DONE, DUE

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop


__all__ = ("LIMIT", "LONG", "STEP", "TURN", "Cost", "LoopBudget", "Meter", "running_loop")

LONG = 200_000
"""Nanoseconds above which nothing runs on the thread that submits it."""
STEP = 50_000
TURN = 500_000
LIMIT = 2_000_000

_OVERHEAD = 600  # a command's own cost, beside its kernel's
_SAMPLES = 9
_SAMPLED = 4  # one run in so many is measured, once enough are known
_TRUSTED = 3  # samples before a cost is believed


class Cost:
    """What one kind of command costs: a guess first, then the median of recent runs.

    Attributes:
        estimate: nanoseconds of one run.
        charge: what a run adds to the budget of its thread; a whole step until the cost is known.
    """

    __slots__ = ("_runs", "_samples", "charge", "estimate")

    def __init__(self, estimate: int) -> None:
        self.estimate = estimate
        self.charge = STEP + 1
        self._runs = 0
        self._samples: deque[int] = deque(maxlen=_SAMPLES)

    @classmethod
    def of(cls, nbytes: int, operations: int = 0) -> Cost:
        """Return the first guess for work that moves ``nbytes`` and does ``operations`` beside."""
        return cls(nbytes // 5 + operations // 10)

    def wants_sample(self) -> bool:
        """Return whether the run at hand should be measured: each until enough are known, then a part of them."""
        self._runs += 1
        return len(self._samples) < _SAMPLES or self._runs % _SAMPLED == 0

    def learn(self, elapsed: int) -> None:
        """Take in a measured run; the median, since one preemption must not make short work long."""
        self._samples.append(elapsed)
        self.estimate = sorted(self._samples)[(len(self._samples) - 1) // 2]
        if len(self._samples) >= _TRUSTED:
            self.charge = self.estimate + _OVERHEAD


UNKNOWN = LONG + 1
"""The estimate of work that may take any time: it starts on a worker."""


class LoopBudget:
    """What a loop's thread has run since the loop's last turn."""

    __slots__ = ("_due", "loop", "spent")

    def __init__(self, loop: AbstractEventLoop) -> None:
        self.loop = ref(loop)  # budgets are kept by loop: a strong reference would keep the loop for ever
        self._due: list[Meter] = []
        self.spent = 0

    def charge(self, elapsed: int, meter: Meter) -> None:
        """Add work that ran inline on a stream; past a turn's worth the stream's completions fall due."""
        if not self.spent:
            loop = self.loop()
            if loop is not None:
                loop.call_soon(self._reset)
        self.spent += elapsed
        if self.spent > TURN:
            meter.state = DUE
            self._due.append(meter)

    def _reset(self) -> None:
        """The loop had its turn."""
        self.spent = 0
        for meter in self._due:
            meter.state = DONE
        self._due.clear()


_budgets: WeakKeyDictionary[Any, LoopBudget] = WeakKeyDictionary()


def running_loop() -> AbstractEventLoop | None:
    """Return the loop that runs on this thread, without importing asyncio for it."""
    events = sys.modules.get("asyncio.events")
    return None if events is None else events._get_running_loop()


class Meter:
    """What a stream runs on its submitters' threads; read and written by the holder of its claim.

    Attributes:
        spent: estimated nanoseconds since the last step of the budget.
        state: the state that inline commands are completed with.
    """

    __slots__ = ("_budget", "_is_fair", "spent", "state")

    def __init__(self, is_fair: bool) -> None:
        self._is_fair = is_fair
        self._budget: LoopBudget | None = None
        self.spent = 0
        self.state = DONE

    def charged(self, elapsed: int) -> int:
        """Charge what ran on this thread outside of the queue; return the state to complete it with."""
        budget = self.budget()
        if budget is not None:
            budget.charge(elapsed, self)
            return DUE if budget.spent > TURN else DONE
        return DONE

    def budget(self) -> LoopBudget | None:
        """Return the budget of the loop that runs on this thread, if one does that is owed turns."""
        loop = running_loop()
        if loop is None or not self._is_fair:
            return None
        budget = self._budget
        if budget is None or budget.loop() is not loop:
            budget = _budgets.get(loop)
            if budget is None:
                budget = _budgets[loop] = LoopBudget(loop)
            self._budget = budget
        return budget
