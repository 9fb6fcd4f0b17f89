"""Devices as programs see them: counted, current thread by thread.

A device is open from the first ``set_device`` or ``create_context`` that names
it to the last ``reset_device``. Its default context is shared by all threads;
each context has a default stream, which is what stream 0 means. Memory belongs
to the device.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from operator import index

import aacl
from aacl.errors import AclError, InvalidDevice, NotCurrent, WrongContext
from acl._contexts import Context, forget_context, let_go
from acl._handles import count_also, hooks, list_also
from acl._origins import kept
from acl._state import at_finalize, before_finalize, require_init, state
from acl._status import CONTEXT_NULL, Refused
from acl._streams import Stream, drain, refuse_in_callback, streams
from acl._threads import here

__all__ = (
    "OpenDevice",
    "create_context",
    "create_stream",
    "current",
    "devices",
    "existing",
    "in_use",
    "is_active",
    "properties_of",
    "reset_device",
    "set_device",
    "stream_at",
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
        limits: how many cores work may use, by the number of the kind; what is not there has no limit.
        overflowed: whether an operator has overflowed on a stream that detects it.
        peers: the devices whose memory it may reach, by number.
    """

    __slots__ = (
        "blocks",
        "contexts",
        "default",
        "device",
        "index",
        "limits",
        "media",
        "overflowed",
        "peers",
        "uses",
    )

    def __init__(self, number: int) -> None:
        self.index, self.uses = number, 0
        self.device = aacl.blocking.open_resource(aacl.Device(number))
        self.blocks: dict[int, aacl.Buffer] = kept("device block")
        self.media: dict[int, str] = {}
        self.limits: dict[int, int] = {}
        self.overflowed = False
        self.peers: set[int] = set()
        self.contexts: list[Context] = []
        self.default = Context(self, self.device.default_context)
        if hooks.made is not None:
            hooks.made("device", number)


devices: dict[int, OpenDevice] = {}
"""The open ones, by number."""
_lock = threading.RLock()


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
        Refused: it is not in use; or a callback of one of its streams asks, and would wait for itself. It stays.
        StreamError: work of it failed and nobody had asked; it is closed nevertheless.
    """
    number = index(number)
    require_init()
    with _lock:
        device, uses = _uses_after_reset(number, at_once)
    if not uses:
        _drain(device)  # an interrupt leaves from here, and all is as it was
    with _lock:
        device, device.uses = _uses_after_reset(number, at_once)
        if device.uses:
            return
        del devices[number]
    _close_device(device)


def _uses_after_reset(number: int, at_once: bool) -> tuple[OpenDevice, int]:
    """Return a device, and how often it is used after a reset, which this may refuse; the lock is held."""
    device = devices.get(number)
    if device is None:
        existing(number)
        raise Refused(CONTEXT_NULL, f"device {number} is not in use; it was never set, or was reset before")
    uses = 0 if at_once else max(0, device.uses - 1)
    if not uses:
        refuse_in_callback("wait for the end of its own device", lambda stream, _: stream.context.device is device)
    return device, uses


def create_context(number: int) -> Context:
    """Return a new context on a device, which is opened if need be, and make it current."""
    number = index(number)
    require_init()
    with _lock:
        device = _open(number)
        context = Context(device, aacl.blocking.open_resource(aacl.Context(device.device)))
    here.context = context
    return context


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
        raise WrongContext(
            f"stream {handle} belongs to another context than the current one of this thread; call acl.rt.set_context "
            "with the one that was current when it was made"
        )
    return stream


def is_active(number: int) -> bool:
    """Whether a device is open."""
    return number in devices


def existing(number: int) -> int:
    """Return a device's number; raises `InvalidDevice` if there is no such device, open or not."""
    number = index(number)
    count = aacl.device_count()
    if not 0 <= number < count:
        raise InvalidDevice(f"there is no device {number}; this machine has devices 0 to {count - 1} (AACL_DEVICES)")
    return number


def in_use(number: int) -> OpenDevice:
    """Return a device that is open.

    Raises:
        InvalidDevice: there is no such device.
        Refused: it is not in use (107002).
    """
    number = existing(number)
    device = devices.get(number)
    if device is None:
        raise Refused(CONTEXT_NULL, f"device {number} is not in use; call acl.rt.set_device({number}) first")
    return device


def properties_of(number: int) -> aacl.abc.DeviceProperties:
    """Return what a device says of itself, open or not; raises `InvalidDevice` if there is no such device."""
    device = devices.get(number)
    if device is not None:
        return device.device.properties
    native = aacl.blocking.open_resource(aacl.Device(number))
    try:
        return native.properties
    finally:
        aacl.blocking.close(native)


def _drain(device: OpenDevice) -> None:
    """Wait for a device's work, reporting what calls this very thread has to report."""
    for context in [*device.contexts]:
        for stream in context.all_streams():
            drain(stream)


def _drain_all() -> None:
    for device in [*devices.values()]:
        _drain(device)


def _close_device(device: OpenDevice) -> None:
    _drain(device)
    _note_sweep(device)
    for context in device.contexts:
        forget_context(context)
    try:
        aacl.blocking.close(device.device)
    finally:
        while device.blocks:
            with suppress(KeyError):  # other threads may free them meanwhile
                device.blocks.popitem()[1].free()
        device.media.clear()
        let_go()


def _note_sweep(device: OpenDevice) -> None:
    """Tell who wants to know what ends with a device."""
    if hooks.swept is not None:
        hooks.swept("context", [(each.handle, None) for each in device.contexts if not each.is_default])
        hooks.swept("device block", [(address, buffer.reserved_nbytes) for address, buffer in [*device.blocks.items()]])


def _list_devices() -> list[tuple[int, None]]:
    return [(number, None) for number in [*devices]]


def _close_all() -> None:
    if hooks.swept is not None:
        hooks.swept("device", _list_devices())
    failures: list[BaseException] = []
    while devices:
        _, device = devices.popitem()
        try:
            _close_device(device)
        except AclError as error:
            failures.append(error)
    if failures:
        raise failures[0]


def _after_fork() -> None:
    """The child has the parent's addresses, and none of its threads: nothing of this can be used."""
    global _lock
    _lock = threading.RLock()
    here.context = None
    devices.clear()


count_also("device", devices.__len__)
list_also("device", _list_devices)
before_finalize(_drain_all)
at_finalize(_close_all)
os.register_at_fork(after_in_child=_after_fork)
