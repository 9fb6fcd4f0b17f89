"""Contexts: groups of streams on one device."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

from aacl._closing import AsyncResource
from aacl.devices import _current
from aacl.streams._owner import StreamContext

if TYPE_CHECKING:
    from aacl.devices._device import Device

__all__ = ("Context", "ContextStatistics")


class ContextStatistics(NamedTuple):
    """A context at one moment."""

    streams: int
    others: int
    """Models and whatever else lies in it."""


@final
class Context(StreamContext, AsyncResource):
    """A group of streams and events of one device. Closing it closes its streams.

    ``async with Context() as context`` opens one on the current device and makes it current.

    Attributes:
        device: the device it is on.
        memory: the device's memory, which contexts share.
    """

    __slots__ = ("_wanted_device", "device")

    kind = "context"
    _current = _current.contexts
    device: Device

    def __init__(self, device: Device | None = None) -> None:
        """Prepare a context on a device, by default the current one; entering or opening it makes it real."""
        super().__init__()
        self._wanted_device = device

    def _open(self) -> None:
        device = self._wanted_device or _current.devices.get()
        device._check_open("open a context on")
        self.device, self.memory = device, device._shared.memory
        self._opened_in(device)

    def statistics(self) -> ContextStatistics:
        """Return what is open in the context."""
        self._check_open("ask the statistics of")
        streams = [each for each in list(self._children.values()) if each.kind == "stream"]
        return ContextStatistics(len(streams), len(self._children) - len(streams))

    def __repr__(self) -> str:
        return f"<Context {self.number} {self._state.value}, {len(self._children)} streams>"
