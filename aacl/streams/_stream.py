"""Streams: queues of device work."""

from __future__ import annotations

from functools import partial
from time import perf_counter, perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, final

import numpy as np

from aacl._number import seconds, whole
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument
from aacl.memory._allocator import checked
from aacl.streams._allocation import Allocation
from aacl.streams._commands import Barrier, EventWait, HostCall, record
from aacl.streams._completion import Completion, as_tensor, finished
from aacl.streams._control import StreamControl
from aacl.streams._event import Event, Mark
from aacl.streams._transfer import Copy, CopyMemory, Fill, Read, Write
from aacl.tensors._desc import TensorDesc
from aacl.tensors._tensor import Tensor, empty

if TYPE_CHECKING:
    from collections.abc import Callable

    from aacl.abc import Array
    from aacl.dtypes import DTypeLike
    from aacl.memory._allocator import Allocator
    from aacl.memory._buffer import Buffer
    from aacl.streams._hosts import Executor
    from aacl.streams._owner import StreamOwner

__all__ = ("Stream", "StreamStatistics")

T = TypeVar("T")


class StreamStatistics(NamedTuple):
    """A stream at one moment."""

    queued: int
    running: bool
    executed: int
    """Device work that workers have run so far; what ran at once on its submitter's thread is not counted."""
    failures: int
    """Commands whose errors nobody has received yet."""


@final
class Stream(StreamControl):
    """A queue of device work, run in order.

    ``async with Stream() as stream`` opens it in the current context and makes
    it current. Submitting never waits: each call returns a completion that is
    awaitable from any event loop. Methods may be called from any thread.
    """

    __slots__ = ()

    def __init__(
        self,
        owner: StreamOwner | None = None,
        *,
        limit: int | None = None,
        stop_at_failure: bool = False,
        fair: bool = True,
    ) -> None:
        """Prepare a stream; entering or opening it makes it real.

        Args:
            owner: the context, or the device whose default context, it belongs to; by default the current one.
            limit: how many commands may be queued; more raise `WouldBlock`.
            stop_at_failure: after a failed command drop what is queued and take nothing until `recover`; a property
                of the same name changes it.
            fair: give an event loop its turns between short commands that run on its thread. A program
                that blocks the loop's thread anyway, in a notebook say, has none to give.

        Raises:
            InvalidArgument: a limit below 1.
        """
        if limit is not None and whole(limit, "a stream's limit") < 1:
            raise InvalidArgument(f"a stream's limit is at least 1 command; {limit} was given")
        super().__init__(owner, limit, stop_at_failure, fair)

    def call(self, function: Callable[..., T], *arguments: object, on: Executor | None = None,
             block: bool = True) -> Completion[T]:  # fmt: skip
        """Submit a Python function that runs in its place in the queue, off the event loop's thread.

        It runs in a copy of the caller's context variables. It must not wait for this stream.

        Args:
            function: what to call.
            *arguments: what to call it with.
            on: who runs it, by default a pool of threads of the runtime's.
            block: whether later commands wait until it has returned.

        Returns:
            The completion; its result is what the function returns, its error what it raises.

        Raises:
            ClosedResource: the stream is closed.
            WouldBlock: the queue is full.
        """
        if on is not None and not hasattr(on, "submit"):
            raise InvalidArgument(f"cannot run calls on {on!r}; pass an executor, which has a method submit")
        if not callable(function):
            raise InvalidArgument(f"cannot call {function!r}; pass a function")
        call = HostCall(function, arguments, on, block)
        return self._submit(call)

    def copy(self, target: Tensor | Buffer, source: Tensor | Buffer, nbytes: int | None = None) -> Completion[Any]:
        """Submit a copy between tensors or buffers, also of two devices.

        Args:
            target: where to.
            source: where from.
            nbytes: how many bytes, from the start; by default all of the source.

        Returns:
            The completion; its result is the target.

        Raises:
            ClosedResource: one of them was freed.
            InvalidMemoryRange: one of them has fewer bytes.
        """
        return self.execute(Copy.of(_made(target), _made(source), nbytes))

    def copy_memory(self, target: int, source: int, nbytes: int) -> Completion[None]:
        """Submit a copy between any two addresses, of host or device memory.

        The addresses are checked now, the copy happens in its place in the queue. Device memory
        stays in place until then, whatever is freed; host memory must stay alive.

        Args:
            target: where to; may point into an allocation.
            source: where from; may point into an allocation.
            nbytes: how many bytes.

        Raises:
            InvalidMemoryRange: bytes outside an allocation, or host memory that is not mapped.
        """
        return self.execute(CopyMemory.of(target, source, nbytes))

    def fill(self, target: Tensor | Buffer, value: int) -> Completion[Any]:
        """Submit setting every byte of a tensor or buffer; the completion's result is the target."""
        return self.execute(Fill.of(_made(target), value))

    def to_device(self, array: Any, dtype: DTypeLike | None = None, *, copy: bool = True) -> Completion[Tensor]:
        """Copy a host array to a new tensor.

        The array is copied before the call returns, so that it may be changed at once. The copy
        does not wait for the stream: nothing queued can use a tensor that did not exist.

        Args:
            array: anything `numpy.asarray` takes.
            dtype: of the tensor; by default the array's own.
            copy: False lets the copy happen later, in a worker; the array must not change until then.
                Use it for large arrays on an event loop's thread.

        Returns:
            The completion; its result is the tensor.

        Raises:
            UnsupportedDataType: the array's dtype has no AscendCL equivalent.
            OutOfMemory: the device is full.
        """
        began = perf_counter_ns()
        self._check_open("copy to")
        host = _as_array(array, dtype)
        tensor = empty(self._memory, TensorDesc.of(host.dtype, host.shape))
        work = Write.of(tensor, host)
        if copy or not host.nbytes:
            np.copyto(tensor._array, host)
            return finished(tensor, self._meter.charged(perf_counter_ns() - began))
        return self.execute(work)

    def to_host(self, tensor: Tensor | Completion[Any], out: Array | None = None) -> Completion[Array]:
        """Copy a tensor to the host, after what is queued.

        Args:
            tensor: the tensor, or the completion of the command that makes it.
            out: the array to fill, of the tensor's shape and dtype; by default a new one.

        Returns:
            The completion; its result is the array.

        Raises:
            ClosedResource: the tensor was freed.
            InvalidArgument: ``out`` does not fit.
        """
        return self.execute(Read.of(as_tensor(tensor), out))

    # -- order between streams ----------------------------------------------------------------

    def record_event(self, event: Event | None = None) -> Event:
        """Put a mark behind what is queued.

        Args:
            event: the event to record again; by default a new one.

        Returns:
            The event, which is a future of the mark.
        """
        event = Event() if event is None else _checked_event(event)
        mark = Mark()
        mark.completion = finished(None)
        if not self._record_here(mark):
            self._check_room()
            mark.completion = self._put_plain(partial(record, mark))
        event._mark = mark
        return event

    def _record_here(self, mark: Mark) -> bool:
        """Reach a mark at once, on an idle stream."""
        if self._commands:
            return False
        claim = self._claim  # once: `use_allocator` changes it
        try:
            token = claim.pop()
        except IndexError:
            return False
        try:
            mark.time = perf_counter()
        finally:
            claim.append(token)
            del token
        if self._commands:
            self._queue.kick()
        return True

    def wait_event(self, event: Event, timeout: float | None = None) -> Completion[None]:
        """Let what is submitted from now on wait for the latest recording of an event.

        An event that was never recorded is not waited for.

        Args:
            event: the event.
            timeout: seconds that the stream may stand still; None for any number. The wait fails with
                `EventTimeout` after that, and the stream goes on, or stops if it is one that stops at failures.

        Raises:
            ClosedResource: the stream is closed.
            InvalidArgument: it is no event, or the timeout no number above 0.
        """
        limit = None if timeout is None else seconds(timeout, "a timeout")
        self._check_open("wait for an event on")
        mark = _checked_event(event)._mark
        if mark is None or (mark.completion.done() and self._queue.is_idle):
            return finished(None)
        return self._submit(EventWait(mark, limit))

    def barrier(self, *, detached: bool = True) -> Completion[None]:
        """Return a completion that is done once everything submitted so far is over. Failures do not reach it.

        Args:
            detached: whether to wait also for host calls that the stream does not wait for.

        Raises:
            ClosedResource: the stream is closed.
        """
        if self._queue.is_idle and not (detached and self._queue.detached):
            return finished(None)
        self._check_open("wait for")
        return self._put(Barrier(detached=detached))

    async def synchronize(self) -> None:
        """Wait until everything submitted so far is over.

        Raises:
            StreamError: a command failed and nobody received its error, which is the cause. Each
                failure is reported once.
        """
        self._check_open("synchronize")
        await self.barrier()
        self.raise_failure()

    def raise_failure(self) -> None:
        """Raise the first failure that nobody received, as `synchronize` does, without waiting."""
        if self._queue.failures:
            error = self._take_failure()
            if error is not None:
                raise error

    # -- dropping, limits ---------------------------------------------------------------------

    async def abort(self) -> int:
        """Drop everything that has not started; what runs goes on, and is not waited for.

        Returns:
            How many commands were dropped. Their completions fail with `Aborted`.
        """
        return self.abort_nowait()

    def abort_nowait(self) -> int:
        """Do what `abort` does, from any thread."""
        self._check_open("abort")
        return self._queue.drop("abort()")

    async def ready(self) -> None:
        """Wait until the queue has room.

        Raises:
            ClosedResource: the stream was closed meanwhile.
        """
        self._check_open("wait for room in")
        if self._room is None or not self._room.is_full:
            from asyncio import sleep

            await sleep(0)
            return
        await self._room.wait()
        self._check_open("wait for room in")

    # -- memory of the program's own ----------------------------------------------------------

    def use_allocator(self, allocator: Allocator[Any] | None) -> None:
        """Let the runs that are submitted from now on get the memory they need from a program's allocator.

        A run of a model with free dims asks for one block, of at least the bytes of the outputs whose sizes are not
        fixed, and gives it back when it is over. What outlives a run, such as a new output, is the device's own
        memory, and so is all that operators, models of fixed shapes and models with gears use; ``Model.infer`` and
        ``Model.map`` run in memory that the model keeps. Runs that were submitted before keep the allocator that was
        bound then. A run whose allocator fails, fails alone: with `OutOfMemory` when the allocator raises or gives no
        block, `InvalidMemoryRange` or `UnalignedAddress` when the block is none for it, and `StreamError` when it is
        not taken back or does not tell its address.

        With an allocator nothing runs on the submitter's thread, however short it is.

        Args:
            allocator: the allocator, in the place of the one before; None for none.

        Raises:
            InvalidArgument: it is no `aacl.Allocator`.
            ClosedResource: the stream is closed.
        """
        self._check_open("bind an allocator to")
        self._allocate_by(None if allocator is None else Allocation(checked(allocator), self._memory))

    @property
    def allocator(self) -> Allocator[Any] | None:
        """The allocator bound to the stream, if any."""
        allocation = self._allocation
        return None if allocation is None else allocation.allocator

    @property
    def idle(self) -> bool:
        """Whether nothing is queued and nothing runs."""
        return self._queue.is_idle

    def statistics(self) -> StreamStatistics:
        """Return what the stream holds now."""
        queue = self._queue
        unreceived = sum(not command._received for command in list(queue.failures))
        return StreamStatistics(len(queue.commands), not queue.claim, queue.executed, unreceived)

    def __repr__(self) -> str:
        queue = self._queue
        doing = "closed" if queue.sealed else "idle" if queue.is_idle else f"{len(queue.commands)} queued"
        return f"<Stream {self.number} {self._state.value}, {doing}>"


def _checked_event(event: object) -> Event:
    if not isinstance(event, Event):
        raise InvalidArgument(f"expected an Event, not {type(event).__name__}; stream.record_event() makes one")
    return event


def _made(thing: Any) -> Any:
    """Return what a command makes in the place of its completion."""
    return thing.output if isinstance(thing, Completion) else thing


def _as_array(array: Any, dtype: DTypeLike | None) -> Array:
    wanted = None if dtype is None else DataType.of(dtype).numpy_dtype
    try:
        host = np.asarray(array, wanted)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgument(f"cannot make an array of {type(array).__name__} for the device: {error}") from error
    return host if host.dtype.isnative else host.astype(host.dtype.newbyteorder("="))
