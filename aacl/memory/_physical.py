"""Physical memory: bytes of a device that have no address until they are mapped at one.

They count as the device's used memory: a block of its plan stands for them,
whose own addresses nobody is told. Memory imported from another process counts
there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from aacl._number import whole
from aacl.errors import ClosedResource, InvalidArgument
from aacl.memory._rules import AllocationRule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aacl.abc import Pages
    from aacl.memory._space import DeviceMemory, Lease

__all__ = ("Held", "PhysicalMemory", "allocate_physical", "import_physical")

_MOST_PROCESS = (1 << 32) - 1


class Held:
    """Pages and what counts them, as long as anything holds or maps them."""

    __slots__ = ("lease", "pages")

    def __init__(self, pages: Pages, lease: Lease | None) -> None:
        self.pages, self.lease = pages, lease


@final
class PhysicalMemory:
    """Bytes of a device without an address. Made by `Device.allocate_physical` and `Device.import_physical`.

    Attributes:
        nbytes: how many; a multiple of the device's page.
        is_imported: whether they are another process's.
    """

    __slots__ = ("_held", "_space", "is_imported", "nbytes")

    _held: Held | None
    _space: DeviceMemory
    nbytes: int
    is_imported: bool

    def __init__(self) -> None:
        raise TypeError("physical memory is made by Device.allocate_physical(nbytes) or Device.import_physical(handle)")

    @property
    def device_index(self) -> int:
        """The number of the device that it is on."""
        return self._space.index

    @property
    def closed(self) -> bool:
        """Whether it was freed, or its device was closed."""
        return self._held is None or self._space.closed

    def free(self) -> None:
        """End the program's use of it; what maps it goes on using it.

        Raises:
            ClosedResource: it was freed before.
        """
        held, self._held = self._held, None
        if held is None:
            raise ClosedResource(f"cannot free {self!r} twice")
        if held.lease is not None:
            self._space.free(held.lease)

    def share(self, *, anybody: bool = False) -> int:
        """Return a number by which another process of the same user gets at these bytes: `Device.import_physical`.

        It is good until the memory is freed here, or this process ends.

        Args:
            anybody: whether every process may import it; else those that `allow` names.

        Raises:
            ClosedResource: it was freed.
            NotSupported: the device shares no memory.
        """
        return self.held("share").pages.share(anybody=anybody)

    def allow(self, processes: Iterable[int]) -> None:
        """Let more processes import it.

        Args:
            processes: their numbers, as ``os.getpid()`` tells them there.

        Raises:
            InvalidArgument: what is no process's number, or too many.
            ClosedResource: it was freed.
        """
        numbers = [whole(each, "the number of a process") for each in processes]
        for each in numbers:
            if not 0 < each <= _MOST_PROCESS:
                raise InvalidArgument(f"{each} is no process's number; give what os.getpid() says there")
        self.held("share").pages.allow(numbers)

    def held(self, act: str) -> Held:
        """Return the pages; raises `ClosedResource` if they were freed."""
        held = self._held
        if held is None or self._space.closed:
            raise ClosedResource(f"cannot {act} {self!r}; allocate other memory")
        return held

    def __repr__(self) -> str:
        state = "freed " if self.closed else "imported " if self.is_imported else ""
        return f"<{state}PhysicalMemory of {self.nbytes} bytes on device {self._space.index}>"


def allocate_physical(space: DeviceMemory, nbytes: int) -> PhysicalMemory:
    """Return new physical memory of a device."""
    nbytes, page = whole(nbytes, "a number of bytes"), space.backend.page
    if nbytes <= 0 or nbytes % page:
        raise InvalidArgument(f"physical memory comes in pages of {page} bytes; {nbytes} bytes are not whole ones")
    lease = space.bin(nbytes, AllocationRule("physical memory", 64, page)).lease()
    return _wrap(space, Held(space.backend.allocate_pages(nbytes), lease), is_imported=False)


def import_physical(space: DeviceMemory, handle: int) -> PhysicalMemory:
    """Return physical memory that another process shares."""
    handle = whole(handle, "a shareable handle")
    if not 0 < handle < 1 << 64:
        raise InvalidArgument(f"{handle} is no shareable handle; PhysicalMemory.share() returns one")
    return _wrap(space, Held(space.backend.import_pages(handle), None), is_imported=True)


def _wrap(space: DeviceMemory, held: Held, *, is_imported: bool) -> PhysicalMemory:
    memory = object.__new__(PhysicalMemory)
    memory._space, memory._held, memory.is_imported = space, held, is_imported
    memory.nbytes = held.pages.nbytes
    return memory
