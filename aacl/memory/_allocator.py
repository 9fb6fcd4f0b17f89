"""External allocators: device memory of a program's own, for what the runs on a stream need beside their buffers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Integral
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from aacl._note import add_note, text_of
from aacl._number import whole
from aacl.errors import AclError, InvalidArgument, InvalidMemoryRange, OutOfMemory, StreamError, UnalignedAddress
from aacl.memory._buffer import Buffer
from aacl.memory._rules import ALIGN32

if TYPE_CHECKING:
    from aacl.memory._space import DeviceMemory, Lease

__all__ = ("Allocator", "Loan", "checked")

B = TypeVar("B")


class Allocator(ABC, Generic[B]):
    """Where the runs on a stream get the memory that they need beside what the program brought.

    A program's pool derives from it and is bound by ``stream.use_allocator(pool)``. Its methods are called on the
    runtime's threads, one call at a time for one stream, in a copy of the context variables of who bound it. They
    may use the runtime, allocate and free, and must not wait for the stream. With no lock held, an allocator that
    serves several streams needs its own.

    A *block* is any object but None and 0, which stand for no memory.

    Source: the API pages of ``aclrtAllocatorRegister`` and of the functions it takes.
    """

    @abstractmethod
    def allocate(self, nbytes: int) -> B | None:
        """Return a block of at least ``nbytes`` bytes of the stream's device, at a multiple of 32."""

    def allocate_near(self, nbytes: int, address: int) -> B | None:  # noqa: ARG002 - for those who override it
        """Return a block, as `allocate`; the one at ``address`` was given back and would do well. By default any."""
        return self.allocate(nbytes)

    @abstractmethod
    def free(self, block: B) -> None:
        """Take a block back; each one is given back once."""

    def address_of(self, block: B) -> int:
        """Return the address of a block; by default its attribute ``address``, as a `Buffer` has."""
        address: int = block.address  # type: ignore[attr-defined]
        return address


class Loan:
    """A block of an allocator while it is used; its bytes stay in place meanwhile, whatever the program frees.

    Attributes:
        address: of the first byte.
        nbytes: the bytes asked for.
    """

    __slots__ = ("_allocator", "_block", "_lease", "_memory", "address", "nbytes")

    _lease: Lease | None

    def __init__(self, allocator: Allocator[Any], memory: DeviceMemory, nbytes: int, near: int | None) -> None:
        """Ask an allocator for a block.

        Args:
            allocator: which.
            memory: of the device where the block is to be.
            nbytes: how many bytes.
            near: the address of a block of this size that was given back; None if there was none.

        Raises:
            OutOfMemory: the allocator gave no block, or raised what is no `AclError`; an `AclError` is passed on.
            InvalidMemoryRange: the block has fewer bytes, or is no memory of the device.
            UnalignedAddress: it does not begin at a multiple of 32.
            StreamError: the allocator failed to say where it is, or what it said is no address.
        """
        self._allocator, self._memory, self.nbytes = allocator, memory, nbytes
        ask = f"asked for {nbytes} bytes on device {memory.index}"
        try:
            block = allocator.allocate(nbytes) if near is None else allocator.allocate_near(nbytes, near)
        except AclError:
            raise
        except BaseException as error:  # a worker's: no interrupt of the program's, whatever class
            raise OutOfMemory(f"the allocator of the stream failed, {ask}: {_told(error)}") from error
        if block is None or (isinstance(block, Integral) and not block):
            raise OutOfMemory(f"the allocator of the stream gave no block, {ask}")
        self._block = block
        try:
            self.address = self._checked_address()
        except BaseException as error:
            self.give_back_after(error)
            raise

    def _checked_address(self) -> int:
        """Return the block's address when all of its bytes may be used."""
        try:
            address = whole(self._allocator.address_of(self._block), "the address of a block")
        except BaseException as error:
            raise StreamError(f"the allocator of the stream did not say where a block is: {_told(error)}") from error
        if isinstance(self._block, Buffer) and self._block.reserved_nbytes < self.nbytes:
            raise InvalidMemoryRange(f"the stream's allocator gave {self._block!r}; {self.nbytes} bytes are needed")
        held = self._memory.check(address, self.nbytes, "use, as the stream's allocator gave them,")
        if address % ALIGN32.alignment:
            raise UnalignedAddress(
                f"the stream's allocator gave a block at {address:#x}; give one at a multiple of {ALIGN32.alignment}"
            )
        self._lease = held.owner
        return address

    def give_back(self) -> None:
        """Let the allocator have its block again.

        Raises:
            StreamError: it raised.
        """
        block, self._block, self._lease = self._block, None, None
        try:
            self._allocator.free(block)
        except BaseException as error:
            raise StreamError(f"the allocator of the stream failed to take a block back: {_told(error)}") from error

    def give_back_after(self, failure: BaseException) -> None:
        """Do what `give_back` does behind a failure; what fails then is noted on that one."""
        try:
            self.give_back()
        except Exception as second:
            add_note(failure, f"also failed: {text_of(second)}")


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {text_of(error)}"


def checked(allocator: object) -> Allocator[Any]:
    """Return an allocator that is one.

    Raises:
        InvalidArgument: it is none.
    """
    if not isinstance(allocator, Allocator):
        raise InvalidArgument(f"expected an aacl.Allocator, not {type(allocator).__name__}; derive from that class")
    return allocator
