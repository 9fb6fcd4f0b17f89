"""Buffers: spans of device memory, and of host memory that copies may rely on."""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from aacl._number import size, whole
from aacl.dtypes import DataType
from aacl.errors import ClosedResource, InvalidArgument, OutOfMemory
from aacl.memory import _host
from aacl.memory._rules import HOST, MALLOC, AllocationRule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aacl.abc import Array
    from aacl.memory._space import DeviceMemory, Lease

__all__ = ("Buffer", "HostBuffer", "host_memory")

_new = object.__new__
_BYTE = np.dtype(np.uint8)


class _Pin:
    """What owns the memory of a view that a program got: it holds the block's lease until the last such view dies."""

    __slots__ = ("__array_interface__", "_lease", "_memory")

    def __init__(self, address: int, nbytes: int, lease: Lease, memory: Array) -> None:
        self._lease, self._memory = lease, memory
        self.__array_interface__ = {"data": (address, False), "shape": (nbytes,), "typestr": "|u1", "version": 3}


@final
class Buffer:
    """A span of bytes on a device. Made by `Device.allocate`, `MemoryPool.allocate` or inside a tensor.

    The span goes back to the device when the buffer is freed or garbage
    collected, but never while queued work or a view still uses it.

    Attributes:
        address: the first byte's true address, in this process.
        nbytes: the bytes asked for.
        reserved_nbytes: the bytes taken, by AscendCL's rounding.
    """

    __slots__ = ("__weakref__", "_lease", "_space", "address", "nbytes", "reserved_nbytes")

    _lease: Lease | None
    _space: DeviceMemory
    address: int
    nbytes: int
    reserved_nbytes: int

    def __init__(self) -> None:
        raise TypeError("buffers are made by Device.allocate(nbytes) or MemoryPool.allocate(nbytes)")

    @property
    def freed(self) -> bool:
        """Whether `free` was called."""
        return self._lease is None

    @property
    def device_index(self) -> int:
        """The number of the device that it is on; -1 for memory of the host."""
        return self._space.index

    def free(self) -> None:
        """End the program's use of the span.

        Raises:
            ClosedResource: it was freed before.
        """
        lease, self._lease = self._lease, None
        if lease is None:
            raise ClosedResource(f"cannot free {self!r} twice")
        self._space.free(lease)

    def view(self, shape: Sequence[int], dtype: DataType | np.dtype[Any] | type[Any] | str, offset: int = 0) -> Array:
        """Return a writable C-contiguous array on these bytes; nothing is copied.

        Device work that is queued may still write them: synchronise before reading.

        Args:
            shape: of the array.
            dtype: of its elements.
            offset: of its first byte in the buffer.

        Raises:
            ClosedResource: the buffer was freed.
            InvalidArgument: the array would not fit.
        """
        lease = self.lease("view")
        dims, item = tuple([whole(dim, "a dim") for dim in shape]), DataType.of(dtype).numpy_dtype
        nbytes = math.prod(dims) * item.itemsize
        if offset < 0 or any(dim < 0 for dim in dims) or offset + nbytes > self.reserved_nbytes:
            raise InvalidArgument(
                f"an array of shape {dims} and dtype {item} at byte {offset} takes {nbytes} bytes; "
                f"{self!r} has {self.reserved_nbytes}"
            )
        address = self.address + offset
        # NumPy shortens a chain of bases that are all plain arrays. The pin is none, so every array
        # made from the one returned here keeps it.
        pin = _Pin(address, nbytes, lease, self._space.backend.view(address, (nbytes,), _BYTE))
        return np.ndarray(dims, item, np.asarray(pin))

    def check_writable(self, offset: int, nbytes: int) -> None:
        """Check that bytes of the buffer can be written, as those of a device always can.

        Raises:
            InvalidMemoryRange: it is host memory, and read-only.
        """
        if self._space.index < 0:
            _host.check_writable(self.address + offset, nbytes)

    def lease(self, act: str) -> Lease:
        """Return what keeps the bytes in place as long as it is held.

        Raises:
            ClosedResource: the buffer was freed.
        """
        lease = self._lease
        if lease is None:
            raise ClosedResource(f"cannot {act} {self!r}; allocate another")
        if self._space.closed:
            raise ClosedResource(f"cannot {act} {self!r}; its device was closed")
        return lease

    def __bytes__(self) -> bytes:
        return self.view((self.nbytes,), np.uint8).tobytes()

    def __repr__(self) -> str:
        state = "freed " if self.freed else ""
        return f"<{state}Buffer of {self.nbytes} bytes at {self.address:#x} on device {self._space.index}>"


def allocate(space: DeviceMemory, nbytes: int, rule: AllocationRule = MALLOC) -> Buffer:
    """Return a new buffer of ``nbytes`` on a device, rounded and aligned by ``rule``."""
    nbytes = whole(nbytes, "a number of bytes")
    return wrap(space, space.bin(nbytes, rule).lease(), nbytes)


def wrap(space: DeviceMemory, lease: Lease, nbytes: int) -> Buffer:
    """Return the buffer of a lease."""
    buffer = _new(Buffer)
    buffer._space, buffer._lease, buffer.address = space, lease, lease.address
    buffer.nbytes, buffer.reserved_nbytes = nbytes, lease.reserved
    return buffer


class _HostLease:
    """Host memory has no plan: whoever gave its address keeps it alive."""

    __slots__ = ("address", "reserved")

    def __init__(self, address: int, reserved: int) -> None:
        self.address, self.reserved = address, reserved


class _HostSpace:
    """Host memory, where a program passes its address in the place of a device's."""

    index = -1
    closed = False
    epoch = object()
    unsettled: ClassVar[dict[int, object]] = {}

    @property
    def backend(self) -> _HostSpace:
        return self

    def view(self, address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Return an array on memory that was checked to be mapped."""
        nbytes = math.prod(shape) * dtype.itemsize
        memory: Any = (ctypes.c_char * nbytes).from_address(address)
        return np.ndarray(shape, dtype, memory)

    def fill(self, address: int, value: int, nbytes: int) -> None:
        """Set bytes as memset does."""
        ctypes.memset(address, value, nbytes)

    def free(self, lease: object) -> None:
        """Nothing was allocated."""

    def add_fault(self, tensor: object) -> None:
        """Look for it in the tensor: what runs on a device reads host memory at its own risk."""


_HOST_SPACE: Any = _HostSpace()


def host_memory(address: int, nbytes: int) -> Buffer:
    """Return a buffer on host memory, for programs that pass host pointers where device pointers belong.

    The program keeps the memory alive and in place while work uses it.

    Raises:
        InvalidMemoryRange: the memory is not mapped, or cannot be read.
        InvalidArgument: a negative size, or what is no whole number.
    """
    address, nbytes = whole(address, "an address"), size(nbytes)
    _host.check_readable(address, nbytes)
    buffer = _new(Buffer)
    lease: Any = _HostLease(address, nbytes)
    buffer._space, buffer._lease, buffer.address = _HOST_SPACE, lease, address
    buffer.nbytes = buffer.reserved_nbytes = nbytes
    return buffer


@final
class HostBuffer:
    """Host memory aligned to 64 bytes that copies use without checking it first (AscendCL's pinned memory).

    Attributes:
        address: of the first byte.
        nbytes: its length.
        array: the bytes, ``uint8``.
    """

    __slots__ = ("__del__", "__weakref__", "address", "array", "nbytes")

    __del__: Callable[[], object]

    def __init__(self, nbytes: int) -> None:
        """Allocate ``nbytes`` of host memory.

        Raises:
            InvalidArgument: ``nbytes`` is not positive.
            OutOfMemory: the host has no such memory.
        """
        nbytes = size(nbytes)
        if not nbytes:
            raise InvalidArgument(f"cannot allocate {nbytes} bytes of host memory; ask for at least 1")
        try:
            raw = np.empty(HOST.reserved(nbytes) + HOST.alignment, np.uint8)
        except (MemoryError, ValueError, OverflowError):
            raise OutOfMemory(f"the host cannot give {nbytes} bytes; ask for less") from None
        skip = -raw.ctypes.data % HOST.alignment
        self.array = raw[skip : skip + nbytes]
        self.address, self.nbytes = raw.ctypes.data + skip, nbytes
        self.__del__ = _host.distrusting(self.address)
        _host.trust(self.address, nbytes)

    def free(self) -> None:
        """Stop relying on the memory; it lives on while arrays of it do."""
        _host.distrust(self.address)

    def __repr__(self) -> str:
        return f"<HostBuffer of {self.nbytes} bytes at {self.address:#x}>"
