"""Devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

from aacl import _runtime
from aacl._closing import AsyncResource
from aacl.devices import _current, _shared
from aacl.devices._context import Context
from aacl.memory._buffer import Buffer, allocate
from aacl.memory._rules import MALLOC, AllocationRule

if TYPE_CHECKING:
    from aacl.abc import DeviceProperties
    from aacl.memory._addresses import AddressRange
    from aacl.memory._physical import PhysicalMemory
    from aacl.memory._space import MemoryInfo

__all__ = ("Device", "DeviceStatistics")


class DeviceStatistics(NamedTuple):
    """A device at one moment."""

    contexts: int
    """Open ones, the default context among them."""
    streams: int
    memory: MemoryInfo


@final
class Device(AsyncResource):
    """A device, for as long as a block needs it.

    ``async with Device(0) as device`` opens it, with a default context, and
    makes both current. Several objects may stand for one device: they share its
    memory, and the last one to close ends it. Closing a device closes what was
    opened in it: streams first, then contexts.

    Attributes:
        index: the number of the device.
        default_context: where streams are opened that name no other context.
    """

    __slots__ = ("_held", "_shared", "default_context", "index")

    kind = "device"
    _current = _current.devices
    default_context: Context
    _held: _shared.SharedDevice | None  # what is still to be given back

    def __init__(self, index: int = 0) -> None:
        """Prepare a device; entering or opening it makes it real.

        Raises:
            InvalidDevice: there is no device of that number.
        """
        super().__init__()
        self._held = None
        self.index = _runtime.check_index(index)

    def _open(self) -> None:
        self.default_context = Context(self)
        self._shared = self._held = _shared.acquire(self.index)
        self._opened_in(None)
        self.default_context._open_once()

    @property
    def properties(self) -> DeviceProperties:
        """What the device says of itself: name, SoC, cores, bytes of memory."""
        self._check_open("ask the properties of")
        return self._shared.backend.properties

    def allocate(self, nbytes: int, rule: AllocationRule = MALLOC) -> Buffer:
        """Return a new buffer.

        Args:
            nbytes: how long.
            rule: AscendCL's rounding and alignment to follow, by default those of ``aclrtMalloc``.

        Raises:
            InvalidArgument: ``nbytes`` is not positive.
            OutOfMemory: the device has no such span free.
            ClosedResource: the device is not open.
        """
        self._check_open("allocate on")
        return allocate(self._shared.memory, nbytes, rule)

    def allocate_physical(self, nbytes: int) -> PhysicalMemory:
        """Return new memory that has no address until it is mapped at one; all bytes are 0.

        Args:
            nbytes: how many; a multiple of 2 MiB.

        Raises:
            InvalidArgument: these are no whole pages.
            OutOfMemory: the device has not so many.
            ClosedResource: the device is not open.
        """
        from aacl.memory._physical import allocate_physical

        self._check_open("allocate on")
        return allocate_physical(self._shared.memory, nbytes)

    def import_physical(self, handle: int) -> PhysicalMemory:
        """Return the memory that another process shares; both see the same bytes.

        Args:
            handle: what `PhysicalMemory.share` returned there.

        Raises:
            InvalidArgument: nothing is shared under that number, any more.
            NotPermitted: its owner does not allow this process.
            ClosedResource: the device is not open.
        """
        from aacl.memory._physical import import_physical

        self._check_open("import memory to")
        return import_physical(self._shared.memory, handle)

    def reserve_addresses(self, nbytes: int, *, alignment: int = 0, wanted: int = 0) -> AddressRange:
        """Return addresses without memory, where physical memory can be mapped.

        Args:
            nbytes: how many; a multiple of 2 MiB.
            alignment: a power of two that the first one is a multiple of, at least that of 2 MiB.
            wanted: the first one, if it can be had; 0 for any.

        Raises:
            InvalidArgument: these are no whole pages, or the alignment is none.
            OutOfMemory: so many addresses are not free.
            ClosedResource: the device is not open.
        """
        from aacl.memory._addresses import reserve

        self._check_open("reserve addresses of")
        return reserve(self._shared.memory, nbytes, alignment, wanted)

    def memory(self) -> MemoryInfo:
        """Return how the device's memory is used now, in bytes."""
        self._check_open("ask the memory of")
        return self._shared.memory.info()

    def stream_context(self) -> Context:
        """Return the context in which streams of this device are opened."""
        self._check_open("open a stream on")
        return self.default_context

    def _become_current(self) -> None:
        _current.devices.enter(self)
        _current.contexts.enter(self.default_context)

    def _leave_current(self) -> None:
        _current.devices.leave(self)
        if hasattr(self, "default_context"):
            _current.contexts.leave(self.default_context)

    def _release(self) -> None:
        shared, self._held = self._held, None
        if shared is not None:
            _shared.release(shared)

    def statistics(self) -> DeviceStatistics:
        """Return what is open on the device, and how its memory is used, in bytes."""
        self._check_open("ask the statistics of")
        streams = sum(len(each._children) for each in list(self._children.values()))
        return DeviceStatistics(len(self._children), streams, self._shared.memory.info())

    def _describe(self) -> str:
        return f"device {self.index}"

    def __repr__(self) -> str:
        return f"<Device {self.index} {self._state.value}, {len(self._children)} contexts>"
