"""Copies between host arrays, tensors and buffers, as work of a stream."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from aacl._number import size, whole
from aacl.errors import InvalidArgument, InvalidMemoryRange
from aacl.memory import _host
from aacl.memory._buffer import Buffer
from aacl.memory._copy import check_span, copy, is_device_address
from aacl.streams._budget import Cost
from aacl.streams._work import Work
from aacl.tensors._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from aacl.abc import Array
    from aacl.memory._space import DeviceMemory

__all__ = ("Copy", "CopyMemory", "Fill", "Read", "Write", "copy_cost")

_costs: dict[int, Cost] = {}


def copy_cost(nbytes: int) -> Cost:
    """Return what copies of about this size cost."""
    size = nbytes.bit_length()
    cost = _costs.get(size)
    if cost is None:
        cost = _costs[size] = Cost.of(nbytes)
    return cost


class _Transfer(Work[Any]):
    """What the kinds have in common: they are bound when made, and used once."""

    __slots__ = ("_keeps", "_reads")

    def __init__(
        self,
        run: Callable[[], object],
        result: Any,
        nbytes: int,
        reads: tuple[Tensor, ...] = (),
        keeps: tuple[object, ...] = (),
    ) -> None:
        """Prepare a transfer; ``keeps`` is what else holds the memory in place while it is queued."""
        super().__init__()
        self._run, self._result, self._cost = run, result, copy_cost(nbytes)
        self._reads, self._keeps = reads, keeps

    def bind(self, memory: DeviceMemory) -> None:
        """Nothing is left to check but the contents of what is read."""
        self._epoch = memory.epoch

    def reads(self) -> Iterable[Tensor]:
        return self._reads

    def name(self) -> str:
        return type(self).__name__.lower()


class Write(_Transfer):
    """A host array into a tensor."""

    __slots__ = ()

    @classmethod
    def of(cls, tensor: Tensor, array: Array) -> Write:
        """Return the copy of ``array``, which has the tensor's shape and dtype, into it."""
        tensor.lease()
        return cls(partial(np.copyto, tensor._array, array), tensor, tensor.nbytes)


class Read(_Transfer):
    """A tensor into a host array."""

    __slots__ = ()

    @classmethod
    def of(cls, tensor: Tensor, out: Array | None) -> Read:
        """Return the copy of a tensor into ``out``, or into a new array.

        Raises:
            InvalidArgument: ``out`` has another shape or dtype, or cannot be written.
        """
        tensor.lease()
        is_settled, source = tensor.desc.is_static, tensor._array
        if out is None and not is_settled:  # the source is as large as it may get
            found = np.empty(source.shape, source.dtype)
            return cls(partial(_read_settled, tensor, found), found, source.nbytes, (tensor,))
        tensor.check_settled()
        if out is None:
            out = np.empty(source.shape, source.dtype)
        elif not isinstance(out, np.ndarray):
            raise InvalidArgument(f"cannot copy {tensor!r} to a {type(out).__name__}; pass a NumPy array")
        elif out.shape != source.shape or out.dtype != source.dtype or not out.flags.writeable:
            raise InvalidArgument(
                f"cannot copy {tensor!r} to an array of shape {out.shape} and dtype {out.dtype}"
                f"{'' if out.flags.writeable else ' that is read-only'}; its shape is {source.shape}, "
                f"its dtype {source.dtype}"
            )
        return cls(partial(np.copyto, out, source), out, tensor.nbytes, (tensor,))


def _read_settled(tensor: Tensor, out: Array) -> None:
    """Read a tensor whose shape was not known when this was submitted, into an array that nobody else has yet."""
    out.resize(tensor.told_shape(), refcheck=False)
    np.copyto(out, tensor._array)


class Copy(_Transfer):
    """Bytes from one device buffer or tensor to another."""

    __slots__ = ()

    @classmethod
    def of(cls, target: Tensor | Buffer, source: Tensor | Buffer, nbytes: int | None) -> Copy:
        """Return the copy of the first ``nbytes``, by default all that the source has.

        Raises:
            ClosedResource: one of them was freed.
            InvalidMemoryRange: the target, or the source, has fewer bytes.
        """
        to, of = _span(target), _span(source)
        count = of[1] if nbytes is None else size(nbytes)
        if not 0 <= count <= min(to[1], of[1]):
            raise InvalidMemoryRange(
                f"cannot copy {count} bytes from {source!r} ({of[1]} bytes) to {target!r} ({to[1]} bytes)"
            )
        _check_writable(target)
        run = partial(_host.move, to[0], of[0], count)
        reads = (source,) if isinstance(source, Tensor) else ()
        return cls(run, target, count, reads, (source,))


class CopyMemory(_Transfer):
    """Bytes from one address to another, of host or device memory."""

    __slots__ = ()

    @classmethod
    def of(cls, target: int, source: int, nbytes: int) -> CopyMemory:
        """Return the copy, its addresses checked.

        Raises:
            InvalidMemoryRange: bytes outside an allocation, or host memory that is not mapped.
        """
        target, source = whole(target, "an address"), whole(source, "an address")
        nbytes = size(nbytes)
        keeps = (check_span(target, nbytes, "write"), check_span(source, nbytes, "read"))
        return cls(partial(_copy_unfreed, target, source, nbytes), None, nbytes, (), keeps)


class Fill(_Transfer):
    """One byte over a buffer or tensor."""

    __slots__ = ()

    @classmethod
    def of(cls, target: Tensor | Buffer, value: int) -> Fill:
        """Return the fill of all bytes with the low byte of ``value``."""
        address, nbytes = _span(target)
        _check_writable(target)
        backend = (target.buffer if isinstance(target, Tensor) else target)._space.backend
        return cls(partial(backend.fill, address, whole(value, "a byte") & 0xFF, nbytes), target, nbytes)


def _check_writable(thing: Tensor | Buffer) -> None:
    if isinstance(thing, Tensor):
        thing.check_writable()
    else:
        thing.check_writable(0, thing.nbytes)


def _copy_unfreed(target: int, source: int, nbytes: int) -> None:
    """Copy between spans that were good at submission; device memory is in place even if it was freed since."""
    to_device, of_device = is_device_address(target), is_device_address(source)
    if to_device and of_device:
        _host.move(target, source, nbytes)
    elif not to_device and not of_device:
        copy(target, source, nbytes)
    elif to_device:
        _host.read(target, source, nbytes)
    else:
        _host.write(target, source, nbytes)


def _span(thing: Tensor | Buffer) -> tuple[int, int]:
    if not isinstance(thing, (Tensor, Buffer)):
        raise InvalidArgument(f"expected a Tensor or a Buffer of device memory, not {type(thing).__name__}")
    if isinstance(thing, Tensor):
        thing.lease()
        thing.check_settled()
    else:
        thing.lease("copy")
    return thing.address, thing.nbytes
