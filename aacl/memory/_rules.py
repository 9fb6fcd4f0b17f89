"""How each of AscendCL's allocation calls rounds and aligns."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ("ALIGN32", "CACHED", "DVPP", "HOST", "MALLOC", "TENSOR", "AllocationRule", "align_up")


def align_up(value: int, unit: int) -> int:
    """Return the smallest multiple of ``unit`` that is not below ``value``."""
    return -(-value // unit) * unit


class AllocationRule(NamedTuple):
    """The rounding of one allocation call; source: the API pages of the calls, and ``aclrtMalloc``'s."""

    owner: str
    """What error texts call an allocation of this kind."""
    alignment: int
    """Of the address, in bytes."""
    unit: int
    """Sizes are rounded up to multiples of this many bytes."""
    extra: int = 0
    """Bytes added after rounding."""

    def reserved(self, nbytes: int) -> int:
        """Return the bytes that an allocation of ``nbytes`` takes."""
        return -(-nbytes // self.unit) * self.unit + self.extra


MALLOC = AllocationRule("malloc", 64, 32, 32)
CACHED = AllocationRule("malloc_cached", 64, 32, 32)
ALIGN32 = AllocationRule("malloc_align32", 32, 32)
DVPP = AllocationRule("dvpp_malloc", 128, 2 << 20)
TENSOR = AllocationRule("tensor", 64, 32, 32)
HOST = AllocationRule("malloc_host", 64, 64)
