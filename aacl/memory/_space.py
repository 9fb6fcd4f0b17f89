"""The memory of one device: the plan of its range, made safe for threads, finalizers and interrupts.

Blocks come from *bins*, one for each size and purpose. A lease that dies puts
its address back into its bin, where the next allocation of that kind finds it
without a lock; the plan still counts the block as live. Whoever asks the plan
(how much is used, which block is at an address, where is room) first empties
the bins into it.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from aacl.errors import InvalidArgument, InvalidMemoryRange, OutOfMemory
from aacl.memory._planner import ArenaPlanner, Block

if TYPE_CHECKING:
    from aacl.abc import DeviceBackend
    from aacl.memory._rules import AllocationRule

__all__ = ("Bin", "DeviceMemory", "Lease", "MemoryInfo", "holders", "space_of", "spaces")

_new = object.__new__


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


class Lease:
    """The right to a block. Whoever still needs the bytes keeps the lease, whatever the program frees.

    The block goes back when the last reference to its lease dies.
    """

    __slots__ = ("_spare", "address", "reserved")

    _spare: _Spare
    address: int
    reserved: int

    def __del__(self) -> None:
        # May run inside allocate(), on any thread: append, and nothing else.
        if self.address:
            self._spare.append(self.address)


class _Spare(deque[int]):
    """Addresses whose leases died. Every lease holds one, and so holds the block that its own is cut from."""

    within: Lease | None = None


class Bin:
    """Blocks of one size for one purpose.

    Attributes:
        spare: addresses of blocks whose leases died.
        taken: gives a spare address for each step; `IndexError` when there is none.
    """

    __slots__ = ("memory", "reserved", "rule", "spare", "taken")

    def __init__(self, memory: DeviceMemory, reserved: int, rule: AllocationRule, within: Lease | None) -> None:
        self.memory, self.reserved, self.rule = memory, reserved, rule
        self.spare = _Spare()
        self.spare.within = within
        self.taken: Iterator[int] = iter(self.spare.pop, 0)

    def lease(self) -> Lease:
        """Return the lease of a block.

        Raises:
            OutOfMemory: nothing free is long enough.
        """
        lease = _new(Lease)
        lease._spare, lease.reserved, lease.address = self.spare, self.reserved, 0
        try:
            # Not `lease.address = pop()`: a call may be followed by an interrupt, which would lose the
            # block. A loop's step goes straight into the attribute.
            for lease.address in self.taken:
                break
        except IndexError:
            self.memory._take(lease, self)
        return lease


class Epoch:
    """What prepared operations compare by identity; replaced when what they are bound to may have changed."""

    __slots__ = ()


class DeviceMemory:
    """One device's allocations.

    Attributes:
        epoch: replaced whenever a buffer is freed or a tensor's contents become invalid,
            so that operations bound before check themselves again.
        has_faults: whether any tensor's contents ever became invalid.
        plans: what rooms above found out once for this device and keep, by keys of their own.
    """

    __slots__ = ("_bins", "_lock", "_misses", "_pinned", "_planner", "_within", "backend", "base", "epoch",
                 "has_faults", "index", "plans", "total")  # fmt: skip

    def __init__(self, backend: DeviceBackend, index: int, within: Lease | None = None) -> None:
        """Plan all of a device's memory, or the block that ``within`` leases."""
        self.backend, self.index, self._within = backend, index, within
        if within is None:
            self.base, self.total = backend.base, backend.properties.memory
            spaces.append(self)
        else:
            self.base, self.total = within.address, within.reserved
        self.epoch = Epoch()
        self.has_faults = False
        self.plans: dict[Hashable, Any] = {}
        self._planner = ArenaPlanner(self.base, self.total, tight=within is not None)
        self._lock = threading.Lock()
        self._bins: dict[tuple[int, AllocationRule], Bin] = {}
        self._misses = 0  # allocations that found their bin empty, since the bins were emptied last
        self._pinned: dict[int, int] = {}

    def bin(self, nbytes: int, rule: AllocationRule) -> Bin:
        """Return the bin for allocations of ``nbytes`` by a rule.

        Raises:
            InvalidArgument: ``nbytes`` is not positive.
        """
        if nbytes <= 0:
            raise InvalidArgument(f"cannot allocate {nbytes} bytes; ask for at least 1")
        reserved = -(-nbytes // rule[2]) * rule[2] + rule[3]
        found = self._bins.get((reserved, rule))
        if found is None:
            found = self._bins.setdefault((reserved, rule), Bin(self, reserved, rule, self._within))
        return found

    def free(self, lease: Lease) -> None:
        """End the program's use of a block, which goes back as soon as nobody holds its lease."""
        self.epoch = Epoch()
        for hold in holders:
            hold(lease)
        if sys.getrefcount(lease) > 3:  # more than the caller's variable, ours, and this call's
            self._pinned[lease.address] = lease.reserved

    def find(self, address: int) -> Block | None:
        """Return the block that holds this address and was not freed, or None."""
        with self._lock:
            block = self._planner.find(address)
            if block is not None:
                spare = self._bins[block.owner].spare
                if spare:
                    self._empty(spare)
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
        """Make every operation bound to this memory check itself, and what it reads, before its next run."""
        self.has_faults = True
        self.epoch = Epoch()

    def info(self) -> MemoryInfo:
        """Return how the memory is used now."""
        with self._lock:
            self._empty_all()
            used = self._planner.used
            return MemoryInfo(
                self.total - used, self.total, used, sum(self._pinned.values()), self._planner.peak, len(self._planner)
            )

    def close(self) -> None:
        """Forget the range; views of it stay readable until they die."""
        if self in spaces:
            spaces.remove(self)

    def _take(self, lease: Lease, source: Bin) -> None:
        """Give a lease a block of the plan's, its bin being empty."""
        with self._lock:
            self._misses += 1
            if self._misses > len(self._bins):
                self._empty_all()
            if self._take_planned(lease, source):
                return
            self._empty_all()
            if self._take_planned(lease, source):
                return
        raise OutOfMemory(self._shortage(source.reserved))

    def _take_planned(self, lease: Lease, source: Bin) -> bool:
        return self._planner.take(lease, source.reserved, source.rule.alignment, (source.reserved, source.rule))

    def _empty_all(self) -> None:
        """Give the blocks of all bins back to the plan. Call with the lock held, as `_empty`."""
        self._misses = 0
        for each in list(self._bins.values()):
            if each.spare:
                self._empty(each.spare)

    def _empty(self, spare: _Spare) -> None:
        give, pinned, taken = self._planner.give, self._pinned, iter(spare.popleft, 0)
        try:
            for address in taken:  # no call between the step and the plan's own bookkeeping: see Bin.lease
                if pinned:
                    pinned.pop(address, None)
                give(address)
        except IndexError:
            pass

    def _shortage(self, nbytes: int) -> str:
        with self._lock:
            largest, blocks, used = self._planner.largest_free(), self._planner.blocks(), self._planner.used
        owners: Counter[str] = Counter()
        for block in blocks:
            owners[block.owner[1].owner] += block.reserved
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

holders: list[Callable[[Lease], object]] = []
"""Called with each lease that a program gives up: a stream with work under way holds it until that is over."""


def space_of(address: int) -> DeviceMemory | None:
    """Return the open device memory whose range holds this address."""
    for space in spaces:
        if space.base <= address < space.base + space.total:
            return space
    return None
