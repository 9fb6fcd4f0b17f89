"""Opening and closing, performed: by a task that awaits, or by a thread that blocks.

`Resource` decides what is to be closed in which order; what settling a resource
means it says with something to wait for. Here is the waiting, which nothing
may cut short: a block that is cancelled while it closes drops what is queued,
waits for what runs, closes everything, and only then is cancelled.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from aacl._note import add_note, text_of
from aacl._resource import Resource

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType

    from aacl._current import Current

__all__ = ("AsyncResource", "Waitable", "close_blocking", "shield")


class Waitable(Protocol):
    """Something whose end can be awaited or blocked for."""

    def done(self) -> bool: ...
    def wait(self, timeout: float | None = None, *, block_loop: bool = False) -> bool: ...
    def __await__(self) -> Generator[Any, None, Any]: ...


class AsyncResource(Resource):
    """A resource for ``async with``, or for ``await open()`` and ``await aclose()``."""

    __slots__ = ()

    _current: ClassVar[Current[Any]]

    def _open(self) -> None:
        """Make the resource real; never waits."""
        raise NotImplementedError

    def _check_closable(self) -> None:
        """Raise if closing here would wait for itself."""

    def _settle(self, drop: bool) -> Waitable | None:
        """Begin to end; return what to wait for before the resource can be released."""

    async def open(self) -> Self:
        """Open the resource without making it current, and return it.

        It belongs to what it was made in, which closes it at the latest.

        Raises:
            ClosedResource: it, or its owner, is closed.
        """
        self._open_once()
        return self

    async def aclose(self) -> None:
        """Wait for what is queued, then close the resource and everything in it; harmless when repeated.

        Raises:
            StreamError: work failed and nobody received its error. Everything is closed all the same.
        """
        errors, cancelled = await _close(self, drop=False)
        _report(errors, cancelled, None)

    async def __aenter__(self) -> Self:
        self._open_once()
        self._become_current()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave_current()
        errors, cancelled = await _close(self, drop=error is not None)
        _report(errors, cancelled, error)

    def _open_once(self) -> None:
        self._check_new()
        self._open()

    def _become_current(self) -> None:
        self._current.enter(self)

    def _leave_current(self) -> None:
        self._current.leave(self)


def close_blocking(resource: AsyncResource, error: BaseException | None = None, *, drop: bool = False) -> None:
    """Close a resource on this thread: on ``error``, or to ``drop``, without what is queued; tell on it what else goes wrong."""
    resource._leave_current()
    errors: list[BaseException] = []
    interrupt: BaseException | None = None
    for each in _closable(resource):
        settled = each._settle(drop or error is not None or interrupt is not None)
        while settled is not None and not settled.done():
            try:
                settled.wait(block_loop=True)
            except KeyboardInterrupt as caught:
                if interrupt is not None:
                    raise  # asked twice: the next close goes on from here
                interrupt = caught
                settled = each._settle(True) or settled
        errors += each._finish_close()
    _report(errors, interrupt, error)


async def _close(resource: AsyncResource, drop: bool) -> tuple[list[BaseException], BaseException | None]:
    errors: list[BaseException] = []
    cancelled: BaseException | None = None
    for each in _closable(resource):
        settled = each._settle(drop or cancelled is not None)
        if settled is not None:
            cancelled = await _see_through(each, settled, drop) or cancelled
        errors += each._finish_close()
    return errors, cancelled


async def _see_through(resource: AsyncResource, settled: Waitable, drop: bool) -> BaseException | None:
    """Wait for a resource to settle, whatever is cancelled; return the cancellation that was held up."""
    from asyncio import CancelledError

    cancelled: BaseException | None = None
    shielded = drop
    while not settled.done():
        with shield() if shielded else nullcontext():
            try:
                await settled
            except CancelledError as error:
                cancelled, shielded = error, True
                settled = resource._settle(True) or settled
    return cancelled


def shield() -> AbstractContextManager[Any]:
    """Return a shield against anyio's cancel scopes, which cancel again at every await; none if anyio is not in use."""
    anyio = sys.modules.get("anyio")
    return nullcontext() if anyio is None else anyio.CancelScope(shield=True)


def _closable(resource: AsyncResource) -> list[AsyncResource]:
    """Return what is to be closed, in order; from here on it takes no work."""
    descendants = [each for each in resource._descendants() if isinstance(each, AsyncResource)]
    for each in descendants:
        each._check_closable()
    return [each for each in descendants if each._begin_close()]


def _report(errors: list[BaseException], cancelled: BaseException | None, error: BaseException | None) -> None:
    """Raise what closing ran into, or tell it on the error that ends the block already."""
    if cancelled is not None and cancelled is not error:
        # Also when the body failed: whoever cancels, or presses Ctrl-C, must not find it swallowed.
        _tell(errors, cancelled)
        raise cancelled from error
    if error is not None:
        _tell(errors, error)
    elif errors:
        raise _first(errors)


def _tell(errors: list[BaseException], error: BaseException) -> None:
    for other in errors:
        add_note(error, f"while closing: {type(other).__name__}: {text_of(other)}")


def _first(errors: list[BaseException]) -> BaseException:
    _tell(errors[1:], errors[0])
    return errors[0]
