"""Tensors: a description and the device memory that holds its elements."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any, final

import numpy as np

from aacl.errors import ClosedResource, InvalidArgument, WouldBlock
from aacl.memory._buffer import Buffer, wrap
from aacl.memory._rules import TENSOR
from aacl.memory._space import Epoch
from aacl.tensors._desc import TensorDesc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aacl.abc import Array
    from aacl.dtypes import DataType, Format
    from aacl.memory._space import DeviceMemory, Lease

__all__ = ("Tensor",)

_new = object.__new__
_wrapping = threading.Lock()
"""So that all threads that ask for a tensor's buffer get the same one."""


@final
class Tensor:
    """Elements in device memory. Made by ``stream.to_device``, ``aacl.empty`` and by running operations.

    NumPy, DLPack and (from Python 3.12) the buffer protocol see the elements in
    place, without a copy; each of them waits until the commands that write the
    tensor are over, and refuses to do so on an event loop's thread.

    Where the values of an operator's inputs decide its output's shape, the output has -1 dims with
    ranges until the command that makes it is over, and its exact shape from then on.

    Attributes:
        desc: dtype, shape and format.
    """

    __slots__ = ("__weakref__", "_array", "_buffer", "_capacity", "_fault", "_lease", "_offset", "_producer", "_space",
                 "desc")  # fmt: skip

    desc: TensorDesc
    # A tensor in fresh memory holds the lease itself, until somebody asks for its buffer.
    _lease: Lease | None
    _buffer: Buffer | None
    _space: DeviceMemory
    _array: Array
    _fault: BaseException | None
    _producer: Any  # the latest queued command that writes it; a Completion
    _offset: int
    _capacity: int  # bytes of its memory; there once the elements may be fewer

    def __init__(self, desc: TensorDesc, buffer: Buffer, offset: int = 0) -> None:
        """Describe memory that is there already.

        Args:
            desc: a description without free dims.
            buffer: the memory.
            offset: of the first element, in bytes.

        Raises:
            ClosedResource: the buffer was freed.
            InvalidArgument: the elements would not lie within the buffer.
        """
        buffer.lease("make a tensor of")
        if not desc.is_static:
            raise InvalidArgument(f"a tensor needs every dim; {desc!r} has free ones")
        if offset < 0 or offset + desc.nbytes > buffer.reserved_nbytes:
            raise InvalidArgument(
                f"{desc!r} takes {desc.nbytes} bytes at byte {offset}; {buffer!r} has {buffer.reserved_nbytes}"
            )
        self.desc, self._buffer, self._offset = desc, buffer, offset
        self._space, self._lease = buffer._space, None
        self._array = buffer._space.backend.view(buffer.address + offset, desc.shape, desc.dtype.numpy_dtype)
        self._fault = self._producer = None

    @property
    def dtype(self) -> DataType:
        """The type of the elements."""
        return self.desc.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The dims."""
        return self.desc.shape

    @property
    def format(self) -> Format:
        """The layout of the dims."""
        return self.desc.format

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return len(self.desc.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self.desc.nbytes

    @property
    def capacity(self) -> int:
        """Bytes that it was made with: where a run decides its shape, the elements may take fewer."""
        return self._capacity if hasattr(self, "_capacity") else self._array.nbytes

    @property
    def buffer(self) -> Buffer:
        """The memory; several tensors may lie in one buffer."""
        buffer = self._buffer
        if buffer is None:
            with _wrapping:
                buffer = self._buffer
                if buffer is None:
                    lease = self._lease
                    assert lease is not None, "a tensor has a lease or a buffer"
                    buffer = self._buffer = wrap(self._space, lease, self.capacity or 1)
                    self._lease = None
        return buffer

    @property
    def address(self) -> int:
        """The true address of the first element, in this process."""
        lease = self._lease  # once: another thread may ask for the buffer meanwhile
        return (self.buffer if lease is None else lease).address + self._offset

    @property
    def device_index(self) -> int:
        """The number of the device whose memory it is."""
        return self._space.index

    def free(self) -> None:
        """End the program's use of the tensor's buffer; queued commands that use it are not disturbed.

        Raises:
            ClosedResource: it was freed before.
        """
        self.buffer.free()

    def view(self) -> Array:
        """Return the elements as a writable array on the device's memory; the memory stays as long as the array.

        Raises:
            ClosedResource: the tensor was freed.
            WouldBlock: a command that writes it is not over, and an event loop runs on this thread.
            BaseException: what the command that should have written it failed with.
        """
        self.buffer.lease("view")
        producer = self._producer
        if producer is not None:
            if not producer.done():
                _wait(self, producer)
            self._producer = None
        if self._fault is not None:
            raise self._fault
        self.check_settled()
        return self.buffer.view(self.desc.shape, self.desc.dtype, self._offset)

    def check_writable(self) -> None:
        """Check that the elements can be written.

        Raises:
            InvalidMemoryRange: they lie in host memory that is read-only.
        """
        if self._space.index < 0:
            self.buffer.check_writable(self._offset, self.nbytes)

    def fail(self, cause: BaseException) -> None:
        """Say that the elements were never made: whoever reads them fails with the same cause."""
        self._fault = cause
        self._space.add_fault(self)

    def bounded(self, desc: TensorDesc) -> None:
        """Say that only the bounds of the shape are known yet; the memory is for the largest."""
        self.desc = desc

    def settle(self, shape: tuple[int, ...]) -> None:
        """Say what the exact shape is; the elements lie without a gap at the start of the memory."""
        if not hasattr(self, "_capacity"):
            self._capacity = self._array.nbytes
        if self.desc.is_static and shape != self.desc.shape:
            self._space.epoch = Epoch()  # what is tied to the shape that it had looks at it again
        # The array first: who reads the description and then the array never pairs the exact one with the largest.
        self._array = self._space.backend.view(self.address, shape, self.desc.dtype.numpy_dtype)
        self.desc = TensorDesc.of(self.desc.dtype, shape, self.desc.format, name=self.desc.name)

    def adopt(self, lease: Lease, shape: tuple[int, ...]) -> None:
        """Take the memory that comes with the run, and the exact shape; what the program freed stays freed."""
        self._lease, self._offset = lease, 0
        if self._buffer is not None and not self._buffer.freed:
            self._buffer = None
        self.settle(shape)
        self._capacity = self._array.nbytes

    def check_settled(self) -> None:
        """Check that the exact shape is known.

        Raises:
            InvalidArgument: the command that makes the tensor is not over, and its values decide the shape.
        """
        if not self.desc.is_static:
            raise InvalidArgument(
                f"the exact shape of {self!r} is known only when the command that makes it is over; await it first"
            )

    def told_shape(self) -> tuple[int, ...]:
        """Return the exact shape that the latest run told: what a command finds when its turn has come.

        Between that run and the command, others may have been submitted that are to write the tensor next, so
        that the description is open again.

        Raises:
            InvalidArgument: no run has told it.
        """
        if not hasattr(self, "_capacity"):
            self.check_settled()
        return self._array.shape

    def filled(self, producer: Any = None) -> None:
        """Say that the elements are there; a later command that is still to make others stays their producer."""
        self._fault = None
        if self._producer is producer or producer is None:
            self._producer = None
            self._space.unsettled.pop(id(self), None)

    def to_be_filled(self, producer: Any) -> None:
        """Say which queued command makes the elements; its completion holds the tensor until then."""
        self._producer = producer
        self._space.unsettled[id(self)] = None

    def lease(self) -> Lease:
        """Return what keeps the elements in place.

        Raises:
            ClosedResource: the tensor was freed.
        """
        lease = self._lease if self._buffer is None else self._buffer._lease
        if lease is None and self._buffer is not None:  # another thread asked for the buffer meanwhile
            lease = self._buffer._lease
        if lease is None:
            raise ClosedResource(f"cannot use {self!r}; its buffer was freed")
        if self._space.closed:
            raise ClosedResource(f"cannot use {self!r}; its device was closed")
        return lease

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array = self.view()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(f"a view of {self!r} as {np.dtype(dtype)} needs a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, **options: Any) -> Any:
        return self.view().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # kDLCPU: the software device's memory is the host's

    def __buffer__(self, flags: int) -> memoryview:
        return memoryview(self.view())  # type: ignore[arg-type]

    def __len__(self) -> int:
        if not self.desc.shape:
            raise TypeError("a scalar tensor has no length")
        self.check_settled()
        return self.desc.shape[0]

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("a device tensor is not iterable; copy it to the host with stream.to_host(tensor)")

    def __bool__(self) -> bool:
        raise TypeError("the truth of a device tensor is not known here; copy it to the host first")

    def __repr__(self) -> str:
        freed = self._buffer is not None and self._buffer.freed
        state = "freed " if freed else "failed " if self._fault is not None else ""
        return f"<{state}Tensor {self.desc.dtype.name} {list(self.desc.shape)} on device {self.device_index}>"


def _wait(tensor: Tensor, producer: Any) -> None:
    try:
        producer.wait()
    except WouldBlock as error:
        raise WouldBlock(f"{tensor!r} is still being written: {error}; use await stream.to_host(tensor)") from None


class Maker:
    """Makes tensors of one description in fresh memory: the hot path of every new output."""

    __slots__ = ("_bin", "_desc", "_dtype", "_latest", "_memory", "_shape", "_view")

    _latest: tuple[int, Array | None]

    def __init__(self, memory: DeviceMemory, desc: TensorDesc, room: int = 1) -> None:
        """Prepare to make tensors; each takes as many bytes as its elements, or ``room``, which may be more."""
        if not desc.is_static:
            raise InvalidArgument(f"a tensor needs every dim; {desc!r} has free ones")
        self._memory, self._desc = memory, desc
        self._bin = memory.bin(max(desc.nbytes, room), TENSOR)
        self._shape, self._dtype, self._view = desc.shape, desc.dtype.numpy_dtype, memory.backend.view
        self._latest = 0, None

    def __call__(self) -> Tensor:
        """Return a new tensor; its contents are arbitrary."""
        lease = self._bin.lease()
        tensor = _new(Tensor)
        tensor.desc, tensor._space, tensor._lease, tensor._offset = self._desc, self._memory, lease, 0
        tensor._buffer = tensor._fault = tensor._producer = None
        # Most often the block is that of the tensor made before, which is gone: its array does again.
        address, array = self._latest
        if array is None or address != lease.address:
            array = self._view(lease.address, self._shape, self._dtype)
            self._latest = lease.address, array
        tensor._array = array
        return tensor


def empty(memory: DeviceMemory, desc: TensorDesc) -> Tensor:
    """Return a tensor in fresh memory; its contents are arbitrary."""
    return Maker(memory, desc)()


def pending(memory: DeviceMemory, desc: TensorDesc) -> Tensor:
    """Return a tensor of free dims whose memory and exact shape come with the command that makes it.

    Until `Tensor.adopt` it has no elements.
    """
    lease = memory.bin(1, TENSOR).lease()
    tensor = _new(Tensor)
    tensor.desc, tensor._space, tensor._lease, tensor._offset = desc, memory, lease, 0
    tensor._buffer = tensor._fault = tensor._producer = None
    none = tuple([max(dim, 0) for dim in desc.shape])
    tensor._array = memory.backend.view(lease.address, none, desc.dtype.numpy_dtype)
    return tensor


def _after_fork() -> None:
    """Another thread of the parent may have held the lock."""
    global _wrapping
    _wrapping = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)

if sys.version_info < (3, 12):  # the buffer protocol reaches Python classes with PEP 688
    del Tensor.__buffer__
