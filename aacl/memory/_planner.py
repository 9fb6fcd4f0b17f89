"""Where blocks lie in a device's address range: bookkeeping alone, with no lock and no memory.

The range is carved from the bottom up into slots that tile it. `_starts` lists
the slots in address order; it changes only when a slot is carved, split or
merged, so a program that allocates the sizes it freed before neither sorts nor
searches.

An interrupt (Ctrl-C) may end any step. Therefore only two things are the truth:
which slots are taken, `_live`, and where slots start, `_starts` below `_top`.
`_merge` rebuilds everything else from them, slot lengths included: a slot ends
where the next one starts. What an interrupt leaves half-done is at worst a free
slot that is not found before the next merge.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

__all__ = ("SLOT", "ArenaPlanner", "Block")

SLOT = 64
"""Slots start at, and measure, multiples of this many bytes."""

_SLACK = 2 << 20
"""Free bytes below which fresh memory is carved rather than a larger free slot cut: work of ever new sizes would touch
as much of it as that, and pages once touched stay resident."""


class Block(NamedTuple):
    """A live block as look-ups tell it."""

    start: int
    reserved: int
    owner: Any
    """Whatever `take` was told; it says what the block is for."""


class Taker(Protocol):
    """Who receives a block: its address is written in the step that makes the block live."""

    address: int


class ArenaPlanner:
    """Plan of one address range.

    Attributes:
        used: reserved bytes of the live blocks.
        peak: the largest `used` so far.
    """

    __slots__ = ("_end", "_free", "_free_bytes", "_given", "_live", "_sizes", "_slots", "_starts", "_tight", "_top",
                 "base", "capacity", "peak", "used")  # fmt: skip

    def __init__(self, base: int, capacity: int, *, tight: bool = False) -> None:
        """Plan ``capacity`` bytes from ``base``.

        Args:
            base: the first address.
            capacity: bytes that follow.
            tight: always cut a larger free slot before carving fresh memory, as a small pool should.
        """
        self.base, self.capacity, self._tight = base, capacity, tight
        self.used = self.peak = 0
        self._top, self._end = -(-base // SLOT) * SLOT, base + capacity
        self._starts: list[int] = []
        self._slots: dict[int, int] = {}
        self._live: dict[int, Block] = {}
        self._free: dict[int, list[int]] = {}  # slot size -> starts
        self._sizes: list[int] = []  # the keys of _free, sorted
        self._free_bytes = 0
        self._given = 0  # since the last merge

    def __len__(self) -> int:
        return len(self._live)

    def take(self, taker: Taker, reserved: int, alignment: int, owner: Any) -> bool:
        """Make a block live and write its address to ``taker``; False when nothing fits."""
        slot = (reserved + 63) & -64
        free = self._free.get(slot)
        if free and not free[-1] & (alignment - 1):
            start = free.pop()
            self._free_bytes -= slot
        else:
            start = self._carve(slot, alignment)
            if not start:
                return False
        block = Block(start, reserved, owner)
        self._live[start] = block
        taker.address = start
        self.used += reserved
        if self.used > self.peak:
            self.peak = self.used
        return True

    def give(self, start: int) -> bool:
        """Free the block that starts there; False when none does."""
        block = self._live.get(start)
        if block is None:
            return False
        del self._live[start]  # no call between this line and the next: an interrupt finds both or neither
        self.used -= block.reserved
        self._put(start, self._slots[start])
        self._given += 1
        return True

    def at(self, start: int) -> Block | None:
        """Return the live block that starts exactly there."""
        return self._live.get(start)

    def find(self, address: int) -> Block | None:
        """Return the live block that holds this address."""
        found = self._live.get(address)
        if found is not None:
            return found
        index = bisect_right(self._starts, address) - 1
        block = self._live.get(self._starts[index]) if index >= 0 else None
        return block if block is not None and address < block.start + block.reserved else None

    def blocks(self) -> list[Block]:
        """Return the live blocks in address order."""
        return sorted(self._live.values(), key=itemgetter(0))

    def largest_free(self) -> int:
        """Return the longest span that one block could take now, in bytes."""
        self._merge()
        return max(self._end - self._top, self._sizes[-1] if self._sizes else 0)

    def _put(self, start: int, slot: int) -> None:
        free = self._free.get(slot)
        if free is None:
            free = self._free[slot] = []
            insort(self._sizes, slot)
        free.append(start)
        self._free_bytes += slot

    def _carve(self, slot: int, alignment: int) -> int:
        if self._tight or self._free_bytes > max(_SLACK, self.used // 2):
            # Merging costs a pass over all slots: worth it once a share of them was given back.
            if self._given * 4 > len(self._starts):
                self._merge()
            start = self._cut(slot, alignment)
            if start:
                return start
        start = self._extend(slot, alignment)
        if not start:
            self._merge()
            start = self._cut(slot, alignment) or self._extend(slot, alignment)
        return start

    def _extend(self, slot: int, alignment: int) -> int:
        """Carve a new slot at the top."""
        below = self._top
        start = -(-below // alignment) * alignment
        if start + slot > self._end:
            return 0
        self._top = start + slot  # first: what is not listed below the top belongs to the slot before it
        if start > below:
            self._add(below, start - below)
            self._put(below, start - below)
        self._add(start, slot)
        return start

    def _add(self, start: int, slot: int) -> None:
        self._slots[start] = slot
        if not self._starts or start > self._starts[-1]:
            self._starts.append(start)
        else:
            insort(self._starts, start)

    def _cut(self, slot: int, alignment: int) -> int:
        """Take the smallest free slot that has room, and free what is over on both sides."""
        for size in self._sizes[bisect_left(self._sizes, slot) :]:
            for index, found in enumerate(self._free[size]):
                start = -(-found // alignment) * alignment
                if start + slot <= found + size:
                    del self._free[size][index]
                    self._free_bytes -= size
                    self._split(found, size, start, slot)
                    return start
        return 0

    def _split(self, found: int, size: int, start: int, slot: int) -> None:
        if start > found:
            self._add(start, slot)
            self._slots[found] = start - found
            self._put(found, start - found)
        rest = found + size - (start + slot)
        if rest:
            self._add(start + slot, rest)
            self._put(start + slot, rest)
        self._slots[start] = slot

    def _merge(self) -> None:
        """Join neighbouring free slots, give the topmost back, and rebuild the free lists."""
        starts: list[int] = []
        free: set[int] = set()
        previous_free = False
        for start in self._starts:
            is_free = start not in self._live
            if not (is_free and previous_free):
                starts.append(start)
                if is_free:
                    free.add(start)
            previous_free = is_free
        top = self._top
        if previous_free:
            top = starts.pop()
            free.discard(top)
        slots = {start: end - start for start, end in zip(starts, [*starts[1:], top], strict=False)}
        # No call from here to the last assignment: an interrupt finds the old plan or the new one.
        self._starts, self._slots, self._top = starts, slots, top
        self._free, self._sizes, self._free_bytes, self._given = {}, [], 0, 0
        for start in starts:
            if start in free:
                self._put(start, slots[start])
