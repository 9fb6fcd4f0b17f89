"""Handles: the numbers that programs hold for objects.

A number is never 0, and never used again in this process, so a handle that was
destroyed, or one of another kind, is told apart from every live one.
"""

from __future__ import annotations

from itertools import count
from operator import index
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from acl._status import INVALID_HANDLE, INVALID_PARAM, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = (
    "Handles",
    "Hooks",
    "Open",
    "clear_handles",
    "count_also",
    "hooks",
    "list_also",
    "open_handles",
    "open_objects",
)

T = TypeVar("T")

_FIRST = 0x10000000
_STEP = 0x10
_numbers = count(_FIRST, _STEP)
_tables: list[Handles[Any]] = []
_counters: dict[str, Callable[[], int]] = {}
_listers: dict[str, Callable[[], Iterable[tuple[int, int | None]]]] = {}


class Hooks:
    """Who wants to know, or None.

    Attributes:
        made: called with the kind and handle of what a program has made.
        swept: called with a kind, and (handle, bytes) of what ends because the program had not ended it.
    """

    __slots__ = ("made", "swept")

    def __init__(self) -> None:
        self.made: Callable[[str, int], None] | None = None
        self.swept: Callable[[str, Iterable[tuple[int, int | None]]], None] | None = None


hooks = Hooks()


class Open(NamedTuple):
    """A live object; its handle is the address for memory, which has a size in bytes."""

    kind: str
    handle: int
    nbytes: int | None


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
        if hooks.made is not None:
            hooks.made(self.kind, handle)
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

    def sweep(self, is_over: Callable[[T], bool]) -> None:
        """Let the handles be dead of the objects that have ended with something else."""
        over = [handle for handle, thing in [*self.objects.items()] if is_over(thing)]
        if over and hooks.swept is not None:
            hooks.swept(self.kind, [(handle, None) for handle in over])
        for handle in over:
            self.objects.pop(handle, None)

    def unknown(self, handle: int) -> Refused:
        """Return the error of a handle that is no live object of this kind."""
        if not handle:
            return Refused(self._null, f"the {self.kind.removesuffix(' handle')} handle is null")
        other = next((table.kind for table in _tables if handle in table.objects), None)
        if other is not None:
            return Refused(self._dead, f"{handle} is the handle of {_one(other)}, not of {_one(self.kind)}")
        return Refused(self._dead, f"{handle} is no live {self.kind}: it was destroyed, or never created")


def _one(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeioAEIO' else 'a'} {kind}"


def count_also(kind: str, counter: Callable[[], int]) -> None:
    """Count something that has no handles under a kind's name."""
    _counters[kind] = counter


def list_also(kind: str, lister: Callable[[], Iterable[tuple[int, int | None]]]) -> None:
    """List (handle, bytes) of what has no handles, or of those objects of a kind that a program must end itself."""
    _listers[kind] = lister


def open_handles() -> dict[str, int]:
    """Return how many objects of each kind are live; a kind that ends in " bytes" is the size of one."""
    counts = {table.kind: len(table.objects) for table in _tables}
    counts |= {kind: counter() for kind, counter in _counters.items()}
    return {kind: number for kind, number in counts.items() if number}


def open_objects() -> list[Open]:
    """Return what `open_handles` counts, one by one, as far as it can be listed."""
    listed = [Open(kind, *each) for kind, lister in _listers.items() for each in lister()]
    return listed + [
        Open(table.kind, handle, None) for table in _tables if table.kind not in _listers for handle in [*table.objects]
    ]


def clear_handles() -> None:
    """Let every handle be dead."""
    for table in _tables:
        if hooks.swept is not None and table.objects and table.kind not in _listers:
            hooks.swept(table.kind, [(handle, None) for handle in table.objects])
        table.objects.clear()
