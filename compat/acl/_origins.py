"""Where a program made what it holds, and what ended with something else: noted only while somebody records.

``aacl run --report`` records. Otherwise nothing of this costs more than a test for None.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from acl._handles import Open, hooks, open_objects

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType

__all__ = ("Place", "Swept", "kept", "origins")

T = TypeVar("T")

_NOT_THE_PROGRAM = frozenset({"acl", "aacl", "contextlib", "threading", "concurrent"})
_SPARE = 10_000  # places of what is gone that are kept before one looks


class Place(NamedTuple):
    """A line of the program; an empty file means that no line of it asked, and line 0 of it that nothing was noted."""

    file: str
    line: int


class Swept(NamedTuple):
    """What the runtime ended because the program had not.

    Attributes:
        thing: the object.
        made: where.
        call: the call that ended it, ``acl.finalize`` say.
        place: where that was called.
    """

    thing: Open
    made: Place
    call: str
    place: Place


class Origins:
    """The places of what is live, and what was swept so far."""

    def __init__(self) -> None:
        self.swept: list[Swept] = []
        self._places: dict[tuple[str, int], Place] = {}
        self._most = _SPARE

    def record(self) -> None:
        """Begin to note; what was made before has no place."""
        hooks.made, hooks.swept = self._note, self._sweep
        os.register_at_fork(after_in_child=self._forget)

    def place_of(self, kind: str, handle: int) -> Place:
        """Return where an object was made."""
        return self._places.get((kind, handle), _UNKNOWN)

    def _note(self, kind: str, handle: int) -> None:
        self._places[kind, handle] = _caller()[0]
        if len(self._places) > self._most:
            self._forget_the_dead()

    def _forget_the_dead(self) -> None:
        # The keys first: what another thread makes meanwhile is then not taken for dead.
        keys = [*self._places]
        live = {(thing.kind, thing.handle) for thing in open_objects()}
        for key in keys:
            if key not in live:
                self._places.pop(key, None)
        self._most = 2 * len(self._places) + _SPARE

    def _forget(self) -> None:
        """After a fork: what is open belongs to the parent, and the end of its handles here is no sweep."""
        self._places.clear()
        self.swept.clear()

    def _sweep(self, kind: str, things: Iterable[tuple[int, int | None]]) -> None:
        place, call = _caller()
        self.swept += [
            Swept(Open(kind, handle, nbytes), self._places.pop((kind, handle), _UNKNOWN), call, place)
            for handle, nbytes in things
        ]


_UNKNOWN, _NOBODY = Place("", 0), Place("", 1)
origins = Origins()


def _caller() -> tuple[Place, str]:
    """Return the line of the program that this thread executes, and the call that it made there."""
    frame: FrameType | None = sys._getframe(2)
    call = ""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        room = module.partition(".")[0]
        if room not in _NOT_THE_PROGRAM:
            return Place(frame.f_code.co_filename, frame.f_lineno), call
        if room == "acl" and module != "acl._status":
            call = f"{module.partition('._')[0]}.{frame.f_code.co_name}"
        frame = frame.f_back
    return _NOBODY, call


class _Kept(dict[int, T]):
    """Objects of one kind by number, whose coming is noted."""

    __slots__ = ("_kind",)

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind

    def __setitem__(self, number: int, thing: T) -> None:
        super().__setitem__(number, thing)
        if hooks.made is not None:
            hooks.made(self._kind, number)


def kept(kind: str) -> dict[int, T]:
    """Return an empty dict for live objects of a kind; while somebody records, one that notes what comes into it."""
    return {} if hooks.made is None else _Kept(kind)
