"""The current device, context and stream of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aacl._current import Current
from aacl.streams._current import contexts as contexts
from aacl.streams._current import streams as streams

if TYPE_CHECKING:
    from aacl.devices._context import Context
    from aacl.devices._device import Device
    from aacl.streams._stream import Stream

__all__ = ("contexts", "current_context", "current_device", "current_stream", "devices", "streams")

devices: Current[Any] = Current("device")


def current_device() -> Device:
    """Return the device whose block this task is in.

    Raises:
        NotCurrent: it is in none.
    """
    device: Device = devices.get()
    return device


def current_context() -> Context:
    """Return the context in which ``Stream()`` would open.

    Raises:
        NotCurrent: no device is current.
    """
    context: Context = contexts.get()
    return context


def current_stream() -> Stream:
    """Return the stream whose block this task is in.

    Raises:
        NotCurrent: it is in none.
    """
    stream: Stream = streams.get()
    return stream
