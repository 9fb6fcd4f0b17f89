"""The arguments of a kernel function, as they are put together, and how long they last."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from aacl.errors import InvalidArgument
from acl import _blocks
from acl._handles import Handles
from acl._status import PARAM_INVALID, Refused
from acl.rt._binary import Function, at_unload

if TYPE_CHECKING:
    import aacl

__all__ = ("KernelArgs", "Parameter", "forget", "keep", "kernel_args", "padded", "parameters")

_WORD = 8
_DATA_ALIGNMENT = 64
_KEPT_MOST = 4096  # of a function


class Parameter:
    """An argument: where it lies, its bytes, and the data that it points to.

    Attributes:
        owner: the arguments that it is one of.
        offset: of the first byte.
        nbytes: its length.
        buffer: where the data lie on the host and their bytes; None if it is no place holder, or has none yet.
        is_pointer: whether it is a place holder.
    """

    __slots__ = ("buffer", "is_pointer", "nbytes", "offset", "owner")

    def __init__(self, owner: KernelArgs, offset: int, nbytes: int, is_pointer: bool) -> None:
        self.owner, self.offset, self.nbytes, self.is_pointer = owner, offset, nbytes, is_pointer
        self.buffer: tuple[int, int] | None = None


class KernelArgs:
    """The arguments of a function.

    Attributes:
        function: the function.
        handle: what programs know them by; 0 until they are kept.
        is_final: whether they are complete.
        parameters: by handle, in their order.
    """

    __slots__ = ("_buffers", "_bytes", "_given", "_room", "function", "handle", "is_final", "parameters")

    def __init__(self, function: Function, room: tuple[int, int] | None = None) -> None:
        """Begin with none; ``room`` is the address and length of memory of the program's, where all has to fit."""
        self.function, self.handle, self.is_final = function, 0, False
        self.parameters: dict[int, Parameter] = {}
        self._bytes, self._room = bytearray(), room
        self._given = None if room is None else (room, _blocks.host_buffer(*room))
        self._buffers: list[aacl.HostBuffer] = []

    def append(self, data: bytes, *, is_pointer: bool = False) -> int:
        """Add an argument; return its handle."""
        if self.is_final:
            raise Refused(PARAM_INVALID, "the arguments were finalised; begin others with acl.rt.kernel_args_init")
        nbytes = padded(len(data))
        self._check_room(nbytes)
        parameter = Parameter(self, len(self._bytes), len(data), is_pointer)
        self._bytes += data.ljust(nbytes, b"\0")
        handle = parameters.add(parameter)
        self.parameters[handle] = parameter
        return handle

    def update(self, parameter: Parameter, data: bytes) -> None:
        """Give an argument other bytes, as many."""
        self._bytes[parameter.offset : parameter.offset + len(data)] = data

    def buffer(self, parameter: Parameter, nbytes: int) -> int:
        """Return where the data of a place holder go."""
        if parameter.buffer is None:
            if self._room is None:
                address = _blocks.allocate_host(nbytes)
                self._buffers.append(_blocks.host_blocks[address])  # alive even if the program frees it
                parameter.buffer = address, nbytes
            else:  # from the end of the program's memory, towards the arguments
                self._check_room(padded(nbytes))
                start, length = self._room
                self._room = start, length - padded(nbytes)
                parameter.buffer = start + self._room[1], nbytes
        address, known = parameter.buffer
        if known != nbytes:
            raise Refused(
                PARAM_INVALID, f"the place holder has a buffer of {known} bytes, which cannot become {nbytes}"
            )
        return address

    def free(self) -> None:
        """Free the buffers of place holders."""
        for buffer in self._buffers:
            with suppress(InvalidArgument):  # the program has
                _blocks.free_host(buffer.address)

    def _check_room(self, more: int) -> None:
        if self._room is not None and len(self._bytes) + more > self._room[1]:
            raise Refused(
                PARAM_INVALID,
                f"{more} bytes more do not fit in the memory that was given: {self._room[1] - len(self._bytes)} are left; "
                "acl.rt.kernel_args_get_mem_size tells what is needed",
            )

    def _check_given(self) -> None:
        """Raise `Refused` if memory of ours that the program gave was freed: its addresses may be another's by now."""
        if self._given is not None:
            room, buffer = self._given
            if _blocks.host_buffer(*room) is not buffer:
                raise Refused(PARAM_INVALID, f"the memory at {room[0]:#x}, where the arguments lie, was freed")

    def check(self) -> None:
        """Raise `Refused` unless a launch can use them."""
        least, name = self.function.native.nbytes, self.function.name
        if len(self._bytes) < least:
            raise Refused(
                PARAM_INVALID,
                f"function {name!r} takes {least} bytes of arguments, 8 or more each; there are {len(self._bytes)}",
            )
        for place, parameter in enumerate(self.parameters.values()):
            if parameter.is_pointer and parameter.buffer is None:
                raise Refused(
                    PARAM_INVALID,
                    f"argument {place} of function {name!r} is a place holder without data; "
                    "call acl.rt.kernel_args_get_place_holder_buffer",
                )

    def call(self, *, blocks: int, timeout: float | None) -> aacl.ops.KernelCall:
        """Return a run with the arguments, and the data of place holders, as they are now."""
        self._check_given()
        if self.handle not in self.function.launched:
            with _lock:
                if self.handle in self.function.arguments:  # not ended by another thread
                    self.function.launched[self.handle] = None
        data, inner = bytes(self._bytes), {}
        for parameter in self.parameters.values():
            if parameter.buffer is not None:
                start = -(-len(data) // _DATA_ALIGNMENT) * _DATA_ALIGNMENT
                data = data.ljust(start, b"\0") + _blocks.read(*parameter.buffer)
                inner[parameter.offset] = start
        return self.function.native.with_bytes(data, blocks=blocks, timeout=timeout, inner=inner)


kernel_args: Handles[KernelArgs] = Handles("kernel arguments")
parameters: Handles[Parameter] = Handles("kernel parameter")
_lock = threading.RLock()  # of which arguments of a function there are


def keep(handle: int, args: KernelArgs) -> int:
    """Keep arguments; no call ends them, so when the function has many those go that were launched first."""
    function, args.handle = args.function, handle
    with _lock:
        if len(function.arguments) >= _KEPT_MOST and function.launched:
            forget(next(iter(function.launched)))
        function.arguments[handle] = None
    return handle


def forget(handle: int) -> None:
    """Let arguments end; those that another thread has ended meanwhile are left alone."""
    with _lock:
        args = kernel_args.objects.pop(handle, None)
        if args is None:
            return
        args.function.arguments.pop(handle, None)
        args.function.launched.pop(handle, None)
        args.free()
        for parameter in args.parameters:
            parameters.objects.pop(parameter, None)


def _drop(function: Function) -> None:
    """Forget the arguments of a function that is no more."""
    for handle in [*function.arguments]:
        forget(handle)


def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()


at_unload(_drop)
os.register_at_fork(after_in_child=_after_fork)


def padded(nbytes: int) -> int:
    """Return the bytes that an argument takes: a multiple of 8."""
    return -(-nbytes // _WORD) * _WORD
