"""Which device, context and stream are current, task by task.

Entering a block makes its resource current; leaving it restores the nearest
predecessor that is still open, in whichever task the block is left. The
predecessors are a chain of values of their own, for `ContextVar.reset` would
refuse a token of another task.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Generic, TypeVar

from aacl._resource import Resource
from aacl.errors import NotCurrent

__all__ = ("Current",)

R = TypeVar("R", bound=Resource)


class Current(Generic[R]):
    """One kind's current resource."""

    __slots__ = ("_kind", "_variable")

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._variable: ContextVar[_Link[R] | None] = ContextVar(f"aacl_current_{kind}", default=None)

    def enter(self, resource: R) -> None:
        """Make a resource current in this task."""
        self._variable.set(_Link(resource, self._variable.get()))

    def leave(self, resource: R) -> None:
        """Make a resource's nearest open predecessor current, if it is the current one."""
        link = self._variable.get()
        while link is not None and (link.resource is resource or link.resource.closed):
            link = link.previous
        self._variable.set(link)

    def find(self) -> R | None:
        """Return the current resource, if one is current and open."""
        link = self._variable.get()
        while link is not None and link.resource.closed:
            link = link.previous
        return None if link is None else link.resource

    def get(self) -> R:
        """Return the current resource.

        Raises:
            NotCurrent: no open one was entered in this task or its callers.
        """
        found = self.find()
        if found is None:
            raise NotCurrent(f"no {self._kind} is current; enter one with 'async with aacl.{self._kind.title()}(...)'")
        return found


class _Link(Generic[R]):
    """A resource that was entered, and what was current before."""

    __slots__ = ("previous", "resource")

    def __init__(self, resource: R, previous: _Link[R] | None) -> None:
        self.resource, self.previous = resource, previous
