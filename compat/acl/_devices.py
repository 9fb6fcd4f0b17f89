"""Devices, contexts and streams as programs see them: counted, per thread, by handle.

A device is open from the first ``set_device`` or ``create_context`` that names
it to the last ``reset_device``. Its default context is shared by all threads;
each context has a default stream, which is what stream 0 means. Memory belongs
to the device. A context that ended is marked closed, so that every thread that
still has it as its current one notices at its next call.
"""

from __future__ import annotations

import os
import threading
from operator import index
from typing import TYPE_CHECKING

import aacl
from aacl.errors import InvalidDevice, NotCurrent, WrongContext
from acl._handles import Handles, count_also
from acl._state import at_finalize, require_init, state
from acl._status import CONTEXT_NULL, INVALID_PARAM, Refused
from acl._threads import drop_queue, here, is_alive, report_queue

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = (
    "Context",
    "OpenDevice",
    "Stream",
    "at_device_close",
    "close_context",
    "close_stream",
    "contexts",
    "create_context",
    "create_stream",
    "current",
    "devices",
    "is_active",
    "reset_device",
    "set_device",
    "stream_at",
    "streams",
)


class OpenDevice:
    """One open device.

    Attributes:
        device: the native device.
        uses: how many more ``reset_device`` calls it takes to close it.
        default: the context that ``set_device`` makes current.
        contexts: all of its contexts.
        blocks: its allocations, by first address.
        media: which of them only the media calls may free, and the call's name.
    """

    __slots__ = ("blocks", "contexts", "default", "device", "index", "media", "uses")

    def __init__(self, number: int) -> None:
        self.index, self.uses = number, 0
        self.device = aacl.blocking.open_resource(aacl.Device(number))
        self.blocks: dict[int, aacl.Buffer] = {}
        self.media: dict[int, str] = {}
        self.contexts: list[Context] = []
        self.default = Context(self, self.device.default_context)


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
        streams: its other streams, by handle.
    """

    __slots__ = ("allocate", "blocks", "closed", "context", "default_stream", "device", "handle", "streams")

    def __init__(self, device: OpenDevice, context: aacl.Context) -> None:
        self.device, self.context, self.closed = device, context, False
        self.allocate, self.blocks = device.device.allocate, device.blocks
        self.streams: dict[int, Stream] = {}
        self.default_stream = Stream(self)
        self.handle = contexts.add(self)
        device.contexts.append(self)

    @property
    def is_default(self) -> bool:
        """Whether it is the device's shared default context."""
        return self is self.device.default


class Stream:
    """A stream.

    Attributes:
        context: what it belongs to.
        stream: the native stream.
        handle: its handle.
        reporter: the thread that reports its callbacks, or 0.
    """

    __slots__ = ("context", "handle", "reporter", "stream")

    def __init__(self, context: Context) -> None:
        self.context, self.reporter = context, 0
        self.stream = aacl.blocking.open_resource(aacl.Stream(context.context))
        self.handle = streams.add(self)


contexts: Handles[Context] = Handles("context")
streams: Handles[Stream] = Handles("stream")
devices: dict[int, OpenDevice] = {}
"""The open ones, by number."""
_lock = threading.RLock()
_at_close: list[Callable[[], object]] = []
_GLANCE = 0.01
"""Seconds between looks at a stream while this thread reports its calls."""


def current() -> Context:
    """Return this thread's context.

    Raises:
        NotInitialized: the runtime is not.
        NotCurrent: the thread has none, or it was destroyed.
    """
    context: Context | None = here.context
    if context is None or context.closed:
        return _current_by_default()
    return context


def _current_by_default() -> Context:
    require_init()
    default = state.config.default_device
    if default is None:
        raise NotCurrent("this thread has no context; call acl.rt.set_device or acl.rt.set_context in it")
    with _lock:
        known = default in devices
        device = _open(default)
        device.uses += not known
    here.context = device.default
    return device.default


def _open(number: int) -> OpenDevice:
    """Return an open device; the lock is held."""
    device = devices.get(number)
    if device is None:
        device = devices[number] = OpenDevice(number)
    return device


def set_device(number: int) -> None:
    """Use a device once more, and make its default context current."""
    number = index(number)
    require_init()
    with _lock:
        device = _open(number)
        device.uses += 1
    here.context = device.default


def reset_device(number: int, *, at_once: bool = False) -> None:
    """Use a device once less, by ``at_once`` not at all any more; the last one closes it.

    Raises:
        InvalidDevice: there is no such device.
        Refused: it is not in use.
        StreamError: work of it failed and nobody had asked; it is closed nevertheless.
    """
    number = index(number)
    require_init()
    with _lock:
        device = devices.get(number)
        if device is None:
            if not 0 <= number < aacl.device_count():
                raise InvalidDevice(f"there is no device {number}; there are {aacl.device_count()}")
            raise Refused(CONTEXT_NULL, f"device {number} is not in use; it was never set, or was reset before")
        device.uses = 0 if at_once else max(0, device.uses - 1)
        if device.uses:
            return
        del devices[number]
    _close_device(device)


def create_context(number: int) -> Context:
    """Return a new context on a device, which is opened if need be, and make it current."""
    number = index(number)
    require_init()
    with _lock:
        device = _open(number)
        context = Context(device, aacl.blocking.open_resource(aacl.Context(device.device)))
    here.context = context
    return context


def close_context(context: Context) -> None:
    """Wait for an explicit context's work and end it; raises `StreamError` as `reset_device` does."""
    if context.is_default:
        raise Refused(
            INVALID_PARAM, "the default context of a device cannot be destroyed; it ends with acl.rt.reset_device"
        )
    _report_own(context)
    contexts.take(context.handle)
    context.device.contexts.remove(context)
    _forget(context)
    aacl.blocking.close(context.context)


def create_stream() -> Stream:
    """Return a new stream in the current context."""
    stream = Stream(current())
    stream.context.streams[stream.handle] = stream
    return stream


def stream_at(handle: int) -> Stream:
    """Return the stream of a handle, 0 being the default one.

    Raises:
        NotCurrent: this thread has no context.
        WrongContext: the stream belongs to another context.
        Refused: there is no such stream.
    """
    context: Context | None = here.context
    if context is None or context.closed:
        context = current()
    handle = index(handle)
    if not handle:
        return context.default_stream
    stream = streams.objects.get(handle)
    if stream is None:
        raise streams.unknown(handle)
    if stream.context is not context:
        raise WrongContext(f"stream {handle} belongs to another context than the current one of this thread")
    return stream


def close_stream(stream: Stream, *, drop: bool = False) -> None:
    """Wait for a stream's work, or drop what has not started, and end it."""
    if not drop:
        _report_here(stream)
    streams.take(stream.handle)
    stream.context.streams.pop(stream.handle, None)
    _unsubscribe(stream)
    if drop:
        stream.stream.abort_nowait()
        threading.Thread(target=aacl.blocking.close, args=(stream.stream,), kwargs={"drop": True}, daemon=True).start()
    else:
        aacl.blocking.close(stream.stream)


def at_device_close(release: Callable[[], object]) -> None:
    """Call ``release()`` whenever a device is closed: to let go of what is bound to its memory."""
    _at_close.append(release)


def is_active(number: int) -> bool:
    """Whether a device is open."""
    return number in devices


def _forget(context: Context) -> None:
    """Let a context and its streams be dead for every thread."""
    context.closed = True
    for stream in (context.default_stream, *context.streams.values()):
        streams.objects.pop(stream.handle, None)
        _unsubscribe(stream)
    context.streams.clear()


def _report_own(context: Context) -> None:
    for stream in (context.default_stream, *context.streams.values()):
        _report_here(stream)


def _report_here(stream: Stream) -> None:
    """Report a stream's calls while it is waited for, if this very thread is the one to do so."""
    if stream.reporter == threading.get_ident():
        barrier, queue = stream.stream.barrier(), report_queue(stream.reporter)
        while not barrier.done():
            queue.process(_GLANCE)


def _unsubscribe(stream: Stream) -> None:
    """End a subscription; calls that no living thread will report fail now, or the stream would wait for ever."""
    if stream.reporter:
        if is_alive(stream.reporter):
            report_queue(stream.reporter).unsubscribe(stream.handle)
        else:
            drop_queue(stream.reporter)
        stream.reporter = 0


def _close_device(device: OpenDevice) -> None:
    for context in device.contexts:
        _report_own(context)
    for context in device.contexts:
        contexts.objects.pop(context.handle, None)
        _forget(context)
    try:
        aacl.blocking.close(device.device)
    finally:
        for buffer in device.blocks.values():
            buffer.free()
        device.blocks.clear()
        device.media.clear()
        for release in _at_close:
            release()


def _close_all() -> None:
    failures: list[BaseException] = []
    while devices:
        _, device = devices.popitem()
        try:
            _close_device(device)
        except aacl.AclError as error:
            failures.append(error)
    if failures:
        raise failures[0]


def _after_fork() -> None:
    """The child has the parent's addresses, and none of its threads: nothing of this can be used."""
    global _lock
    _lock = threading.RLock()
    here.context = None
    devices.clear()


def _explicit_contexts() -> int:
    return sum(not context.is_default for context in contexts.objects.values())


def _explicit_streams() -> int:
    return sum(len(context.streams) for context in contexts.objects.values())


# What a program must end itself: default contexts and streams end with their device.
count_also("device", devices.__len__)
count_also(contexts.kind, _explicit_contexts)
count_also(streams.kind, _explicit_streams)
at_finalize(_close_all)
os.register_at_fork(after_in_child=_after_fork)
