"""Memory between two fences: what a kernel writes beside its outputs is seen there.

With ``AACL_CHECK_KERNELS=1`` a launch works on copies of its inputs and outputs and on workspaces that lie so.
What is written within a fence's length of them is found after the run; what is written further away is not.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.memory._rules import AllocationRule

if TYPE_CHECKING:
    from aacl.abc import Array
    from aacl.memory._space import DeviceMemory

__all__ = ("FENCE", "Fenced")

FENCE = 4096
"""Bytes of each fence."""

_RULE = AllocationRule("guarded kernel", 64, 64)
_BYTE = np.dtype(np.uint8)


@cache
def _pattern() -> Array:
    """Return bytes that nobody writes by chance."""
    return np.random.default_rng(0x1ACC).integers(0, 256, FENCE, np.uint8)


class Fenced:
    """An array with a fence before and one behind it.

    Attributes:
        array: in the middle; its contents are arbitrary.
    """

    __slots__ = ("_after", "_before", "_lease", "_what", "array")

    def __init__(self, memory: DeviceMemory, shape: tuple[int, ...], dtype: np.dtype[Any], what: str) -> None:
        """Take device memory for an array.

        Args:
            memory: the device's.
            shape: of the array.
            dtype: of its elements.
            what: texts call it so.
        """
        nbytes = math.prod(shape) * dtype.itemsize
        self._lease = memory.bin(nbytes + 2 * FENCE, _RULE).lease()
        start, view = self._lease.address, memory.backend.view
        self.array = view(start + FENCE, shape, dtype)
        self._before = view(start, (FENCE,), _BYTE)
        self._after = view(start + FENCE + nbytes, (FENCE,), _BYTE)
        self._what = what
        self._before[:] = self._after[:] = _pattern()

    @classmethod
    def copy_of(cls, memory: DeviceMemory, array: Array, what: str) -> Fenced:
        """Return a copy of an array between fences."""
        fenced = cls(memory, array.shape, array.dtype, what)
        np.copyto(fenced.array, array)
        return fenced

    def breach(self) -> str | None:
        """Return what was written outside the array, as text; None if nothing was."""
        before, after = np.flatnonzero(self._before != _pattern()), np.flatnonzero(self._after != _pattern())
        found = [f"up to {FENCE - int(before[0])} bytes before the start"] if before.size else []
        if after.size:
            found.append(f"up to {int(after[-1]) + 1} bytes behind the end")
        return f"{' and '.join(found)} of {self._what} ({self.array.nbytes} bytes)" if found else None

    def change(self, original: Array) -> str | None:
        """Return where the array differs from what it was made from, as text; None if nowhere."""
        mine, theirs = (each.reshape(-1).view(np.uint8) for each in (self.array, original))
        places = np.flatnonzero(mine != theirs)
        return f"{self._what}, from byte {int(places[0])} to byte {int(places[-1])}" if places.size else None
