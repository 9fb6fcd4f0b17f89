"""What was measured, beside what is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import attrs

if TYPE_CHECKING:
    from benchmarks._harness import Spread

__all__ = ("TIMES", "Result", "Status", "at_least", "at_most", "compared", "failed", "missing")

TIMES = "\N{MULTIPLICATION SIGN}"
"""The unit of ratios."""

Status = Literal["met", "missed", "machine", "missing", "compared"]


@attrs.frozen
class Result:
    """One line of the table.

    Attributes:
        name: what was measured.
        unit: of the value, the limit and the ceiling.
        spread: the value and its quartiles; None if it could not be measured.
        limit: what is asked; None where a figure is given for comparison only.
        is_floor: whether the limit is a least, not a most.
        detail: the figures behind the value, or why there is none.
        ceiling: the same measured without this project: what the machine gives at best.
        is_broken: whether the measurement itself failed.
    """

    name: str
    unit: str
    spread: Spread | None
    limit: float | None = None
    is_floor: bool = False
    detail: str = ""
    ceiling: float | None = None
    is_broken: bool = False

    @property
    def status(self) -> Status:
        """Say whether the bar is met; ``machine`` if what the machine itself gives does not meet it either."""
        if self.spread is None:
            return "missed" if self.is_broken else "missing"
        if self.limit is None:
            return "compared"
        if self._meets(self.spread.value):
            return "met"
        return "missed" if self.ceiling is None or self._meets(self.ceiling) else "machine"

    @property
    def asked(self) -> str:
        """The bar in words."""
        if self.limit is None:
            return ""
        return f"{'≥' if self.is_floor else '≤'} {self.limit:g} {self.unit}"

    def as_json(self) -> dict[str, Any]:
        """Return the line for a JSON file."""
        return {**attrs.asdict(self), "status": self.status}

    def _meets(self, value: float) -> bool:
        assert self.limit is not None
        return value >= self.limit if self.is_floor else value <= self.limit


def at_most(
    name: str, spread: Spread, limit: float, unit: str = TIMES, detail: str = "", ceiling: float | None = None
) -> Result:
    """Return a line whose value must not be above the limit."""
    return Result(name, unit, spread, limit, False, detail, ceiling)


def at_least(
    name: str, spread: Spread, limit: float, unit: str = TIMES, detail: str = "", ceiling: float | None = None
) -> Result:
    """Return a line whose value must not be below the limit."""
    return Result(name, unit, spread, limit, True, detail, ceiling)


def compared(name: str, spread: Spread, unit: str = TIMES, detail: str = "") -> Result:
    """Return a line that nothing is asked of."""
    return Result(name, unit, spread, detail=detail)


def missing(name: str, why: str) -> Result:
    """Return a line that could not be measured."""
    return Result(name, "", None, detail=why)


def failed(name: str, why: str) -> Result:
    """Return a line whose measurement failed, which counts as missed."""
    return Result(name, "", None, detail=why, is_broken=True)
