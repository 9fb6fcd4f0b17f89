"""The base of everything that is opened and closed: state, owner, close order, ResourceWarning.

A resource owns the resources made in it. Closing it closes those first, the
youngest first, so leaving a block destroys stream → context → device whatever
was forgotten inside. Closing is told in two halves: `_settle` waits (for queued
work, say) and may be cancelled; `_release` lets go, never waits and always runs.
"""

from __future__ import annotations

import atexit
import enum
import os
import threading
import warnings
from itertools import count
from typing import TYPE_CHECKING, Any, final

from aacl.errors import ClosedResource, InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("Resource", "ResourceState", "open_resources")


class ResourceState(enum.Enum):
    """new → open → closing → closed; nothing goes back."""

    NEW = "new"
    OPEN = "open"
    CLOSING = "closing"
    CLOSED = "closed"


_lock = threading.Lock()
_open: dict[int, Resource] = {}
_numbers: dict[str, count[int]] = {}


class Resource:
    """Something that is open between two moments and belongs to an owner.

    Attributes:
        number: counts the resources of this kind in this process from 1; never used again.
    """

    __slots__ = ("__weakref__", "_children", "_on_close", "_owner", "_state", "number")

    kind = "resource"

    def __init__(self) -> None:
        self._state = ResourceState.NEW
        self._owner: Resource | None = None
        self._children: dict[int, Resource] = {}
        self._on_close: list[Callable[[], object]] = []
        self.number = next(_numbers.setdefault(self.kind, count(1)))

    @property
    def closed(self) -> bool:
        """Whether the resource has been closed."""
        return self._state is ResourceState.CLOSED

    @final
    def on_close(self, callback: Callable[[], object]) -> None:
        """Call ``callback()`` once the resource has been released, last registered first.

        An exception of the callback reaches whoever closes the resource, after everything is closed.

        Raises:
            ClosedResource: it is closed already.
        """
        self._check_not_closed("register a close callback on")
        self._on_close.append(callback)

    def _describe(self) -> str:
        return f"{self.kind} {self.number}"

    def _check_open(self, act: str) -> None:
        if self._state is not ResourceState.OPEN:
            raise ClosedResource(
                f"cannot {act} {self._state.value} {self._describe()}; "
                + (
                    "enter it with 'async with' or call open() first"
                    if self._state is ResourceState.NEW
                    else f"make a new {self.kind}"
                )
            )

    def _check_new(self) -> None:
        if self._state is ResourceState.OPEN:
            raise InvalidArgument(f"{self._describe()} is open already; open another one")
        self._check_not_closed("open")

    def _check_not_closed(self, act: str) -> None:
        if self._state in (ResourceState.CLOSING, ResourceState.CLOSED):
            self._check_open(act)

    def _opened_in(self, owner: Resource | None) -> None:
        """Become open, as the youngest child of ``owner``."""
        with _lock:
            if owner is not None:
                owner._check_open(f"open {self._describe()} in")
                owner._children[id(self)] = self
            self._owner = owner
            self._state = ResourceState.OPEN
            _open[id(self)] = self

    def _descendants(self) -> list[Resource]:
        """This resource and all below it, in the order to close them."""
        with _lock:
            children = list(reversed(self._children.values()))
        return [below for child in children for below in child._descendants()] + [self]

    def _begin_close(self) -> bool:
        """Enter the closing state; False when nothing is left to close. An interrupted close is gone on with."""
        with _lock:
            if self._state is ResourceState.NEW:
                self._state = ResourceState.CLOSED
            elif self._state is ResourceState.OPEN:
                self._state = ResourceState.CLOSING
            return self._state is ResourceState.CLOSING or bool(self._on_close)

    def _finish_close(self) -> list[BaseException]:
        """Release, leave the owner and run the close callbacks; return what they raised.

        Each step may be cut short by an interrupt and is then repeated by the next close, so
        `_release` may run again; a callback is taken out before it is called.
        """
        errors: list[BaseException] = []
        _collect(self._release, errors)
        with _lock:
            self._state = ResourceState.CLOSED
            _open.pop(id(self), None)
            if self._owner is not None:
                self._owner._children.pop(id(self), None)
        while self._on_close:
            _collect(self._on_close.pop(), errors)
        return errors

    def _release(self) -> None:
        """Let go of what the resource holds; never waits, and does nothing the second time."""

    def _forget(self) -> None:
        """Be closed in a child process, which has none of the threads and must not touch what the parent uses."""
        self._state = ResourceState.CLOSED

    def __reduce__(self) -> Any:
        raise TypeError(f"{self._describe()} cannot be pickled; open one in the other process")


def _collect(act: Callable[[], object], errors: list[BaseException]) -> None:
    try:
        act()
    except Exception as error:
        errors.append(error)


def _forget_all() -> None:
    """After a fork: what is open belongs to the parent."""
    global _lock
    _lock = threading.Lock()
    for resource in list(_open.values()):
        resource._forget()
    _open.clear()


os.register_at_fork(after_in_child=_forget_all)


def _warn_of_unclosed() -> None:
    """At the end of the process: say what nobody closed. Until then an open resource is never collected."""
    for resource in list(_open.values()):
        if resource._owner is None:
            warnings.warn(f"unclosed {resource._describe()}", ResourceWarning, source=resource, stacklevel=1)


atexit.register(_warn_of_unclosed)


def open_resources() -> dict[str, int]:
    """Return how many resources of each kind are open in this process."""
    counts: dict[str, int] = {}
    with _lock:
        for resource in _open.values():
            counts[resource.kind] = counts.get(resource.kind, 0) + 1
    return counts
