"""Address ranges: addresses of a device without memory, where a program maps physical memory piece by piece.

Pieces that lie side by side form a *run*, which is used as one allocation is.
What maps a piece keeps it mapped: a run's lease holds its pieces, and whoever
uses the run (a queued command, a view) holds the lease. So `unmap` ends the
program's use at once, and the pages go away when nobody uses them any more.

That moment is told by a finalizer, which may run anywhere: it only puts the
piece on a queue. The next call that takes the range's lock hides the pages, but
not those at which something else was mapped meanwhile. Addresses go the same way.

These finalizers are no Python code: an interrupt that came in there would be
lost, and the piece with it.
"""

from __future__ import annotations

import threading
from bisect import bisect_right, insort
from collections import deque
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, final

from aacl._number import whole
from aacl.errors import ClosedResource, InvalidArgument, InvalidMemoryRange, UnalignedAddress
from aacl.memory._buffer import Buffer, wrap
from aacl.memory._planner import Block
from aacl.memory._rules import AllocationRule
from aacl.memory._space import Epoch, Lease, range_of, ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aacl.abc import DeviceBackend
    from aacl.memory._physical import Held, PhysicalMemory
    from aacl.memory._space import DeviceMemory

__all__ = ("AddressRange", "mapped_buffer", "reserve")

# Nested as the runs were joined, so that joining many costs no more each.
Buffers: TypeAlias = "list[Buffer | Buffers]"

_RULE = AllocationRule("mapped memory", 64, 1)
_gone: deque[tuple[DeviceBackend, int, int]] = deque()  # addresses that are to be given back, and their number


class _Reserved:
    """The addresses themselves: they are the system's again when the range is gone, and every piece with it."""

    __slots__ = ("__del__", "backend", "retired")

    __del__: Callable[[], None]

    def __init__(self, backend: DeviceBackend, address: int, nbytes: int) -> None:
        self.__del__ = partial(_gone.append, (backend, address, nbytes))
        self.backend = backend
        self.retired: deque[tuple[int, int, int]] = deque()  # start, bytes and serial of pieces nobody uses


def _give_back() -> None:
    while True:
        try:
            backend, address, nbytes = _gone.popleft()
        except IndexError:
            return
        backend.release(address, nbytes)


class _Piece:
    """One mapping: what it maps, and where."""

    __slots__ = ("__del__", "held", "nbytes", "reserved", "serial", "start")

    __del__: Callable[[], None]

    def __init__(self, reserved: _Reserved, start: int, nbytes: int, held: Held, serial: int) -> None:
        self.__del__ = partial(reserved.retired.append, (start, nbytes, serial))
        self.reserved, self.start, self.nbytes, self.held, self.serial = reserved, start, nbytes, held, serial


class _RunLease(Lease):
    """The right to a run; it holds the pieces, by way of the leases of the runs that it was joined from."""

    __slots__ = ("parts",)

    def __init__(self, start: int, nbytes: int, parts: tuple[_Piece | Lease, ...]) -> None:
        super().__init__(nbytes, _RULE, None)
        self.address, self.parts = start, parts


class _Run(NamedTuple):
    """Pieces side by side."""

    start: int
    nbytes: int
    lease: _RunLease
    buffers: Buffers
    """On the run, the last one, and on what it was joined from: all are freed when a piece is unmapped."""

    @property
    def end(self) -> int:
        return self.start + self.nbytes


@final
class AddressRange:
    """Reserved addresses of a device. Made by `Device.reserve_addresses`; they last until `release`.

    Attributes:
        address: the first one.
        nbytes: how many.
    """

    __slots__ = ("_lock", "_owners", "_pieces", "_reserved", "_runs", "_serial", "_space", "address", "nbytes")

    address: int
    nbytes: int
    _space: DeviceMemory
    _reserved: _Reserved | None
    _lock: threading.Lock
    _pieces: dict[int, _Piece]  # what is mapped, by first address
    _owners: dict[int, int]  # the serial of the piece mapped last at each page that is not hidden
    _runs: tuple[_Run, ...]  # in order; replaced as a whole, so that look-ups need no lock
    _serial: int

    def __init__(self) -> None:
        raise TypeError("address ranges are made by Device.reserve_addresses(nbytes)")

    @property
    def closed(self) -> bool:
        """Whether it was released, or its device was closed."""
        return self._reserved is None or self._space.closed

    @property
    def device_index(self) -> int:
        """The number of the device that uses what is mapped here."""
        return self._space.index

    @property
    def mapped(self) -> tuple[tuple[int, int], ...]:
        """The first address and the bytes of each mapping, in order."""
        return tuple([(piece.start, piece.nbytes) for _, piece in sorted(self._pieces.items())])

    def map(self, memory: PhysicalMemory, address: int | None = None, *, offset: int = 0, nbytes: int = -1) -> Buffer:
        """Map physical memory, which then is used like any memory of the device.

        Args:
            memory: what.
            address: where; by default at the range's beginning. A multiple of the device's page, as the rest is.
            offset: the first byte of the memory to map.
            nbytes: how many; by default all from there on.

        Returns:
            A buffer on the run that the mapping is part of: with what is mapped beside it, it is one span.

        Raises:
            UnalignedAddress: the address is no multiple of a page.
            InvalidMemoryRange: outside the range or the memory, no whole pages, or something is mapped there.
            ClosedResource: the range or the memory is gone.
        """
        start = self.address if address is None else whole(address, "an address")
        offset, nbytes = whole(offset, "an offset"), whole(nbytes, "a number of bytes")
        nbytes = memory.nbytes - offset if nbytes == -1 else nbytes
        with self._lock:
            reserved, held = self._open("map memory at"), memory.held("map")
            self._check(memory, start, offset, nbytes)
            self._hide_retired(reserved)
            self._check_free(start, nbytes)
            self._serial += 1
            held.pages.map(start, offset, nbytes)  # where it fails, the pages stay those of who still uses them
            page = self._space.backend.page
            self._owners.update(dict.fromkeys(range(start, start + nbytes, page), self._serial))
            piece = _Piece(reserved, start, nbytes, held, self._serial)
            self._pieces[start] = piece
            return self._join(piece)

    def _check(self, memory: PhysicalMemory, start: int, offset: int, nbytes: int) -> None:
        page = self._space.backend.page
        if start % page:
            raise UnalignedAddress(f"memory is mapped at multiples of {page}, not at {start:#x}")
        if nbytes <= 0 or nbytes % page or offset % page:
            raise InvalidMemoryRange(
                f"memory is mapped in whole pages of {page} bytes, not {nbytes} bytes from offset {offset}"
            )
        if offset < 0 or offset + nbytes > memory.nbytes:
            raise InvalidMemoryRange(f"{nbytes} bytes from offset {offset} are not within {memory!r}")
        if not self.address <= start <= start + nbytes <= self.address + self.nbytes:
            raise InvalidMemoryRange(f"{nbytes} bytes at {start:#x} are not within {self!r}")

    def _check_free(self, start: int, nbytes: int) -> None:
        place = bisect_right(self._runs, start, key=_end)
        if place == len(self._runs) or self._runs[place].start >= start + nbytes:
            return
        for piece in self._pieces.values():
            if piece.start < start + nbytes and start < piece.start + piece.nbytes:
                raise InvalidMemoryRange(
                    f"cannot map {nbytes} bytes at {start:#x}: {piece.nbytes} bytes are mapped at {piece.start:#x}; "
                    "unmap these first"
                )

    def _join(self, piece: _Piece) -> Buffer:
        """Make a new piece one run with its neighbours; call with the lock held."""
        start, end = piece.start, piece.start + piece.nbytes
        left, right = self._run_at(start - 1), self._run_at(end)
        parts: tuple[_Piece | Lease, ...] = (piece,)
        before: Buffers = []
        for run in (left, right):
            if run is not None:
                parts = (*parts, run.lease)
                before.append(run.buffers)
                start, end = min(start, run.start), max(end, run.end)
        buffer, joined = self._run(start, end, parts, before)
        kept = [run for run in self._runs if run is not left and run is not right]
        insort(kept, joined, key=_start)
        self._runs = tuple(kept)
        return buffer

    def _run(self, start: int, end: int, parts: tuple[_Piece | Lease, ...], before: Buffers) -> tuple[Buffer, _Run]:
        lease = _RunLease(start, end - start, parts)
        buffer = wrap(self._space, lease, end - start)
        return buffer, _Run(start, end - start, lease, [*before, buffer])

    def unmap(self, address: int) -> None:
        """End a mapping. Buffers and tensors on it, and on its run, are freed; what is queued still finds the bytes.

        Args:
            address: where it was mapped.

        Raises:
            InvalidMemoryRange: nothing was mapped there.
            ClosedResource: the range was released.
        """
        address = whole(address, "an address")
        with self._lock:
            reserved = self._open("unmap memory at")
            piece = self._pieces.pop(address, None)
            if piece is None:
                inside = self.find(address)
                raise InvalidMemoryRange(
                    f"no mapping starts at {address:#x} in {self!r}"
                    + ("; it lies inside one" if inside is not None else "; it was unmapped, or never mapped")
                )
            old = self._split(piece)
            for buffer in _each(old):
                if not buffer.freed:
                    buffer.free()
            self._space.epoch = Epoch()
            del piece, old
            self._hide_retired(reserved)

    def _split(self, gone: _Piece) -> Buffers:
        """Make the runs on both sides of a piece from what held it; return the buffers to free."""
        held = self._run_at(gone.start)
        assert held is not None, "what is mapped is part of a run"
        sides: list[_Run] = []
        for start, end in ((held.start, gone.start), (gone.start + gone.nbytes, held.end)):
            if start < end:
                parts = tuple([piece for piece in self._pieces.values() if start <= piece.start < end])
                sides.append(self._run(start, end, parts, [])[1])
        self._runs = tuple(sorted([*(run for run in self._runs if run is not held), *sides], key=_start))
        return held.buffers

    def _hide_retired(self, reserved: _Reserved) -> None:
        """Hide the pages that nobody uses and nothing was mapped over; call with the lock held."""
        page = self._space.backend.page
        while reserved.retired:
            start, nbytes, serial = reserved.retired.popleft()
            for place in range(start, start + nbytes, page):
                if self._owners.get(place) == serial:
                    del self._owners[place]
                    reserved.backend.hide(place, page)

    def find(self, address: int) -> Block | None:
        """Return the run that holds an address as a look-up tells an allocation, or None. Takes no lock."""
        run = self._run_at(address)
        return None if run is None else Block(run.start, run.nbytes, run.lease)

    def _run_at(self, address: int) -> _Run | None:
        runs = self._runs
        place = bisect_right(runs, address, key=_start) - 1
        return runs[place] if place >= 0 and address < runs[place].end else None

    def buffer_at(self, address: int) -> Buffer | None:
        """Return the buffer on the run that holds an address; None if nothing is mapped there."""
        run = self._run_at(address)
        if run is None:
            return None
        buffer = run.buffers[-1]
        assert not isinstance(buffer, list), "a run's own buffer is the last"
        if buffer.freed:  # by its holder, which unmaps nothing
            buffer = wrap(self._space, run.lease, run.nbytes)
            run.buffers.append(buffer)
        return buffer

    def release(self) -> None:
        """Give the addresses back, of which none is mapped any more.

        Raises:
            InvalidMemoryRange: something is mapped; unmap it first.
            ClosedResource: it was released before.
        """
        with self._lock:
            self._open("release")
            if self._pieces:
                raise InvalidMemoryRange(f"cannot release {self!r}: memory is mapped at {min(self._pieces):#x}")
            self.close()

    def close(self) -> None:
        """End it whatever is mapped, as the end of its device does."""
        with suppress(ValueError):  # another thread may have closed it
            ranges.remove(self)
        self._reserved, self._runs = None, ()
        self._pieces.clear()
        _give_back()

    def _open(self, act: str) -> _Reserved:
        reserved = self._reserved
        if reserved is None or self._space.closed:
            raise ClosedResource(f"cannot {act} {self!r}; reserve another")
        return reserved

    def __repr__(self) -> str:
        state = "released " if self.closed else ""
        return f"<{state}AddressRange of {self.nbytes} bytes at {self.address:#x} on device {self._space.index}>"


def _start(run: _Run) -> int:
    return run.start


def _end(run: _Run) -> int:
    return run.end


def _each(buffers: Buffers) -> Iterator[Buffer]:
    """Yield them all, however many runs were joined one after the other."""
    left = [buffers]
    while left:
        for buffer in left.pop():
            if isinstance(buffer, list):
                left.append(buffer)
            else:
                yield buffer


def reserve(space: DeviceMemory, nbytes: int, alignment: int = 0, wanted: int = 0) -> AddressRange:
    """Return a new range of a device."""
    nbytes, alignment = whole(nbytes, "a number of bytes"), whole(alignment, "an alignment")
    wanted, page = whole(wanted, "an address"), space.backend.page
    if nbytes <= 0 or nbytes % page or nbytes >= 1 << 62:
        raise InvalidArgument(f"addresses are reserved by pages of {page} bytes; {nbytes} bytes are not whole ones")
    if alignment < 0 or alignment & (alignment - 1) or alignment >= 1 << 47:
        raise InvalidArgument(f"an alignment is a power of two, or 0 for that of a page, not {alignment}")
    if not 0 <= wanted < 1 << 47:
        wanted = 0
    alignment = max(alignment, page)
    _give_back()
    found = AddressRange.__new__(AddressRange)
    found.address, found.nbytes = space.backend.reserve(nbytes, alignment, wanted), nbytes
    found._space, found._reserved = space, _Reserved(space.backend, found.address, nbytes)
    found._lock, found._serial = threading.Lock(), 0
    found._pieces, found._owners, found._runs = {}, {}, ()
    ranges.append(found)
    return found


def mapped_buffer(address: int) -> Buffer | None:
    """Return the buffer on what is mapped at an address of an `AddressRange`, up to where nothing is; else None."""
    found = range_of(address)
    return None if found is None else found.buffer_at(address)
