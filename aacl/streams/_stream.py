"""Streams: queues of device work."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, final

import numpy as np

from aacl._closing import AsyncResource
from aacl._resource import ResourceState
from aacl.dtypes import DataType
from aacl.errors import InvalidArgument, StreamError, WouldBlock
from aacl.memory._space import holders
from aacl.streams import _current
from aacl.streams._budget import LIMIT, LONG, STEP, budget_here
from aacl.streams._commands import EventWait, HostCall, record
from aacl.streams._completion import Completion, queued
from aacl.streams._event import Event, Mark
from aacl.streams._queue import BARRIER, CommandQueue, translated
from aacl.streams._state import DONE
from aacl.streams._transfer import Copy, CopyMemory, Fill, Read, Write
from aacl.tensors._desc import TensorDesc
from aacl.tensors._tensor import Tensor, empty

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

    from aacl.abc import Array
    from aacl.dtypes import DTypeLike
    from aacl.memory._buffer import Buffer
    from aacl.memory._space import DeviceMemory, Lease
    from aacl.streams._claim import Claim, Token
    from aacl.streams._hosts import Executor
    from aacl.streams._owner import StreamOwner
    from aacl.streams._work import Work

__all__ = ("Stream", "StreamStatistics")

T = TypeVar("T")
_new = object.__new__
OPEN = ResourceState.OPEN


class StreamStatistics(NamedTuple):
    """A stream at one moment."""

    queued: int
    running: bool
    executed: int
    """Device work that workers have run so far; what ran at once on its submitter's thread is not counted."""
    failures: int
    """Commands whose errors nobody has received yet."""


@final
class Stream(AsyncResource):
    """A queue of device work, run in order.

    ``async with Stream() as stream`` opens it in the current context and makes
    it current. Submitting never waits: each call returns a completion that is
    awaitable from any event loop. Methods may be called from any thread.
    """

    __slots__ = ("_claim", "_commands", "_limit", "_memory", "_queue", "_room", "_stops", "_wanted_owner")

    kind = "stream"
    _current = _current.streams

    def __init__(
        self, owner: StreamOwner | None = None, *, limit: int | None = None, stop_at_failure: bool = False
    ) -> None:
        """Prepare a stream; entering or opening it makes it real.

        Args:
            owner: the context, or the device whose default context, it belongs to; by default the current one.
            limit: how many commands may be queued; more raise `WouldBlock`.
            stop_at_failure: after a failed command drop what is queued and take nothing until `recover`.

        Raises:
            InvalidArgument: a limit below 1.
        """
        super().__init__()
        if limit is not None and limit < 1:
            raise InvalidArgument(f"a stream's limit is at least 1 command; {limit} was given")
        self._wanted_owner, self._limit, self._stops = owner, limit, stop_at_failure
        self._room: deque[tuple[AbstractEventLoop, Future[None]]] = deque()
        # Until it is open the memory's epoch fits no work: the hot path needs no check for it.
        self._memory: DeviceMemory = _NOT_OPEN
        self._claim: Claim = deque()
        self._commands: deque[Completion[Any]] = deque()

    def _open(self) -> None:
        context = (self._wanted_owner or _current.contexts.get()).stream_context()
        self._opened_in(context)
        self._memory = context.memory
        self._queue = CommandQueue(self, self._memory.backend.start, stops_at_failure=self._stops)
        if self._limit is not None:
            self._queue.on_room = self._wake_submitter
        self._commands, self._claim = self._queue.commands, self._queue.claim
        holders.append(self._hold)

    # -- submitting ---------------------------------------------------------------------------

    def execute(self, work: Work[T]) -> Completion[T]:
        """Submit device work: an operation, or a model called with its inputs.

        Work that is short runs here and now if the stream is idle; its completion is done already.

        Returns:
            The completion; its result is what the work makes (a `Tensor`, or a tuple of them).

        Raises:
            InvalidArgument: the work does not fit the device, or its parts each other.
            ClosedResource: the stream, or memory that the work uses, was closed.
            WouldBlock: the queue is full.
        """
        # The fast path of everything. One claim decides whether the stream is open, idle and not
        # parked; the rest is attribute access. See `_queue` for the rules.
        memory = self._memory
        if work._epoch is not memory.epoch:
            if self._state is not OPEN:
                self._check_open("execute work on")
            work.bind(memory)
            if memory.has_faults:
                failed = self._check_inputs(work)
                if failed is not None:
                    return failed
        try:
            token = self._claim.pop()
        except IndexError:
            return self._enqueue(work)
        spent = token.spent + work._cost.charge
        if spent > STEP:
            return self._execute_measured(token, work)
        token.spent = spent
        try:
            work._run()
        except BaseException as error:
            return self._failed_here(token, work, error)
        completion: Completion[T] = _new(Completion)
        completion._state = token.state
        completion._value = work._result
        self._claim.append(token)
        if self._commands:
            self._queue.kick()
        return completion

    def call(self, function: Callable[..., T], *arguments: object, on: Executor | None = None,
             block: bool = True) -> Completion[T]:  # fmt: skip
        """Submit a Python function that runs in its place in the queue, off the event loop's thread.

        It runs in a copy of the caller's context variables. It must not wait for this stream.

        Args:
            function: called with ``arguments``.
            on: who runs it, by default a pool of threads of the runtime's.
            block: whether later commands wait until it has returned.

        Returns:
            The completion; its result is what the function returns, its error what it raises.

        Raises:
            ClosedResource: the stream is closed.
            WouldBlock: the queue is full.
        """
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
        return self.execute(Copy.of(target, source, nbytes))

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
        return self.execute(Fill.of(target, value))

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
        host = _as_array(array, dtype)
        tensor = empty(self._memory, TensorDesc.of(host.dtype, host.shape))
        work = Write.of(tensor, host)
        if copy or not host.nbytes:
            self._check_open("copy to")
            np.copyto(tensor._array, host)
            return finished(tensor)
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
        event = event or Event()
        mark = Mark()
        if not self._record_here(mark):
            mark.completion = self._put(lambda: record(mark), None)
        event._mark = mark
        return event

    def wait_event(self, event: Event) -> Completion[None]:
        """Let what is submitted from now on wait for the latest recording of an event.

        An event that was never recorded is not waited for.
        """
        mark = event._mark
        if mark is None or (mark.completion.done() and self._queue.is_idle):
            self._check_open("wait on")
            return finished(None)
        return self._submit(EventWait(mark))

    def barrier(self) -> Completion[None]:
        """Return a completion that is done once everything submitted so far is over. Failures do not reach it.

        Raises:
            ClosedResource: the stream is closed.
        """
        if self._claim and not self._commands:
            return finished(None)
        self._check_open("wait for")
        return self._put(_nothing, BARRIER, unbounded=True)

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

    def _take_failure(self) -> StreamError | None:
        failures, found = self._queue.failures, []
        while failures:
            command = failures.popleft()
            if not command._received:
                command._received = True
                found.append(command._value)
        if not found:
            return None
        first = found[0]
        error = StreamError(f"work of {self._describe()} failed: {type(first).__name__}: {first}")
        error.__cause__ = first
        for other in found[1:]:
            error.add_note(f"also failed: {type(other).__name__}: {other}")
        return error

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
        import asyncio

        self._check_open("wait for room in")
        if self._limit is None or len(self._commands) < self._limit:
            await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        waiter = (loop, loop.create_future())
        self._room.append(waiter)
        if len(self._commands) < self._limit:
            self._wake_submitter()
        try:
            await waiter[1]
        except BaseException:
            if waiter in self._room:
                self._room.remove(waiter)
            else:
                self._wake_submitter()  # woken, and cancelled: somebody else may use the room
            raise
        self._check_open("wait for room in")

    def recover(self) -> None:
        """Take work again after a failure, on a stream made with ``stop_at_failure``."""
        self._check_open("recover")
        self._queue.recover()

    @property
    def idle(self) -> bool:
        """Whether nothing is queued and nothing runs."""
        return self._queue.is_idle

    def statistics(self) -> StreamStatistics:
        """Return what the stream holds now."""
        queue = self._queue
        unreceived = sum(not command._received for command in list(queue.failures))
        return StreamStatistics(len(queue.commands), not queue.claim, queue.executed, unreceived)

    def _wake_submitter(self) -> None:
        """One place in the queue became free, or waiting became pointless."""
        if self._limit is not None and len(self._commands) >= self._limit:
            return
        try:
            loop, future = self._room.popleft()
        except IndexError:
            return
        try:
            loop.call_soon_threadsafe(_wake, future)
        except RuntimeError:  # that loop was closed
            self._wake_submitter()

    # -- the slower ways through execute ------------------------------------------------------

    def _check_inputs(self, work: Work[T]) -> Completion[T] | None:
        """Return the failed completion of work whose inputs have no contents, or None."""
        if not self._queue.is_idle:
            return None  # what is queued may make the contents yet: the worker looks
        fault = work.fault()
        if fault is None:
            work.succeeded()
            return None
        command = self._command(work)
        self._queue.fail(command, fault, quiet=True)
        return command

    def _execute_measured(self, token: Token, work: Work[T]) -> Completion[T]:
        """Execute at the end of a budget's step: take the time, or pass the work to a worker."""
        token.spent = 0
        budget = budget_here()
        if work._cost.estimate > LONG or (budget is not None and budget.spent > LIMIT):
            command = self._command(work)
            self._queue.put_with(token, command)
            return command
        began = perf_counter_ns()
        try:
            work._run()
        except BaseException as error:
            return self._failed_here(token, work, error)
        elapsed = perf_counter_ns() - began
        work._cost.learn(elapsed)
        if budget is not None:
            budget.charge(max(elapsed, STEP), token)
        completion = finished(work._result, token.state)
        self._release_claim(token)
        return completion

    def _release_claim(self, token: Token) -> None:
        self._claim.append(token)
        if self._commands:
            self._queue.kick()

    def _failed_here(self, token: Token, work: Work[T], error: BaseException) -> Completion[T]:
        """Give the claim back after work that failed on its submitter's thread."""
        if not isinstance(error, Exception):
            self._claim.append(token)
            raise error
        command = self._command(work)
        self._queue.fail(command, translated(error, work))
        if self._queue.halted is not None:
            self._queue.halt(token)
        else:
            self._release_claim(token)
        return command

    def _command(self, work: Work[T]) -> Completion[T]:
        command = queued(self, work._run, work._result, work)
        work.produced_by(command)
        return command

    def _enqueue(self, work: Work[T]) -> Completion[T]:
        if self._state is not OPEN or self._limit is not None or self._queue.halted is not None:
            self._check_room()
        command = queued(self, work._run, work._result, work)
        work.produced_by(command)
        self._commands.append(command)
        if self._claim:
            self._queue.kick()
        return command

    def _hold(self, lease: Lease) -> None:
        """Keep memory that the program gave up until what is under way here, and may use it, is over."""
        if not (self._claim and not self._commands) and not self._queue.sealed:
            self._queue.put(queued(self, partial(_let_go, lease), BARRIER, None))

    def _submit(self, run: HostCall | EventWait) -> Completion[Any]:
        self._check_room()
        command = queued(self, run, None, None)
        run.completion = command
        self._queue.put(command)
        return command

    def _put(self, run: Callable[[], object], value: Any, *, unbounded: bool = False) -> Completion[Any]:
        if not unbounded:
            self._check_room()
        command = queued(self, run, value, None)
        self._queue.put(command)
        return command

    def _record_here(self, mark: Mark) -> bool:
        """Reach a mark at once, on an idle stream."""
        try:
            token = self._claim.pop()
        except IndexError:
            return False
        record(mark)
        mark.completion = finished(None)
        self._release_claim(token)
        return True

    def _check_room(self) -> None:
        self._check_open("submit to")
        queue = self._queue
        if queue.halted is not None:
            raise StreamError(
                f"{self._describe()} stopped at a failure and takes no work; call recover(): {queue.halted}"
            ) from queue.halted
        if self._limit is not None and len(queue.commands) >= self._limit:
            raise WouldBlock(
                f"{self._describe()} has {len(queue.commands)} commands queued, its limit; "
                "wait with 'await stream.ready()'"
            )

    # -- closing ------------------------------------------------------------------------------

    def _settle(self, drop: bool) -> Completion[None]:
        queue = self._queue
        if drop or queue.halted is not None:
            queue.drop("the end of its block")
            queue.recover()
        if queue.sealed:
            return finished(None)
        return self._put_seal()

    def _put_seal(self) -> Completion[Any]:
        command = queued(self, _nothing, BARRIER, None)
        command._run = partial(self._queue.seal, command)
        self._queue.put(command)
        return command

    def _release(self) -> None:
        holders.remove(self._hold)
        while self._room:
            self._limit = None
            self._wake_submitter()
        error = self._take_failure()
        if error is not None:
            raise error

    def __repr__(self) -> str:
        if not hasattr(self, "_queue"):
            return f"<Stream {self.number} {self._state.value}>"
        queue = self._queue
        doing = "closed" if queue.sealed else "idle" if queue.is_idle else f"{len(queue.commands)} queued"
        return f"<Stream {self.number} {self._state.value}, {doing}>"


class _NotOpen:
    """The memory of a stream that was not opened yet."""

    epoch = object()


_NOT_OPEN: Any = _NotOpen()


def finished(value: T, state: int = DONE) -> Completion[T]:
    """Return a completion of a command that is over already."""
    completion: Completion[T] = _new(Completion)
    completion._state, completion._value = state, value
    return completion


def as_tensor(thing: Tensor | Completion[Any]) -> Tensor:
    """Return the tensor itself, or the one that a command makes.

    Raises:
        InvalidArgument: it is neither.
    """
    if isinstance(thing, Tensor):
        return thing
    if isinstance(thing, Completion):
        return thing.output
    raise InvalidArgument(
        f"expected a Tensor or the completion of the command that makes it, not {type(thing).__name__}; "
        "copy host data with stream.to_device(array)"
    )


def _as_array(array: Any, dtype: DTypeLike | None) -> Array:
    wanted = None if dtype is None else DataType.of(dtype).numpy_dtype
    host = np.asarray(array, wanted)
    return host if host.dtype.isnative else host.astype(host.dtype.newbyteorder("="))


def _let_go(lease: Lease) -> None:
    """Be the command that holds a lease until its turn."""


def _nothing() -> None:
    """Be a command that only takes its place."""


def _wake(future: Future[None]) -> None:
    if not future.done():
        future.set_result(None)
