"""A thread that reports the callbacks of streams, for the length of a block."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, final

from aacl.compat_tools._calls import check, release
from aacl.compat_tools._held import Held, current_context, owner_of_context

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("acl_report_thread",)

_LOOK = 100
"""Milliseconds between looks at whether to stop."""


@final
class acl_report_thread(Held[int]):  # noqa: N801
    """Report the callbacks of streams in a block: ``with acl_report_thread(stream) as thread:`` gives the thread.

    Leaving the block waits for the streams' work, so that every callback has run, ends the subscriptions and the
    thread. So this block stands inside that of its streams.

    Args:
        *streams: their handles; 0 is the current context's default one.

    Raises:
        AclError: as `acl_device`; also for work that failed and that nobody had synchronised.
    """

    def __init__(self, *streams: int) -> None:
        super().__init__()
        self._streams, self._thread, self._stop = streams, 0, False
        self._subscribed: list[int] = []

    def _make(self, acl: Any) -> int:
        self._context = current_context()
        self._thread = check(acl.util.start_thread(self._report, [acl]), "acl.util.start_thread")
        for stream in self._streams:
            check(acl.rt.subscribe_report(self._thread, stream), "acl.rt.subscribe_report")
            self._subscribed.append(stream)
        return self._thread

    def _report(self, arguments: list[Any]) -> None:
        rt = arguments[0].rt
        rt.set_context(self._context)
        while not self._stop:
            rt.process_report(_LOOK)

    def _find_owner(self) -> Held[Any] | None:
        return owner_of_context()

    def _steps(self, acl: Any) -> list[Callable[[], object]]:
        if not self._thread:
            return []
        return [
            *[partial(_wait, acl, stream) for stream in self._subscribed],
            *[partial(self._unsubscribe, acl, stream) for stream in self._subscribed],
            self._stop_reporting,
            lambda: release(acl.util.stop_thread(self._thread), "acl.util.stop_thread"),
        ]

    def _unsubscribe(self, acl: Any, stream: int) -> None:
        release(acl.rt.unsubscribe_report(self._thread, stream), "acl.rt.unsubscribe_report")

    def _stop_reporting(self) -> None:
        self._stop = True


def _wait(acl: Any, stream: int) -> None:
    release(acl.rt.synchronize_stream(stream), "acl.rt.synchronize_stream")
