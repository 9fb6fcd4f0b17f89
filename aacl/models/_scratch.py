"""Memory that a run needs beyond what its program brought."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.memory._rules import TENSOR, align_up

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aacl.abc import Array
    from aacl.memory._space import DeviceMemory, Lease
    from aacl.streams._allocation import Allocation
    from aacl.streams._engine import StreamEngine
    from aacl.tensors._desc import TensorDesc

__all__ = ("Drawing", "allocate", "room_for", "staged")


def allocate(memory: DeviceMemory, nbytes: int) -> Lease:
    """Return the lease of fresh memory of the device's own, for what outlives a run.

    Args:
        memory: the device's.
        nbytes: how many bytes; 0 is taken as 1.

    Raises:
        OutOfMemory: the device has no such room.
    """
    return memory.bin(nbytes or 1, TENSOR).lease()


class Drawing:
    """A run with a block of its stream's allocator for as long as it takes.

    On a device it would hold what the run makes; the CPU's engine writes outputs of known shapes where they belong.
    """

    __slots__ = ("_allocation", "_nbytes", "_run", "_stream")

    _allocation: Allocation | None

    def __init__(
        self, run: Callable[[], object], allocation: Allocation, stream: StreamEngine, outputs: Sequence[TensorDesc]
    ) -> None:
        """Hold what is to run; the outputs' descriptions say how large the block is."""
        self._run, self._allocation, self._stream = run, allocation, stream
        self._nbytes = room_for([desc.nbytes for desc in outputs])

    def __call__(self) -> None:
        """Run it, once; its completion may live on, and does not hold the allocator then.

        Raises:
            AclError: the allocator failed, or what the run raises.
        """
        allocation, self._allocation = self._allocation, None
        assert allocation is not None, "a command runs once"
        with allocation.workspace(self._stream, self._nbytes):
            self._run()


def room_for(sizes: Sequence[int]) -> int:
    """Return the bytes of a block that holds arrays of these sizes, each at a multiple of the device's unit."""
    return sum([align_up(nbytes, TENSOR.unit) for nbytes in sizes])


def staged(memory: DeviceMemory, address: int, arrays: Sequence[Array]) -> list[Array]:
    """Copy arrays into a block that has room for them; return them as they lie there."""
    copies = []
    for array in arrays:
        copy = memory.backend.view(address, array.shape, array.dtype)
        np.copyto(copy, array)
        copies.append(copy)
        address += align_up(array.nbytes, TENSOR.unit)
    return copies
