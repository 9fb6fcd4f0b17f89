"""Device memory: allocations, buffers, copies by address."""

from aacl.memory._addresses import AddressRange as AddressRange
from aacl.memory._addresses import mapped_buffer as mapped_buffer
from aacl.memory._allocator import Allocator as Allocator
from aacl.memory._buffer import Buffer as Buffer
from aacl.memory._buffer import HostBuffer as HostBuffer
from aacl.memory._buffer import host_memory as host_memory
from aacl.memory._copy import allocation_at as allocation_at
from aacl.memory._copy import copy as copy
from aacl.memory._copy import fill as fill
from aacl.memory._copy import is_device_address as is_device_address
from aacl.memory._copy import read_bytes as read_bytes
from aacl.memory._host import keep as keep_alive
from aacl.memory._physical import PhysicalMemory as PhysicalMemory
from aacl.memory._rules import ALIGN32 as ALIGN32
from aacl.memory._rules import CACHED as CACHED
from aacl.memory._rules import DVPP as DVPP
from aacl.memory._rules import MALLOC as MALLOC
from aacl.memory._rules import AllocationRule as AllocationRule
from aacl.memory._space import MemoryInfo as MemoryInfo

__all__ = (
    "ALIGN32",
    "CACHED",
    "DVPP",
    "MALLOC",
    "AddressRange",
    "AllocationRule",
    "Allocator",
    "Buffer",
    "HostBuffer",
    "MemoryInfo",
    "PhysicalMemory",
    "allocation_at",
    "copy",
    "fill",
    "host_memory",
    "is_device_address",
    "keep_alive",
    "mapped_buffer",
    "read_bytes",
)
