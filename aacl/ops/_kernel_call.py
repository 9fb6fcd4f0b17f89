"""Runs of functions that a program launches by itself, and the bytes that are their arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from functools import partial
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, final

import numpy as np

from aacl._number import seconds, whole
from aacl.errors import InvalidArgument, InvalidMemoryRange, KernelTimeout
from aacl.memory._buffer import Buffer
from aacl.memory._copy import check_span
from aacl.memory._rules import align_up
from aacl.ops._launch import Launch
from aacl.ops._spread import LaunchCost, address_of, aligned, run_blocks
from aacl.streams._work import Work
from aacl.tensors._tensor import Tensor

if TYPE_CHECKING:
    from aacl.abc import Array, DeviceBackend
    from aacl.memory._space import DeviceMemory
    from aacl.ops._binary import KernelFunction

__all__ = ("NOWHERE", "KernelCall", "MemoryArguments", "packed")

NOWHERE: Mapping[int, int] = MappingProxyType({})
"""No pointers."""
_WORD = 8


@final
class KernelCall(Work[None]):
    """A run of a `KernelFunction`, which makes it; it may be executed again and again.

    What it does with the memory that its arguments point to, nobody but the function knows: of tensors that it was
    given it counts as the maker, and memory that is freed stays in place until it is over.

    Attributes:
        function: what runs.
        blocks: how many blocks run it.
    """

    __slots__ = ("_arguments", "_nbytes", "_timeout", "_updates", "_uses", "blocks", "function")

    is_timed = True
    _updates: tuple[Tensor, ...]
    _cost: LaunchCost

    def __init__(
        self,
        function: KernelFunction,
        arguments: bytes | MemoryArguments,
        blocks: int,
        *,
        timeout: float | None = None,
        inner: Mapping[int, int] = NOWHERE,
        uses: Iterable[object] = (),
    ) -> None:
        """Hold what is to run; call the function instead."""
        super().__init__()
        self._timeout = None if timeout is None else seconds(timeout, "a launch's timeout")
        self.function, self.blocks = function, Launch(function.name, blocks=blocks).blocks
        if len(arguments) < function.nbytes:
            raise InvalidArgument(
                f"function {function.name!r} takes {function.nbytes} bytes of arguments; there are {len(arguments)}"
            )
        self._nbytes = len(arguments)
        self._arguments = arguments if isinstance(arguments, MemoryArguments) else _linked(arguments, inner)
        self._uses = tuple([each for each in uses if isinstance(each, (Tensor, Buffer))])
        self._updates = tuple([each for each in self._uses if isinstance(each, Tensor)])
        self._cost, self._result = LaunchCost(), None

    @property
    def arguments(self) -> bytes | None:
        """The bytes as the function sees them; None where they lie in memory of the device."""
        return None if isinstance(self._arguments, MemoryArguments) else self._arguments[: self._nbytes].tobytes()

    def bind(self, memory: DeviceMemory) -> None:
        """Check that the memory it was given is still there."""
        epoch = memory.epoch  # read first: what is freed meanwhile makes it stale
        for each in self._uses:
            _check_in_place(each)
        # Not a method of its own: in a cycle it would hold memory until the collector comes.
        self._run = partial(
            _run_on, memory.backend, self.function, self._arguments, self.blocks, self._cost, self._timeout
        )
        self._epoch = epoch

    def reads(self) -> Iterable[Tensor]:
        return self._updates

    def name(self) -> str:
        return _named(self.function)


def _run_on(
    backend: DeviceBackend,
    function: KernelFunction,
    arguments: Array | MemoryArguments,
    blocks: int,
    cost: LaunchCost,
    timeout: float | None,
) -> None:
    data = aligned(arguments.read()) if isinstance(arguments, MemoryArguments) else arguments
    began = perf_counter()
    run_blocks(backend, function.runner(data, blocks), blocks, cost)
    elapsed = perf_counter() - began
    if timeout is not None and elapsed > timeout:
        raise KernelTimeout(f"{_named(function)} ran for {elapsed:.3f} s; its launch allows {timeout:g} s")


def _named(function: KernelFunction) -> str:
    return f"function {function.name!r}"


class MemoryArguments:
    """Arguments that lie in memory of the device."""

    __slots__ = ("_address", "_lease", "_nbytes")

    def __init__(self, address: int, nbytes: int) -> None:
        self._address, self._nbytes = whole(address, "an address"), whole(nbytes, "a number of bytes")
        self._lease = check_span(self._address, self._nbytes, "read")
        if self._lease is None:
            raise InvalidMemoryRange(f"{self._address:#x} is no memory of a device; pass the bytes that lie there")

    def __len__(self) -> int:
        return self._nbytes

    def read(self) -> bytes:
        """Return what lies there now; the lease keeps it in place."""
        return ctypes.string_at(self._address, self._nbytes)


def packed(argument: object) -> bytes:
    """Return an argument's bytes, with zeros to a multiple of 8."""
    data: bytes
    if isinstance(argument, (Tensor, Buffer)):
        _check_in_place(argument)
        data = argument.address.to_bytes(_WORD, "little")
    elif isinstance(argument, np.generic):
        data = argument.tobytes()
    elif isinstance(argument, (bytes, bytearray, memoryview)):
        data = bytes(argument)
    elif isinstance(argument, int) and -(1 << 63) <= argument < 1 << 64:
        data = (argument & (1 << 64) - 1).to_bytes(_WORD, "little")
    else:
        raise InvalidArgument(
            f"an argument of a function is a tensor, a buffer, a whole number of 64 bits, bytes, or a NumPy scalar such "
            f"as numpy.float32(0.5), not {argument!r}"
        )
    return data.ljust(align_up(len(data), _WORD), b"\0")


def _check_in_place(thing: Tensor | Buffer) -> None:
    if isinstance(thing, Tensor):
        thing.lease()
        thing.check_settled()
    else:
        thing.lease("use")


def _linked(data: bytes, inner: Mapping[int, int]) -> Array:
    """Return arguments in place, with the pointers into themselves."""
    placed = aligned(data)
    start = address_of(placed)
    for at, to in inner.items():
        if not (0 <= at <= len(data) - _WORD and 0 <= to <= len(data)):
            raise InvalidArgument(f"a pointer at byte {at} to byte {to} is not within {len(data)} bytes of arguments")
        placed[at : at + _WORD] = np.frombuffer(np.uint64(start + to).tobytes(), np.uint8)
    return placed
