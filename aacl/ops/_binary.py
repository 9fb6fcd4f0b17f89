"""Functions of host shared objects that a program launches by itself, with arguments of its own.

A function is one that ``AACL_GLOBAL`` defines. Its arguments are bytes, laid out as AscendCL lays out those of a
kernel: one after the other, each at a multiple of 8 bytes, tensors by their addresses.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, final

from aacl.errors import KernelError, KernelLoadError
from aacl.ops._kernel_call import NOWHERE, KernelCall, MemoryArguments, packed
from aacl.ops._shared_object import checked_symbol, image_of, library_of
from aacl.ops._spread import address_of
from aacl.streams._completion import Completion

if TYPE_CHECKING:
    from aacl.abc import Array
    from aacl.ops._spread import RunBlocks

__all__ = ("KernelBinary", "KernelFunction")

_GLOBAL, _BYTES, _KERNEL = "aacl_global_", "aacl_bytes_", "aacl_kernel_"
_Function = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_void_p
)
"""What ``AACL_GLOBAL`` defines: arguments, first block, end, blocks, which failed; the status."""
_Number = ctypes.CFUNCTYPE(ctypes.c_long)


@final
class KernelBinary:
    """A shared object of this machine with functions that can be launched.

    It is loaded once for equal bytes, and let go of when none of its functions is left and none runs.
    """

    __slots__ = ("_library", "_what")

    def __init__(self, source: str | os.PathLike[str] | bytes | bytearray | memoryview) -> None:
        """Load a shared object.

        Args:
            source: its path, or its bytes.

        Raises:
            InvalidFile: the path cannot be read.
            KernelLoadError: these are no bytes of a shared object, it is for another machine (``is_foreign``), a
                relocatable object, damaged, or not made with ``aacl_kernel.h`` of this version. The text says which.
        """
        image, self._what = image_of(source)
        self._library = library_of(image, self._what, ())
        self._library.addresses((), self._what)

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of its functions, sorted; none where its section headers were stripped."""
        return self._library.names(_GLOBAL)

    def function(self, name: str) -> KernelFunction:
        """Return a function.

        Raises:
            KernelLoadError: it has no such function; the text says what it has.
        """
        place, told = self._library.addresses((_GLOBAL + checked_symbol(name), _BYTES + name), self._what)
        if place and told:
            return KernelFunction(name, place, _Number(told)(), self)
        contents = self._library.contents(_GLOBAL, "AACL_GLOBAL(name, type)")
        if name in self._library.names(_KERNEL):
            contents = "AACL_KERNEL defines one of that name, which only operators launch; define it with AACL_GLOBAL"
        raise KernelLoadError(f"the ELF file {self._what} has no function {name!r} to launch; {contents}")

    def __repr__(self) -> str:
        return f"<KernelBinary {self._what} with {', '.join(self.functions) or 'no functions'}>"


@final
class KernelFunction:
    """A function of a `KernelBinary`, which returns it.

    Calling it gives work for a stream::

        await stream.execute(twice(x, y, numpy.int32(count), blocks=4))

    Attributes:
        name: as ``AACL_GLOBAL`` names it.
        address: of its code, in this process.
        nbytes: of the structure that its arguments are.
    """

    __slots__ = ("_binary", "_run", "address", "name", "nbytes")

    def __init__(self, name: str, address: int, nbytes: int, binary: KernelBinary) -> None:
        """Hold a function; call `KernelBinary.function` instead."""
        self.name, self.address, self.nbytes, self._binary = name, address, nbytes, binary
        self._run: Callable[..., int] = _Function(address)

    def __call__(self, *arguments: object, blocks: int = 1, timeout: float | None = None) -> KernelCall:
        """Return a run with these arguments, which lie one after the other at multiples of 8 bytes.

        Args:
            *arguments: tensors, completions of the commands that make them, and buffers, by their addresses; whole
                numbers as 64-bit ones; NumPy scalars and bytes as they are.
            blocks: how many blocks run it.
            timeout: seconds that a run may take. It cannot be ended from outside: one that has taken longer fails when it
                ends.

        Raises:
            InvalidArgument: an argument is nothing of the above, they are fewer bytes than the function takes, blocks are
                not 1 to 65,535, or the timeout is no number above 0.
            ClosedResource: a tensor or buffer was freed.
        """
        things = [each.output if isinstance(each, Completion) else each for each in arguments]
        return KernelCall(self, b"".join(map(packed, things)), blocks, timeout=timeout, uses=things)

    def with_bytes(
        self, data: bytes, *, blocks: int = 1, timeout: float | None = None, inner: Mapping[int, int] = NOWHERE
    ) -> KernelCall:
        """Return a run whose arguments are these bytes.

        Args:
            data: the bytes, which are copied.
            blocks: how many blocks run it.
            timeout: seconds that a run may take. It cannot be ended from outside: one that has taken longer fails when it
                ends.
            inner: pointers into the bytes themselves: where one lies, and where to it points, both in bytes from the
                start.

        Raises:
            InvalidArgument: as when it is called; or a pointer lies, or points, outside the bytes.
        """
        return KernelCall(self, bytes(data), blocks, timeout=timeout, inner=inner)

    def with_memory(self, address: int, nbytes: int, *, blocks: int = 1, timeout: float | None = None) -> KernelCall:
        """Return a run whose arguments lie in memory of the device, which is read when the run's turn comes.

        Args:
            address: where they lie; may point into an allocation.
            nbytes: their length.
            blocks: how many blocks run it.
            timeout: seconds that a run may take. It cannot be ended from outside: one that has taken longer fails when it
                ends.

        Raises:
            InvalidMemoryRange: these are not bytes of one live allocation.
            InvalidArgument: as when it is called.
        """
        return KernelCall(self, MemoryArguments(address, nbytes), blocks, timeout=timeout)

    def runner(self, data: Array, blocks: int) -> RunBlocks:
        """Return a call that runs some blocks with arguments that are in place."""
        function, arguments = self._run, address_of(data)

        def run(first: int, end: int) -> None:
            failed = ctypes.c_long()
            status = function(arguments, first, end, blocks, ctypes.addressof(failed))
            if status:
                where = f"block {failed.value} of {blocks} of function {self.name!r}"
                raise KernelError(f"{where} failed with status {status}")

        return run

    def __repr__(self) -> str:
        return f"<KernelFunction {self.name} taking {self.nbytes} bytes>"
