"""The memory of one device: the plan of its range, made safe for threads and interrupts.

A block belongs to whoever holds its lease: a tensor or buffer, a view, a queue
with work under way. Nothing is told when a holder goes away. The plan and a
*bin* (the blocks of one size and purpose) keep every lease themselves, and a
block is unused when nobody else does: its reference count says so. An
allocation looks at both ends of its bin for such a block; whoever asks the plan
(how much is used, where is room) first sweeps the unused ones into it.

So there is no finalizer that an interrupt could cut short, and no lock on the
way: to look at a lease is to hold it, which makes it used for everybody else.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from sys import getrefcount
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

from aacl._number import whole
from aacl.errors import InvalidArgument, InvalidMemoryRange, OutOfMemory
from aacl.memory._planner import ArenaPlanner, Block
from aacl.memory._rules import MALLOC

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from weakref import ReferenceType

    from aacl.abc import DeviceBackend
    from aacl.memory._addresses import AddressRange
    from aacl.memory._rules import AllocationRule

__all__ = (
    "PLANS_KEPT",
    "Bin",
    "DeviceMemory",
    "Epoch",
    "Lease",
    "MemoryInfo",
    "holders",
    "range_of",
    "ranges",
    "space_of",
    "spaces",
)

PLANS_KEPT = 2048
"""Plans of a generation, of which there are two: some 2 KB each."""


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

    Attributes:
        address: of the block; 0 when it is given back.
        reserved: its bytes.
        freed: whether the program has given it up.
        rule: how, and so for what, it was allocated.
        within: the lease of the block that it is cut from.
    """

    __slots__ = ("address", "freed", "reserved", "rule", "within")

    def __init__(self, reserved: int, rule: AllocationRule, within: Lease | None) -> None:
        self.address, self.freed, self.reserved, self.rule, self.within = 0, False, reserved, rule, within


def _references_when_unused() -> int:
    """Count what a lease is referred to by when nobody uses it, as those who look at one will count it.

    The plan and the bin hold one each; how a variable and an argument count differs by version of CPython.
    """
    lease = Lease(0, MALLOC, None)
    plan, listed = Block(0, 0, lease), deque((lease,))
    count = getrefcount(lease)
    del plan, listed
    return count


class Bin:
    """Blocks of one size for one purpose.

    Attributes:
        leases: of all its blocks; changed with the memory's lock held, but for turning it round.
            A sweep lets go of an empty bin, which may go on being used: it is taken in again with its
            next block, or shares the list of the bin that took its place.
    """

    __slots__ = ("_memory", "_reserved", "_rule", "_within", "leases")

    def __init__(self, memory: DeviceMemory, reserved: int, rule: AllocationRule, within: Lease | None) -> None:
        self._memory, self._reserved, self._rule, self._within = memory, reserved, rule, within
        self.leases: deque[Lease] = deque()

    def lease(self) -> Lease:
        """Return the lease of a block that nobody uses.

        Raises:
            OutOfMemory: nothing free is long enough.
        """
        leases = self.leases
        try:
            # The block allocated last is the likeliest to be unused, then the one allocated first. A
            # sweep of another thread may hold a lease in place of the plan: then it has no address.
            lease = leases[-1]
            if getrefcount(lease) == _UNUSED and lease.address:
                lease.freed = False
                return lease
            lease = leases[0]
            leases.rotate(-1)  # used or not: the next who asks looks at another one
            if getrefcount(lease) == _UNUSED and lease.address:
                lease.freed = False
                return lease
            del lease
        except IndexError:  # there is none, or a sweep took the last away
            pass
        return self._memory.take(Lease(self._reserved, self._rule, self._within), self)


_UNUSED = _references_when_unused()


class Epoch:
    """What prepared operations compare by identity; replaced when what they are bound to may have changed."""

    __slots__ = ()


class DeviceMemory:
    """One device's allocations.

    Attributes:
        epoch: replaced whenever a buffer is freed or a tensor's contents become invalid,
            so that operations bound before check themselves again.
        unsettled: the tensors that have no contents, by id: a queued command is to make them, or the one
            that should have made them failed. An entry goes with its tensor.
        plans: what rooms above found out once for this device, by keys of their own; see `plan`.
    """

    __slots__ = (
        "_bins",
        "_drops",
        "_lock",
        "_misses",
        "_older_plans",
        "_planner",
        "_within",
        "backend",
        "base",
        "closed",
        "epoch",
        "index",
        "plans",
        "total",
        "unsettled",
    )  # fmt: skip

    def __init__(self, backend: DeviceBackend, index: int, within: Lease | None = None) -> None:
        """Plan all of a device's memory, or the block that ``within`` leases."""
        self.backend, self.index, self._within = backend, index, within
        if within is None:
            self.base, self.total = backend.base, backend.properties.memory
            spaces.append(self)
        else:
            self.base, self.total = within.address, within.reserved
        self.epoch = Epoch()
        self.closed = False
        self.unsettled: dict[int, ReferenceType[Any] | None] = {}
        self.plans: dict[Hashable, Any] = {}
        self._older_plans: dict[Hashable, Any] = {}
        self._drops = 0  # how often plans were dropped
        self._planner = ArenaPlanner(self.base, self.total, tight=within is not None)
        self._lock = threading.Lock()
        self._bins: dict[tuple[int, AllocationRule], Bin] = {}
        self._misses = 0  # allocations that found nothing unused in their bin, since the last sweep

    def bin(self, nbytes: int, rule: AllocationRule) -> Bin:
        """Return the bin for allocations of ``nbytes`` by a rule.

        Raises:
            InvalidArgument: ``nbytes`` is not a positive whole number.
        """
        nbytes = whole(nbytes, "a number of bytes")
        if nbytes <= 0:
            raise InvalidArgument(f"cannot allocate {nbytes} bytes; ask for at least 1")
        reserved = -(-nbytes // rule[2]) * rule[2] + rule[3]
        found = self._bins.get((reserved, rule))
        if found is None:
            found = self._bins.setdefault((reserved, rule), Bin(self, reserved, rule, self._within))
        return found

    def free(self, lease: Lease) -> None:
        """End the program's use of a block, which is unused as soon as nobody holds its lease."""
        lease.freed = True
        self.epoch = Epoch()
        for hold in holders.copy():  # streams of other threads come and go meanwhile
            hold(lease)

    def find(self, address: int) -> Block | None:
        """Return the block that holds this address and is in use, or None; what is mapped side by side is one block."""
        with self._lock:
            block = self._planner.find(address)
            if block is not None:
                lease = block.owner
                return None if lease.freed or getrefcount(lease) <= _UNUSED else block
        mapped = range_of(address)
        return None if mapped is None else mapped.find(address)

    def check(self, address: int, nbytes: int, act: str) -> Block:
        """Return the block in which ``nbytes`` from ``address`` lie.

        Raises:
            InvalidMemoryRange: they are not within one live allocation.
        """
        with self._lock:  # `find`, written out: each copy comes here
            block = self._planner.find(address)
            if block is not None:
                lease = block.owner
                if lease.freed or getrefcount(lease) <= _UNUSED:
                    block = None
        if block is None:
            block = self._mapped(address, nbytes, act)
        room = block.start + block.reserved - address
        if nbytes > room:
            raise InvalidMemoryRange(
                f"cannot {act} {nbytes} bytes at {address:#x}: only {room} bytes are left there of the allocation "
                f"of {block.reserved} bytes at {block.start:#x} on device {self.index}"
            )
        return block

    def _mapped(self, address: int, nbytes: int, act: str) -> Block:
        """Return what is mapped at an address that no allocation holds."""
        mapped = range_of(address)
        block = None if mapped is None else mapped.find(address)
        if block is None:
            raise InvalidMemoryRange(
                f"cannot {act} {nbytes} bytes at {address:#x}: "
                + (
                    f"device {self.index} has no allocation there; it was freed, or the pointer is wrong"
                    if mapped is None
                    else f"no memory is mapped there in {mapped!r}"
                )
            )
        return block

    def add_fault(self, tensor: Any) -> None:
        """Remember that a tensor has no contents, and nobody is to make them."""
        key, unsettled = id(tensor), self.unsettled
        unsettled[key] = ref(tensor, lambda _: unsettled.pop(key, None))

    def info(self) -> MemoryInfo:
        """Return how the memory is used now."""
        with self._lock:
            self._sweep()
            used = self._planner.used
            pinned = sum([block.reserved for block in self._planner.blocks() if block.owner.freed])
            return MemoryInfo(self.total - used, self.total, used, pinned, self._planner.peak, len(self._planner))

    def close(self) -> None:
        """Forget the range; views of it stay readable until they die."""
        if self in spaces:
            spaces.remove(self)
        self.closed = True
        for each in [each for each in ranges if each._space is self]:
            each.close()
        with self._lock:
            # Bins and plans know this memory, which knows them: taken apart, nothing waits for the collector.
            self.plans.clear()
            self._older_plans.clear()
            self._bins.clear()
            self._planner, self._within = ArenaPlanner(self.base, self.total), None

    def plan(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what is not among `plans`: found out before, or now by ``make``; keep it there.

        Two generations stand for the order of use: what is found in the older one moves to the newer,
        and when that is full it becomes the older. So a hit in `plans` costs one look-up.
        """
        drops = self._drops
        plan = self._older_plans.pop(key, None)
        if plan is None:
            plan = make()
        if len(self.plans) >= PLANS_KEPT:
            self._older_plans, self.plans = self.plans, {}
        self.plans[key] = plan
        if self._drops != drops:  # `drop_plans` may have looked before the plan was there
            self.plans.pop(key, None)
        return plan

    def drop_plans(self, is_stale: Callable[[Hashable], bool]) -> None:
        """Forget the plans whose keys are said to be stale; what is bound to any plan binds itself anew."""
        self._drops += 1
        for plans in (self.plans, self._older_plans):
            for key in [*plans]:
                if is_stale(key):
                    plans.pop(key, None)
        self.epoch = Epoch()

    def take(self, lease: Lease, asker: Bin) -> Lease:
        """Give a new lease a block of the plan's, and list it in its bin; return it.

        Raises:
            OutOfMemory: nothing free is long enough.
        """
        with self._lock:
            self._misses += 1
            # A sweep looks at every block: worth it after about as many allocations that had to come here.
            # A small block that is cut up is swept each time: there room counts for more.
            if self._within is not None or self._misses > len(self._planner) // 2 + 64:
                self._sweep()
            if not self._planner.take(lease, lease.reserved, lease.rule.alignment, lease):
                self._sweep()
                if not self._planner.take(lease, lease.reserved, lease.rule.alignment, lease):
                    raise OutOfMemory(self._shortage(lease.reserved))
            listed = self._bins.setdefault((lease.reserved, lease.rule), asker).leases
            asker.leases = listed
            listed.append(lease)
        return lease

    def _sweep(self) -> None:
        """Give unused blocks back to the plan. Call with the lock held."""
        self._misses = 0
        given = False
        for block in self._planner.blocks():
            lease = block.owner
            # Fewer references than an unused one has: an interrupt kept it from being listed in its bin.
            if getrefcount(lease) <= _UNUSED:
                given = True
                lease.address = 0
                self._planner.give(block.start)
        for key, each in list(self._bins.items()):
            for lease in list(each.leases) if given else ():
                if not lease.address:
                    each.leases.remove(lease)
            if not each.leases:
                del self._bins[key]

    def _shortage(self, nbytes: int) -> str:
        """Say what fills the memory. Call with the lock held."""
        used, largest = self._planner.used, self._planner.largest_free()
        owners: Counter[str] = Counter()
        for block in self._planner.blocks():
            owners[block.owner.rule.owner] += block.reserved
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

ranges: list[AddressRange] = []
"""The reserved address ranges of all open devices; few, and none in most programs."""

holders: list[Callable[[Lease], object]] = []
"""Called with each lease that a program gives up: a stream with work under way holds it until that is over."""


def space_of(address: int) -> DeviceMemory | None:
    """Return the open device memory whose range, or one of whose reserved ones, holds this address."""
    for space in spaces:
        if space.base <= address < space.base + space.total:
            return space
    if ranges:
        found = range_of(address)
        return None if found is None else found._space
    return None


def range_of(address: int) -> AddressRange | None:
    """Return the reserved address range that holds this address."""
    for each in ranges:
        if each.address <= address < each.address + each.nbytes:
            return each
    return None
