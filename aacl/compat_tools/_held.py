"""What a ``with`` block holds: made on entry, released on exit, after everything that was made in it.

A thing knows its owner: a stream its context, memory its device. Whoever ends
an owner ends what it owns first, the youngest first, so blocks that are left in
the wrong order still release stream → context → device. Releasing is done once;
whoever comes second finds nothing to do.
"""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from aacl.compat_tools._calls import acl_module, forget_failure, note_on
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

__all__ = (
    "Held",
    "current_context",
    "disown",
    "is_initialised",
    "own_context",
    "own_device",
    "owner_of_context",
    "owner_of_device",
    "run_all",
)

T = TypeVar("T")
_lock = threading.RLock()
_NOT_INITIALISED = 100001


class Held(AbstractContextManager[T], Generic[T]):
    """One thing; entered once.

    A subclass makes it in `_make`, and says in `_steps` how to release what there is of it: an interrupt may leave
    `_make` anywhere, and the steps are run then too. Each is run once, whatever the others raise.
    """

    def __init__(self) -> None:
        self._owner: Held[Any] | None = None
        self._children: dict[int, Held[Any]] = {}
        self._state = "new"
        self._left: list[Callable[[], object]] = []  # what is still to be done, the next one last
        self._closing = threading.RLock()
        self._context: int | None = None
        self._outer: int | None = None

    def __enter__(self) -> T:
        if self._state != "new":
            raise InvalidArgument(f"{type(self).__name__} was entered before; make another one")
        self._state = "open"
        try:
            value = self._make(acl_module())
            self._join(self._find_owner())
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return value

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._close()
        except Exception as second:
            if error is None:
                raise
            note_on(error, second)

    def _close(self) -> None:
        """Release what is owned, then the thing itself; the second time there is nothing to do."""
        try:
            self._go_on()
        except Exception:
            raise
        except BaseException:  # an interrupt may have come before a step was taken up
            self._go_on()
            raise

    def _go_on(self) -> None:
        with _lock:
            if self._state == "open":
                steps = [self._enter_context, *self._steps(acl_module()), self._leave_context, self._leave]
                self._left = [*steps[::-1], *[child._close for child in self._children.values()]]
                self._state = "closed"
        with self._closing:  # whoever comes second, in another thread, waits for the first
            run_all(self._left)

    def _enter_context(self) -> None:
        """Make the context current in which it was made; one that ended needs not be."""
        if self._context is None:
            return
        self._outer = current_context()
        if self._outer != self._context and acl_module().rt.set_context(self._context):
            forget_failure()

    def _leave_context(self) -> None:
        """Give the thread the context back that it had, unless it was this thing's own."""
        if self._outer is not None and self._outer != self._context and acl_module().rt.set_context(self._outer):
            forget_failure()

    def _join(self, owner: Held[Any] | None) -> None:
        with _lock:
            self._owner = owner
            if owner is not None:
                owner._children[id(self)] = self

    def _leave(self) -> None:
        with _lock:
            if self._owner is not None:
                self._owner._children.pop(id(self), None)

    def _make(self, acl: Any) -> T:
        raise NotImplementedError

    def _steps(self, acl: Any) -> Sequence[Callable[[], object]]:
        raise NotImplementedError

    def _find_owner(self) -> Held[Any] | None:
        return owner_of_device()


_contexts: dict[int, list[Held[Any]]] = {}
_devices: dict[int, list[Held[Any]]] = {}


def current_context() -> int | None:
    """Return this thread's context, None without one."""
    context, ret = acl_module().rt.get_context()
    if not ret:
        return context or None
    forget_failure()
    return None


def is_initialised() -> bool:
    """Whether the runtime is."""
    _, ret = acl_module().rt.get_context()
    if ret:
        forget_failure()
    return bool(ret != _NOT_INITIALISED)


def owner_of_context() -> Held[Any] | None:
    """Return the block that this thread's context belongs to: its own, or its device's."""
    return _last(_contexts, current_context()) or owner_of_device()


def owner_of_device() -> Held[Any] | None:
    """Return the innermost block of this thread's device."""
    device, ret = acl_module().rt.get_device()
    if not ret:
        return _last(_devices, device)
    forget_failure()
    return None


def _last(owners: dict[int, list[Held[Any]]], key: int | None) -> Held[Any] | None:
    with _lock:
        found = owners.get(key, []) if key is not None else []
        return found[-1] if found else None


def own_context(context: int | None, held: Held[Any]) -> None:
    """Let what is made in a context belong to a block."""
    if context is not None:
        with _lock:
            _contexts.setdefault(context, []).append(held)


def own_device(device: int, held: Held[Any]) -> None:
    """Let what is made on a device belong to a block."""
    with _lock:
        _devices.setdefault(device, []).append(held)


def disown(held: Held[Any]) -> None:
    """Let a block own nothing that is made from now on."""
    with _lock:
        for table in (_contexts, _devices):
            for key in [key for key, owners in table.items() if held in owners]:
                table[key].remove(held)
                if not table[key]:
                    del table[key]


def run_all(left: list[Callable[[], object]]) -> None:
    """Run and remove every step, the last one first, whatever the others raise.

    Raises:
        BaseException: the first error, the others as notes; an interrupt goes before errors.
    """
    first: BaseException | None = None
    while left:
        try:
            while left:
                try:
                    left[-1]()
                finally:  # not before: an interrupt could come in between
                    left.pop()
        except BaseException as error:
            first = _worse(first, error)
    if first is not None:
        raise first


def _worse(first: BaseException | None, error: BaseException) -> BaseException:
    """Return the error to raise, the other one being its note."""
    if first is None:
        return error
    if isinstance(first, Exception) and not isinstance(error, Exception):
        first, error = error, first
    note_on(first, error)
    return first


def _forget() -> None:
    """After a fork: what is open belongs to the parent."""
    global _lock
    _lock = threading.RLock()
    _contexts.clear()
    _devices.clear()


os.register_at_fork(after_in_child=_forget)
