"""Cutting one block of device memory into several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, final

from aacl._closing import AsyncResource
from aacl._current import Current
from aacl._number import whole
from aacl.devices._current import current_device
from aacl.errors import InvalidArgument
from aacl.memory._buffer import Buffer, allocate
from aacl.memory._rules import MALLOC, AllocationRule, align_up
from aacl.memory._space import DeviceMemory, MemoryInfo

if TYPE_CHECKING:
    from aacl.devices._device import Device

__all__ = ("MemoryPool",)


@final
class MemoryPool(AsyncResource):
    """One block, cut into spans by AscendCL's rule: each takes its length rounded up to 32 bytes, and 32 more.

    ``async with MemoryPool(1 << 20) as pool`` takes the block from the current
    device. Freed spans are merged with free neighbours and cut again. Source: the
    note on partitioning memory on the page of ``aclrtMalloc``.
    """

    __slots__ = ("_block", "_device", "_held", "_rule", "_space", "alignment", "nbytes")

    kind = "memory pool"
    _current: ClassVar[Current[Any]] = Current("memory pool")

    def __init__(self, nbytes: int, *, alignment: int = 64, device: Device | None = None) -> None:
        """Prepare a pool; entering or opening it takes the block.

        Args:
            nbytes: of the block.
            alignment: of every span's address: a power of two from 64 on.
            device: where, by default the current device.

        Raises:
            InvalidArgument: the size is not positive, or the alignment no power of two from 64 on.
        """
        super().__init__()
        nbytes, alignment = whole(nbytes, "a number of bytes"), whole(alignment, "an alignment")
        if alignment < 64 or alignment & (alignment - 1):
            raise InvalidArgument(f"a pool's alignment is a power of two from 64 on, not {alignment}")
        if nbytes <= 0:
            raise InvalidArgument(f"a pool of {nbytes} bytes has no room for anything")
        self.nbytes, self.alignment, self._device = nbytes, alignment, device
        self._held: Buffer | None = None  # what is still to be given back
        self._rule = MALLOC._replace(owner="pool", alignment=alignment)

    def _open(self) -> None:
        device = self._device or current_device()
        block = AllocationRule("pool", self.alignment, self.alignment)
        self._held = self._block = device.allocate(align_up(self.nbytes, 64), block)
        memory = device._shared.memory
        self._space = DeviceMemory(memory.backend, memory.index, within=self._block.lease("cut"))
        self._opened_in(device)

    def allocate(self, nbytes: int) -> Buffer:
        """Return a span of the block.

        Raises:
            InvalidArgument: ``nbytes`` is not positive.
            OutOfMemory: no free span of the pool is long enough.
            ClosedResource: the pool is not open.
        """
        self._check_open("allocate from")
        return allocate(self._space, nbytes, self._rule)

    def statistics(self) -> MemoryInfo:
        """Return how the block is used now, in bytes."""
        self._check_open("ask the statistics of")
        return self._space.info()

    def _release(self) -> None:
        # Spans that are still in use hold the block's lease through their own.
        self._space.close()
        block, self._held = self._held, None
        if block is not None:
            block.free()

    def __repr__(self) -> str:
        return f"<MemoryPool {self.number} of {self.nbytes} bytes, {self._state.value}>"
