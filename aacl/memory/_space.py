"""The memory of one device: the plan of its range, made safe for threads, finalizers and interrupts."""

from __future__ import annotations

import sys
import threading
from collections import Counter, deque
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

from aacl.errors import InvalidArgument, InvalidMemoryRange, OutOfMemory
from aacl.memory._planner import ArenaPlanner, Block

if TYPE_CHECKING:
    from aacl.abc import DeviceBackend

__all__ = ("DeviceMemory", "Lease", "MemoryInfo", "spaces")


class MemoryInfo(NamedTuple):
    """A device's memory in bytes, at one moment."""

    free: int
    total: int
    used: int
    """Reserved by live allocations, freed ones that something still uses included."""
    pinned: int
    """Of these: freed by the program, still used by queued work or views."""
    peak: int
    allocations: int


class Dropped(deque[int]):
    """Addresses whose leases died; every lease of a space holds this, so it holds the block they are cut from."""

    within: Lease | None = None


class Lease:
    """The right to a block. Whoever still needs the bytes keeps the lease, whatever the program frees.

    The block goes back when the last reference to its lease dies.
    """

    __slots__ = ("_dropped", "address", "reserved")

    def __init__(self, dropped: Dropped, reserved: int) -> None:
        self.address = 0
        self._dropped = dropped
        self.reserved = reserved

    def __del__(self) -> None:
        # May run inside allocate(), on any thread: append, and nothing else.
        if self.address:
            self._dropped.append(self.address)


class Epoch:
    """What prepared operations compare by identity; replaced when what they are bound to may have changed."""

    __slots__ = ()


class DeviceMemory:
    """One device's allocations.

    Attributes:
        epoch: replaced whenever a buffer is freed or a tensor's contents become invalid,
            so that operations bound before check themselves again.
        plans: what rooms above found out once for this device and keep, by keys of their own.
    """

    __slots__ = ("_dropped", "_lock", "_pinned", "_planner", "backend", "base", "epoch", "index", "plans", "total")

    def __init__(self, backend: DeviceBackend, index: int, within: Lease | None = None) -> None:
        """Plan all of a device's memory, or the block that ``within`` leases."""
        self.backend, self.index = backend, index
        if within is None:
            self.base, self.total = backend.base, backend.properties.memory
            spaces.append(self)
        else:
            self.base, self.total = within.address, within.reserved
        self.epoch = Epoch()
        self.plans: dict[Hashable, Any] = {}
        self._planner = ArenaPlanner(self.base, self.total, tight=within is not None)
        self._lock = threading.Lock()
        self._dropped = Dropped()
        self._dropped.within = within
        self._pinned: dict[int, int] = {}

    def allocate(self, nbytes: int, reserved: int, alignment: int = 64, owner: str = "buffer") -> Lease:
        """Reserve a block.

        Args:
            nbytes: what was asked for, for error texts.
            reserved: bytes that the block counts as; never fewer than ``nbytes``.
            alignment: of the address, a power of two.
            owner: the kind of thing it is for; shown when memory runs out.

        Raises:
            InvalidArgument: ``nbytes`` is not positive.
            OutOfMemory: nothing free is long enough.
        """
        if nbytes <= 0:
            raise InvalidArgument(f"cannot allocate {nbytes} bytes; ask for at least 1")
        lease = Lease(self._dropped, reserved)
        with self._lock:
            if self._dropped:
                self._collect()
            if self._planner.take(lease, reserved, alignment, owner):
                return lease
        raise OutOfMemory(self._shortage(nbytes))

    def free(self, lease: Lease) -> None:
        """End the program's use of a block, which goes back as soon as nobody holds its lease."""
        self.epoch = Epoch()
        if sys.getrefcount(lease) > 3:  # more than the caller's variable, ours, and this call's
            self._pinned[lease.address] = lease.reserved

    def find(self, address: int) -> Block | None:
        """Return the block that holds this address and was not freed, or None."""
        if self._dropped:
            self._collect_locked()
        with self._lock:
            block = self._planner.find(address)
        return None if block is None or block.start in self._pinned else block

    def check(self, address: int, nbytes: int, act: str) -> Block:
        """Return the block in which ``nbytes`` from ``address`` lie.

        Raises:
            InvalidMemoryRange: they are not within one live allocation.
        """
        block = self.find(address)
        if block is None:
            raise InvalidMemoryRange(
                f"cannot {act} {nbytes} bytes at {address:#x}: device {self.index} has no allocation there; "
                "it was freed, or the pointer is wrong"
            )
        room = block.start + block.reserved - address
        if nbytes > room:
            raise InvalidMemoryRange(
                f"cannot {act} {nbytes} bytes at {address:#x}: only {room} bytes are left there of the allocation "
                f"of {block.reserved} bytes at {block.start:#x} on device {self.index}"
            )
        return block

    def invalidate(self) -> None:
        """Make every operation bound to this memory check itself before its next run."""
        self.epoch = Epoch()

    def info(self) -> MemoryInfo:
        """Return how the memory is used now."""
        with self._lock:
            self._collect()
            used = self._planner.used
            return MemoryInfo(
                self.total - used, self.total, used, sum(self._pinned.values()), self._planner.peak, len(self._planner)
            )

    def close(self) -> None:
        """Forget the range; views of it stay readable until they die."""
        if self in spaces:
            spaces.remove(self)

    def _collect_locked(self) -> None:
        with self._lock:
            self._collect()

    def _collect(self) -> None:
        """Give back what finalizers dropped. Call with the lock held."""
        dropped = self._dropped
        while dropped:
            # Popped last: an interrupt in between gives twice, which is harmless, rather than never.
            address = dropped[0]
            self._pinned.pop(address, None)
            self._planner.give(address)
            dropped.popleft()

    def _shortage(self, nbytes: int) -> str:
        with self._lock:
            largest, blocks, used = self._planner.largest_free(), self._planner.blocks(), self._planner.used
        owners: Counter[str] = Counter()
        for block in blocks:
            owners[block.owner] += block.reserved
        top = ", ".join(f"{owner} {size}" for owner, size in owners.most_common(3)) or "nothing"
        return (
            f"device {self.index} cannot give {nbytes} bytes: {used} of {self.total} used, "
            f"{self.total - used} free, largest free block {largest}; top owners: {top}. "
            "Free something, or give the device more memory with AACL_DEVICE_MEMORY"
        )

    def __repr__(self) -> str:
        return f"<DeviceMemory of device {self.index}: {self._planner.used} of {self.total} bytes used>"


spaces: list[DeviceMemory] = []
"""The memories of all open devices; few, so that a scan finds an address's device."""


def space_of(address: int) -> DeviceMemory | None:
    """Return the open device memory whose range holds this address."""
    for space in spaces:
        if space.base <= address < space.base + space.total:
            return space
    return None


