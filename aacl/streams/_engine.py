"""How a stream takes commands: the fast path, and the slower ways beside it."""

from __future__ import annotations

from collections import deque
from functools import partial
from time import perf_counter, perf_counter_ns
from typing import TYPE_CHECKING, Any, TypeVar

from aacl._closing import AsyncResource
from aacl._note import add_note, text_of
from aacl._resource import ResourceState
from aacl.errors import InvalidArgument, KernelTimeout, StreamError, WouldBlock
from aacl.memory._space import holders
from aacl.streams import _current
from aacl.streams._budget import LIMIT, LONG, STEP, Meter
from aacl.streams._commands import Barrier, EventWait, HostCall, Seal
from aacl.streams._completion import Completion, finished, queued, tensors_in
from aacl.streams._event import Mark
from aacl.streams._halt import HaltingQueue
from aacl.streams._queue import BARRIER
from aacl.streams._room import Room
from aacl.streams._waiting import here
from aacl.streams._work import Composite, translated

if TYPE_CHECKING:
    from collections.abc import Callable

    from aacl.memory._space import DeviceMemory, Lease
    from aacl.streams._allocation import Allocation
    from aacl.streams._claim import Claim, Token
    from aacl.streams._owner import StreamOwner
    from aacl.streams._work import Work

__all__ = ("StreamEngine",)

T = TypeVar("T")
_new = object.__new__
_OPEN = ResourceState.OPEN


class _NotOpen:
    """The memory of a stream that was not opened yet: its epoch fits no work, so the hot path needs no check."""

    epoch = object()


_NOT_OPEN: Any = _NotOpen()


class StreamEngine(AsyncResource):
    """What `Stream` is made of: `execute`, and the opening and closing of the queue."""

    __slots__ = ("_allocation", "_claim", "_commands", "_memory", "_meter", "_operator_timeout", "_owner_wanted", "_queue",
                 "_room", "_seal")  # fmt: skip

    kind = "stream"
    _current = _current.streams

    def __init__(self, owner: StreamOwner | None, limit: int | None, stop_at_failure: bool, fair: bool) -> None:
        super().__init__()
        self._owner_wanted = owner
        self._memory: DeviceMemory = _NOT_OPEN
        self._queue = HaltingQueue(self, stops_at_failure=stop_at_failure)
        self._commands, self._meter = self._queue.commands, Meter(fair)
        self._claim: Claim
        self._room = None if limit is None else Room(self._commands, limit)
        if self._room is not None:
            self._queue.on_room = self._room.wake
        self._seal: Completion[Any] | None = None
        self._allocation: Allocation | None = None
        self._operator_timeout: float | None = None
        self._choose_claim()

    def execute(self, work: Work[T]) -> Completion[T]:
        """Submit device work: an operation, or a model called with its inputs.

        Work that is short runs here and now if the stream is idle; its completion is done already.

        Returns:
            The completion; its result is what the work makes (a `Tensor`, or a tuple of them).

        Raises:
            InvalidArgument: it is no work, does not fit the device, or its parts do not fit each other.
            ClosedResource: the stream, or memory that the work uses, was closed.
            WouldBlock: the queue is full.
        """
        # The fast path of everything. One claim decides whether the stream is open, idle and not
        # parked; the rest is attribute access. See `_queue` for the rules.
        memory = self._memory
        try:
            if work._epoch is not memory.epoch:
                if self._state is not _OPEN:
                    self._check_open("execute work on")
                work.bind(memory)
        except AttributeError:
            if hasattr(work, "_epoch"):
                raise
            if isinstance(work, Composite):
                return work.submit_to(self)
            raise InvalidArgument(_no_work(work)) from None
        claim = self._claim
        try:
            token = claim.pop()
        except IndexError:
            return self._enqueue(work)
        meter = self._meter
        spent = meter.spent + work._cost.charge
        if spent > STEP or memory.unsettled:
            claim.append(token)
            del token  # a frame that calls on must not keep it: see `_claim`
            return self._execute_carefully(work)
        meter.spent = spent
        try:
            work._run()
        except BaseException as error:
            claim.append(token)
            del token
            return self._failed_here(work, error)
        state, result = meter.state, work._result
        claim.append(token)  # before any other call: an interrupt behind it must not find the token here
        completion: Completion[T] = _new(Completion)
        completion._state, completion._value = state, result
        if self._commands:
            del token
            self._queue.kick()
        return completion

    def _open(self) -> None:
        context = (self._owner_wanted or _current.contexts.get()).stream_context()
        context._check_open("open a stream in")
        # Published last: whatever an interrupt leaves undone before that is nobody's.
        self._queue.begin(context.memory.backend)
        if self._hold not in holders:
            holders.append(self._hold)
        self._memory = context.memory
        self._opened_in(context)

    # -- the slower ways ----------------------------------------------------------------------

    def _execute_carefully(self, work: Work[T]) -> Completion[T]:
        """Execute at the end of a budget's step, or while some tensor has no contents (yet)."""
        meter, cost = self._meter, work._cost
        budget = meter.budget()
        if cost.estimate > LONG or (budget is not None and budget.spent > LIMIT):
            return self._enqueue(work)
        if self._memory.unsettled and self._producers(work):
            return self._enqueue(work)
        claim = self._claim  # once: `use_allocator` changes it
        try:
            token = claim.pop()
        except IndexError:
            return self._enqueue(work)
        try:
            fault = work.fault() if self._memory.unsettled else None
            elapsed = cost.estimate
            began = perf_counter_ns() if cost.wants_sample() else 0
            if fault is None:
                work._run()
            if began:
                elapsed = perf_counter_ns() - began
            if fault is None and self._memory.unsettled:
                for tensor in (*tensors_in(work._result), *work._updates):
                    tensor.filled()
        except BaseException as error:
            claim.append(token)
            del token
            return self._failed_here(work, error)
        state, meter.spent = meter.state, 0
        claim.append(token)
        del token
        if self._commands:
            self._queue.kick()
        if fault is not None:
            return self._faulted(work, fault)
        if began:
            cost.learn(elapsed)
        if budget is not None:
            budget.charge(max(elapsed, STEP), meter)
        return finished(work._result, state)

    def _failed_here(self, work: Work[T], error: BaseException) -> Completion[T]:
        """Return the completion of work that failed on its submitter's thread; an interrupt goes through."""
        if self._commands:
            self._queue.kick()
        if not isinstance(error, Exception):
            raise error
        command = queued(self, work._run, work._result, work)
        self._queue.fail(command, translated(error, work))
        return command

    def _faulted(self, work: Work[T], fault: BaseException) -> Completion[T]:
        """Return the completion of work whose input has no contents: it fails with the same cause, which is not new."""
        command = queued(self, work._run, work._result, work)
        command._fail(fault)
        return command

    def _enqueue(self, work: Work[T]) -> Completion[T]:
        if self._state is not _OPEN or self._room is not None or self._queue.halted is not None:
            self._check_room()
        if self._memory.unsettled:
            for producer in self._producers(work):
                self._put(EventWait(Mark.of(producer)))
        command = self._command(work)
        self._commands.append(command)
        if self._queue.claim or self._queue.sealed:  # else whoever holds the claim looks at the queue
            self._queue.kick()
        return command

    def _producers(self, work: Work[Any]) -> list[Completion[Any]]:
        """Return the commands of other streams that are still to make what the work reads."""
        found = [tensor._producer for tensor in work.reads() if tensor._producer is not None]
        return [producer for producer in found if producer._stream is not self and not producer.done()]

    def _command(self, work: Work[T]) -> Completion[T]:
        run, limit = work._run, self._operator_timeout
        if limit is not None and work.is_timed:
            run = partial(_run_timed, run, limit, work.name())
        command = queued(self, run, work._result, work)
        work.submitted(command)
        return command

    def _submit(self, run: HostCall | EventWait) -> Completion[Any]:
        self._check_room()
        return self._put(run)

    def _put(self, run: HostCall | EventWait | Barrier) -> Completion[Any]:
        command = queued(self, run, BARRIER if isinstance(run, Barrier) else None, None)
        run.completion = command
        self._queue.put(command)
        return command

    def _put_plain(self, run: Callable[[Token], object], value: Any = None) -> Completion[Any]:
        command = queued(self, run, value, None)
        self._queue.put(command)
        return command

    def _check_room(self) -> None:
        """Raise unless one more command may be queued."""
        self._check_open("submit to")
        halted = self._queue.halted
        if halted is not None:
            raise StreamError(
                f"{self._describe()} stopped at a failure and takes no work until recover() is called: {text_of(halted)}"
            ) from halted
        room = self._room
        if room is not None and room.is_full:
            raise WouldBlock(
                f"{self._describe()} has {len(self._commands)} commands queued, its limit is {room.limit}; "
                "wait with 'await stream.ready()'"
            )

    def _hold(self, lease: Lease) -> None:
        """Keep memory that the program gave up until what is under way here, and may use it, is over."""
        if not self._queue.is_idle and not self._queue.sealed:
            self._put_plain(partial(_hold_until_now, lease), BARRIER)

    def _allocate_by(self, allocation: Allocation | None) -> None:
        self._allocation = allocation
        self._choose_claim()

    def _choose_claim(self) -> None:
        # Nothing runs inline on a stream that stops at failures, which are the queue's to handle; while it is stopped;
        # and with an allocator of the program's: that is asked on a worker, where the run knows its command and an
        # event loop is not kept waiting.
        queue = self._queue
        runs_inline = self._allocation is None and not queue.stops_at_failure and queue.halted is None
        self._claim = queue.claim if runs_inline else deque()

    # -- closing ------------------------------------------------------------------------------

    def _check_closable(self) -> None:
        if here.stream is self:
            raise WouldBlock(f"cannot close {self._describe()} in a host call of its own; it would wait for itself")
        if here.is_kernel:
            raise WouldBlock(f"cannot close {self._describe()} in a kernel, which its work may wait for")

    def _settle(self, drop: bool) -> Completion[Any]:
        if drop or self._queue.halted is not None:
            self._queue.drop("the end of its block")
            self._queue.recover()
        if self._seal is None:
            self._seal = self._put(Seal())
        return self._seal

    def _forget(self) -> None:
        super()._forget()
        self._queue.claim.clear()
        self._queue.sealed = True
        holders.clear()

    def _release(self) -> None:
        if self._hold in holders:
            holders.remove(self._hold)
        if self._room is not None:
            self._room.close()
        self._allocation = None
        error = self._take_failure()
        if error is not None:
            raise error

    def _take_failure(self) -> StreamError | None:
        """Return what nobody has received, as one error, and count it as received."""
        failures, found, expected = self._queue.failures, [], []
        while failures:
            command = failures.popleft()
            if command._suspended:
                expected.append(command)  # a task is about to receive it, if nobody cancels that task
            elif not command._received:
                command._received = True
                found.append(command._error)
        failures.extend(expected)
        if not found:
            return None
        first = found[0]
        error = StreamError(f"work of {self._describe()} failed: {type(first).__name__}: {text_of(first)}")
        error.__cause__ = first
        for other in found[1:]:
            add_note(error, f"also failed: {type(other).__name__}: {text_of(other)}")
        return error


def _hold_until_now(lease: Lease, token: Token) -> None:
    """Be the command that holds a lease until its turn."""


def _run_timed(run: Callable[[], object], limit: float, name: str) -> None:
    """Run work, and fail if that took longer than it may."""
    began = perf_counter()
    run()
    elapsed = perf_counter() - began
    if elapsed > limit:
        raise KernelTimeout(f"{name} ran for {elapsed:.3f} s; its stream allows {limit:g} s (operator_timeout)")


def _no_work(thing: object) -> str:
    return (
        f"cannot execute {thing!r}; pass an operation such as ops.Add(a, b), or a model called with its inputs. "
        "Python functions are for stream.call"
    )
