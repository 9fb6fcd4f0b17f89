"""Contexts as programs see them.

A context that ended is marked closed, so that every thread that still has it as
its current one notices at its next call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import aacl
from aacl.errors import InvalidArgument
from acl._handles import Handles, count_also, hooks, list_also
from acl._streams import Stream, drain, forget_stream, refuse_in_callback, streams

if TYPE_CHECKING:
    from collections.abc import Callable

    from acl._devices import OpenDevice

__all__ = ("Context", "at_close", "close_context", "contexts", "forget_context", "let_go")


class Context:
    """A context.

    Attributes:
        device: what it is on.
        context: the native context.
        allocate: the device's `aacl.Device.allocate`.
        blocks: the device's allocations.
        closed: whether it has ended.
        handle: its handle.
        default_stream: what stream 0 means in it.
        parameters: its system parameters, by number.
        streams: its other streams, by handle.
    """

    __slots__ = (
        "allocate",
        "blocks",
        "closed",
        "context",
        "default_stream",
        "device",
        "handle",
        "parameters",
        "streams",
    )

    def __init__(self, device: OpenDevice, context: aacl.Context) -> None:
        self.device, self.context, self.closed = device, context, False
        self.allocate, self.blocks = device.device.allocate, device.blocks
        self.streams: dict[int, Stream] = {}
        self.parameters: dict[int, int] = {}
        self.default_stream = Stream(self)
        self.handle = contexts.add(self)
        device.contexts.append(self)

    @property
    def is_default(self) -> bool:
        """Whether it is the device's shared default context."""
        return self is self.device.default

    def all_streams(self) -> list[Stream]:
        """Return its streams, the default one first."""
        return [self.default_stream, *self.streams.values()]


contexts: Handles[Context] = Handles("context")
_at_close: list[Callable[[], object]] = []


def close_context(context: Context) -> None:
    """Wait for an explicit context's work and end it.

    Raises:
        InvalidArgument: it is a default context.
        StreamError: its work failed and nobody had asked; it is ended nevertheless.
        Refused: a callback of one of its streams asks, and would wait for itself; the context stays. Or another thread
            has ended it meanwhile.
    """
    if context.is_default:
        raise InvalidArgument("the default context of a device cannot be destroyed; it ends with acl.rt.reset_device")
    refuse_in_callback("wait for the end of its own context", lambda stream, _: stream.context is context)
    for stream in context.all_streams():
        drain(stream)
    contexts.take(context.handle)  # other threads may have waited too: one of them ends it
    context.device.contexts.remove(context)
    forget_context(context)
    try:
        aacl.blocking.close(context.context)
    finally:
        let_go()


def forget_context(context: Context) -> None:
    """Let a context and its streams be dead for every thread."""
    if hooks.swept is not None:
        hooks.swept(streams.kind, [(handle, None) for handle in context.streams])
    contexts.objects.pop(context.handle, None)
    context.closed = True
    for stream in context.all_streams():
        forget_stream(stream)
    context.streams.clear()


def at_close(release: Callable[[], object]) -> None:
    """Call ``release()`` whenever a device or an explicit context is closed: to let go of what is bound to it."""
    _at_close.append(release)


def let_go() -> None:
    """Call what was registered with `at_close`."""
    for release in _at_close:
        release()


def _explicit_contexts() -> int:
    return sum(not context.is_default for context in [*contexts.objects.values()])


def _explicit_streams() -> int:
    return sum(len(context.streams) for context in [*contexts.objects.values()])


def _list_contexts() -> list[tuple[int, None]]:
    return [(context.handle, None) for context in [*contexts.objects.values()] if not context.is_default]


def _list_streams() -> list[tuple[int, None]]:
    return [(handle, None) for context in [*contexts.objects.values()] for handle in [*context.streams]]


# What a program must end itself: default contexts and streams end with their device.
count_also(contexts.kind, _explicit_contexts)
count_also(streams.kind, _explicit_streams)
list_also(contexts.kind, _list_contexts)
list_also(streams.kind, _list_streams)
