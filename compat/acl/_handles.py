"""Handles: the numbers that programs hold for objects.

A number is never 0, and never used again in this process, so a handle that was
destroyed, or one of another kind, is told apart from every live one.
"""

from __future__ import annotations

from itertools import count
from operator import index
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from acl._status import INVALID_HANDLE, INVALID_PARAM, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ("Handles", "clear_handles", "count_also", "open_handles")

T = TypeVar("T")

_FIRST = 0x10000000
_STEP = 0x10
_numbers = count(_FIRST, _STEP)
_tables: list[Handles[Any]] = []
_counters: dict[str, Callable[[], int]] = {}


class Handles(Generic[T]):
    """The objects of one kind.

    Attributes:
        kind: what error texts and counts call them.
        objects: the live ones; hot paths look here themselves.
    """

    __slots__ = ("_dead", "_null", "_numbers", "kind", "objects")

    def __init__(
        self,
        kind: str,
        dead: int = INVALID_HANDLE,
        *,
        null: int = INVALID_PARAM,
        numbers: Iterator[int] | None = None,
    ) -> None:
        """Make a table.

        Args:
            kind: of the objects.
            dead: the code for a number that is no live object of this kind.
            null: the code for 0.
            numbers: where numbers come from, if not from the common ones.
        """
        self.kind, self._dead, self._null = kind, dead, null
        self._numbers = _numbers if numbers is None else numbers
        self.objects: dict[int, T] = {}
        _tables.append(self)

    def add(self, thing: T) -> int:
        """Keep an object; return its handle."""
        handle = next(self._numbers)
        self.objects[handle] = thing
        return handle

    def get(self, handle: int) -> T:
        """Return the object of a handle.

        Raises:
            Refused: the handle is null, destroyed, unknown or of another kind.
            TypeError: it is no whole number.
        """
        try:
            return self.objects[index(handle)]
        except KeyError:
            raise self.unknown(handle) from None

    def take(self, handle: int) -> T:
        """Return the object of a handle, which is dead from now on; raises as `get` does."""
        try:
            return self.objects.pop(index(handle))
        except KeyError:
            raise self.unknown(handle) from None

    def replace(self, handle: int, thing: T) -> None:
        """Let a live handle stand for another object; raises as `get` does."""
        self.get(handle)
        self.objects[handle] = thing

    def unknown(self, handle: int) -> Refused:
        """Return the error of a handle that is no live object of this kind."""
        if not handle:
            return Refused(self._null, f"the {self.kind} handle is null")
        other = next((table.kind for table in _tables if handle in table.objects), None)
        if other is not None:
            return Refused(self._dead, f"{handle} is the handle of a {other}, not of a {self.kind}")
        return Refused(self._dead, f"{handle} is no live {self.kind}: it was destroyed, or never created")


def count_also(kind: str, counter: Callable[[], int]) -> None:
    """Count something that has no handles under a kind's name."""
    _counters[kind] = counter


def open_handles() -> dict[str, int]:
    """Return how many objects of each kind are live; a kind that ends in " bytes" is the size of one."""
    counts = {table.kind: len(table.objects) for table in _tables}
    counts |= {kind: counter() for kind, counter in _counters.items()}
    return {kind: number for kind, number in counts.items() if number}


def clear_handles() -> None:
    """Let every handle be dead."""
    for table in _tables:
        table.objects.clear()
