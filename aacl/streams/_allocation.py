"""A program's allocator at work for a stream."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar

from aacl.memory._allocator import Allocator, Loan
from aacl.streams._waiting import here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from aacl.memory._space import DeviceMemory
    from aacl.streams._engine import StreamEngine

__all__ = ("Allocation",)

T = TypeVar("T")


class Allocation:
    """The binding of an allocator to a stream.

    A run takes it along when it is submitted, and runs one after the other; so the
    stream's later ones may have another, and this one has nothing to be locked.

    Attributes:
        allocator: the program's.
        memory: of the device that the stream is on.
    """

    __slots__ = ("_context", "_latest", "allocator", "memory")

    def __init__(self, allocator: Allocator[Any], memory: DeviceMemory) -> None:
        self.allocator, self.memory = allocator, memory
        self._context = copy_context()
        self._latest = 0, 0  # bytes and address of the block given back last

    @contextmanager
    def workspace(self, stream: StreamEngine, nbytes: int) -> Iterator[int]:
        """Hold a block of the allocator's for a run of the stream; the value is its address.

        Args:
            stream: whose run asks; the allocator cannot wait for it.
            nbytes: how many bytes; 0 is taken as 1.

        Raises:
            AclError: as `Loan` and `Loan.give_back`.
        """
        nbytes, (latest, address) = nbytes or 1, self._latest
        near = address if latest == nbytes else None
        loan = self._asked(stream, lambda: Loan(self.allocator, self.memory, nbytes, near))
        self._latest = nbytes, loan.address
        try:
            yield loan.address
        except BaseException as failure:
            error = failure  # not `failure`: its name ends with this block
            self._asked(stream, lambda: loan.give_back_after(error))
            raise
        self._asked(stream, loan.give_back)

    def _asked(self, stream: StreamEngine, call: Callable[[], T]) -> T:
        """Let the allocator work, in a copy of the context variables of who bound it."""
        before, here.stream = here.stream, stream
        try:
            return self._context.copy().run(call)
        finally:
            here.stream = before
