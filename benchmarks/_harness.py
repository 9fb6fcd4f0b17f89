"""Rounds in which every side takes its turn, and what is read out of them.

A shared machine's speed drifts by tens of per cent within seconds, so two sides
are never measured one after the other: each round runs all of them, in an order
that turns, and a ratio is taken within its round. The medians of the rounds'
ratios stand; their quartiles say how far to trust them. Where a difference of a
few microseconds is meant, noise only adds, and the first decile of short rounds
is nearer to the truth than the median.
"""

from __future__ import annotations

import asyncio
import inspect
import statistics
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from itertools import repeat
from time import perf_counter

import attrs

__all__ = ("Samples", "Side", "Spread", "alternate", "first_decile", "percentile", "timed")

Side = Callable[[], float | Awaitable[float]]
"""One measurement: called once a round, gives seconds an item (or whatever the side counts)."""

Steps = Iterable[None]


@attrs.frozen
class Spread:
    """A value with the quartiles of what it is the median of."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the median and the quartiles.

        Raises:
            ValueError: there are no values.
        """
        return cls(percentile(values, 0.5), percentile(values, 0.25), percentile(values, 0.75))


@attrs.frozen
class Samples:
    """What the sides gave, round by round.

    Attributes:
        rounds: for each side its values; values at one index belong to one round.
    """

    rounds: Mapping[str, Sequence[float]]

    def median(self, side: str) -> float:
        """Return the median of one side's rounds."""
        return statistics.median(self.rounds[side])

    def decile(self, side: str) -> float:
        """Return the first decile of one side's rounds."""
        return first_decile(self.rounds[side])

    def ratio(self, side: str, *others: str) -> Spread:
        """Return how many times as long a side took as the fastest of the others in the same round."""
        return Spread.of(
            [mine / min(theirs) for mine, *theirs in zip(*map(self.rounds.__getitem__, (side, *others)), strict=True)]
        )

    def inverse_ratio(self, side: str, *others: str) -> Spread:
        """Return the side's speed as a share of the fastest of the others' in the same round."""
        slower = self.ratio(side, *others)
        return Spread(1 / slower.value, 1 / slower.high, 1 / slower.low)

    def difference(self, side: str, other: str) -> Spread:
        """Return how much longer a side took than another in the same round."""
        pairs = zip(self.rounds[side], self.rounds[other], strict=True)
        return Spread.of([mine - theirs for mine, theirs in pairs])

    def decile_difference(self, side: str, other: str) -> Spread:
        """Return the difference of the two sides' first deciles; the quartiles are of the rounds' differences."""
        least = self.decile(side) - self.decile(other)
        spread = self.difference(side, other)
        return Spread(least, spread.low, spread.high)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which ``share`` of the values lie, between neighbours in proportion.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("cannot take a percentile of no values")
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def first_decile(values: Sequence[float]) -> float:
    """Return the value below which a tenth of the values lie."""
    return percentile(values, 0.1)


async def alternate(sides: Mapping[str, Side], rounds: int, *, warm_up: int = 2, pause: float = 0.0) -> Samples:
    """Run every side once a round.

    Args:
        sides: by name.
        rounds: how many count.
        warm_up: how many come first and do not count.
        pause: seconds before each turn, in which threads that the last one left spinning come to rest.

    Returns:
        What the sides gave.
    """
    names, found = list(sides), {name: [0.0] * rounds for name in sides}
    for number in range(-warm_up, rounds):
        turn = number % len(names)
        for name in (*names[turn:], *names[:turn]):
            if pause:
                await asyncio.sleep(pause)
            value = sides[name]()
            seconds = await value if inspect.isawaitable(value) else value
            if number >= 0:
                found[name][number] = seconds
    return Samples(found)


def timed(count: int) -> Callable[[Callable[[Steps], object]], Side]:
    """Make a side of a function that loops over its argument: seconds a step.

    ::

        @timed(1000)
        def bare(steps):
            for _ in steps:
                np.add(a, b, out=c)
    """

    def wrap(function: Callable[[Steps], object]) -> Side:
        if inspect.iscoroutinefunction(function):

            async def measured() -> float:
                began = perf_counter()
                await function(repeat(None, count))
                return (perf_counter() - began) / count

            return measured

        def measure() -> float:
            began = perf_counter()
            function(repeat(None, count))
            return (perf_counter() - began) / count

        return measure

    return wrap
