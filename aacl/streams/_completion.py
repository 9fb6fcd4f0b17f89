"""Completions: a submitted command as its submitter sees it, and as the queue holds it.

Nothing in a completion belongs to a loop or a thread. Waiters register
themselves in a list and then look at the state again; whoever ends the command
sets the state and then looks for waiters. Both sides take waiters out one by
one with `list.pop`, so each is called exactly once.
"""

from __future__ import annotations

import threading
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, Generic, TypeVar, final

from aacl._note import add_note
from aacl.errors import InvalidArgument, WouldBlock
from aacl.streams import _site
from aacl.streams._budget import running_loop
from aacl.streams._state import DONE, DUE, FAILED, NAMES, QUEUED
from aacl.streams._waiting import DoneCallback, LoopCallback, acquire, here, inbox_of
from aacl.tensors._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import CodeType

    from aacl.streams._engine import StreamEngine
    from aacl.streams._work import Work

__all__ = ("Completion",)

T = TypeVar("T")
_first_waiter = threading.Lock()
_new = object.__new__


@final
class Completion(Generic[T]):
    """The end of one submitted command, awaitable from any event loop and waitable from any thread.

    Awaiting gives the command's result or raises its error. Cancelling a wait,
    or letting it time out, neither cancels the command nor frees what it uses.
    The names are those of `asyncio.Future`, so `asyncio.wait`, ``gather``,
    ``wait_for`` and ``shield`` take completions. Streams make them.
    """

    __slots__ = (
        "__weakref__",
        "_callbacks",
        "_code",
        "_error",
        "_instruction",
        "_received",
        "_run",
        "_state",
        "_stream",
        "_suspended",
        "_value",
        "_waiters",
        "_work",
    )  # fmt: skip

    # A command that ran well at once has _state and _value; the rest is for the queue and for failures.
    _state: int
    _value: Any  # the result; of device work it is known from the submission on
    _error: BaseException
    _work: Work[T] | None
    _run: Callable[..., object]  # device work takes nothing, another command its stream's token
    _waiters: list[Callable[[Completion[T]], None]] | None
    _callbacks: list[Callable[[Completion[T]], None]] | None
    _received: bool  # whether its error reached somebody
    _suspended: int  # tasks that wait, and will receive it unless they are cancelled
    _stream: StreamEngine
    _code: CodeType | None
    _instruction: int

    def __init__(self) -> None:
        raise TypeError("completions are made by a stream: stream.execute(operation), stream.call(function)")

    def done(self) -> bool:
        """Return whether the command is over, well or badly."""
        return self._state >= DONE

    def cancelled(self) -> bool:
        """Return False: commands are not cancelled; one dropped by ``abort()`` failed with `Aborted`."""
        return False

    def result(self) -> T:
        """Return the result.

        Raises:
            asyncio.InvalidStateError: the command is not over.
            BaseException: what the command failed with.
        """
        self._check_done()
        if self._state == FAILED:
            self._received = True
            raise self._error
        result: T = self._value
        return result

    def exception(self) -> BaseException | None:
        """Return what the command failed with, or None.

        Raises:
            asyncio.InvalidStateError: the command is not over.
        """
        self._check_done()
        if self._state != FAILED:
            return None
        self._received = True
        return self._error

    @property
    def failure(self) -> BaseException | None:
        """What the command failed with, None if it went well or is not over; looking does not count as receiving."""
        return self._error if self._state == FAILED else None

    @property
    def output(self) -> Tensor:
        """The tensor that the command makes, at once: a later command of the stream may take it.

        Raises:
            AttributeError: the command makes no tensor, or several.
        """
        outputs = self.outputs
        if len(outputs) != 1:
            raise AttributeError(f"{self!r} has {len(outputs)} outputs; use outputs[index]")
        return outputs[0]

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The tensors that the command makes, at once.

        Raises:
            AttributeError: the command makes none.
        """
        outputs = tensors_in(self._value)
        if not outputs:
            raise AttributeError(f"{self!r} makes no tensors; await it for its result")
        return outputs

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(f"{self!r} is no array; await it")

    def __await__(self) -> Generator[Any, None, T]:
        if self._state is not DONE:
            yield from self._wait_on_loop()
        return self._value  # type: ignore[no-any-return]

    def wait(self, timeout: float | None = None, *, block_loop: bool = False) -> bool:
        """Block this thread until the command is over, other threads running meanwhile.

        Args:
            timeout: seconds; None waits for ever.
            block_loop: block even the thread of a running event loop, which then does nothing else.

        Returns:
            Whether the command is over. Its error, if any, is raised by `result`.

        Raises:
            WouldBlock: an event loop runs on this thread, or this thread runs a host call of the
                same stream, which the command waits for, or a kernel of the program's own.
        """
        if self._state < DONE:
            if running_loop() is not None and not block_loop:
                raise WouldBlock(f"cannot block the thread of a running event loop; await {self!r} instead")
            self._block(timeout)
        return self._state >= DONE

    def add_done_callback(self, callback: Callable[[Completion[T]], object], *, context: Context | None = None) -> None:
        """Call ``callback(completion)`` once the command is over.

        Registered on an event loop's thread it is called by that loop, in ``context``;
        elsewhere by the thread that ends the command, or at once.
        """
        loop = running_loop()
        if loop is None:
            self._add_callback(DoneCallback(callback))
        else:
            self._add_waiter(LoopCallback(callback, loop, context or copy_context()))

    def remove_done_callback(self, callback: Callable[[Completion[T]], object]) -> int:
        """Forget a callback; return how often it was registered and not called yet."""
        if self._state >= DONE:
            return 0
        mine = [
            waiter
            for waiter in [*(self._waiters or ()), *(self._callbacks or ())]
            if isinstance(waiter, DoneCallback) and waiter.callback == callback
        ]
        return sum(self._remove_waiter(waiter) for waiter in mine)

    def _check_done(self) -> None:
        if self._state < DONE:
            from asyncio import InvalidStateError

            raise InvalidStateError(f"{self!r} is not done; await it, or call wait()")

    def _wait_on_loop(self) -> Generator[Any, None, None]:
        if self._state < DONE:
            yield from self._suspend()
        elif self._state == DUE:
            self._state = DONE
            yield  # a bare yield gives the loop one turn
        if self._state == FAILED:
            self._received = True
            raise self._error

    def _suspend(self) -> Generator[Any, None, None]:
        loop = running_loop()
        if loop is None:
            raise RuntimeError(f"{self!r} was awaited outside an asyncio event loop")
        future, inbox = loop.create_future(), inbox_of(loop)

        def wake(_: Completion[T]) -> None:
            inbox.release(future)

        self._check_waiter()
        self._suspended += 1
        try:
            self._add_waiter(wake)
            yield from future.__await__()
        finally:
            self._suspended -= 1
            self._remove_waiter(wake)

    def _block(self, timeout: float | None) -> None:
        """Wait on this thread, an interrupt being let through."""
        self._check_waiter()
        lock = threading.Lock()
        lock.acquire()

        def wake(_: Completion[T]) -> None:
            lock.release()

        self._add_waiter(wake)
        try:
            acquire(lock, timeout)
        finally:
            self._remove_waiter(wake)

    def _check_waiter(self) -> None:
        """Raise if waiting here would be for ever; see that somebody is at work on the stream."""
        if here.stream is not None and here.stream is self._stream:
            raise WouldBlock(f"{self!r} comes after the host call that waits for it; it would never be done")
        if here.is_kernel:
            raise WouldBlock(
                f"a kernel waits for {self!r}, which may wait for the kernel's thread; what a kernel needs is an input"
            )
        self._stream._queue.kick()  # an interrupt may have kept its submitter from it

    def _add_waiter(self, waiter: Callable[[Completion[T]], None]) -> None:
        if self._state >= DONE:
            waiter(self)
            return
        if self._waiters is None:
            with _first_waiter:
                self._waiters = self._waiters or []
        self._waiters.append(waiter)
        if self._state >= DONE:
            self._deliver(self._waiters)

    def _add_callback(self, callback: DoneCallback) -> None:
        if self._state >= DONE:
            callback(self)
            return
        if self._callbacks is None:
            with _first_waiter:
                self._callbacks = self._callbacks or []
        self._callbacks.append(callback)
        if self._state >= DONE:
            self._deliver(self._callbacks)

    def _remove_waiter(self, waiter: Callable[[Completion[T]], None]) -> bool:
        for waiters in (self._waiters, self._callbacks):
            try:
                (waiters or []).remove(waiter)
            except ValueError:
                continue
            return True
        return False

    # Ending a command takes two steps, so that its holder can let go of the claim between them: who
    # is woken finds the stream idle. Callbacks belong to the first step: what waits for the stream
    # waits for them. Only the thread that took a command out of the queue ends it.

    def _succeed(self, value: Any) -> None:
        """End the command well; `_wake` is to follow."""
        self._value = value
        self._state = DONE
        if self._callbacks:
            self._deliver(self._callbacks)

    def _fail(self, error: BaseException) -> None:
        """End the command badly, what it writes having no contents; `_wake` is to follow."""
        self._error = error
        for tensor in (*tensors_in(self._value), *(() if self._work is None else self._work._updates)):
            tensor.fail(error)
            if tensor._producer is self:
                tensor._producer = None
        self._state = FAILED
        if self._work is not None:
            self._work.ended(self)
        if self._callbacks:
            self._deliver(self._callbacks)

    def _wake(self) -> None:
        """Wake whoever waits for the end."""
        if self._waiters:
            self._deliver(self._waiters)

    def _deliver(self, waiters: list[Callable[[Completion[T]], None]]) -> None:
        while waiters:
            try:
                waiter = waiters.pop(0)
            except IndexError:
                return
            waiter(self)

    def _note(self, error: BaseException) -> None:
        """Write on an error which command of which stream failed, and where it was submitted."""
        if self._code is not None:
            site = _site.describe(self._code, self._instruction)
            add_note(error, f"submitted to {self._stream._describe()} at {site}")

    def __repr__(self) -> str:
        work = getattr(self, "_work", None)
        name = f" of {work.name()}" if work is not None else ""
        stream = getattr(self, "_stream", None)
        where = f" on {stream._describe()}" if stream is not None else ""
        return f"<Completion {NAMES[self._state]}{name}{where}>"


def queued(stream: StreamEngine, run: Callable[..., object], value: Any, work: Work[Any] | None) -> Completion[Any]:
    """Return a completion for the queue, with the line that submits it."""
    completion: Completion[Any] = _new(Completion)
    completion._state, completion._value, completion._run = QUEUED, value, run
    completion._work, completion._stream = work, stream
    completion._waiters = completion._callbacks = None
    completion._suspended, completion._received = 0, False
    frame = _site.caller()
    if frame is None:
        completion._code, completion._instruction = None, 0
    else:
        completion._code, completion._instruction = frame.f_code, frame.f_lasti
    return completion


def finished(value: T, state: int = DONE) -> Completion[T]:
    """Return a completion of a command that is over already."""
    completion: Completion[T] = _new(Completion)
    completion._state, completion._value = state, value
    return completion


def tensors_in(result: Any) -> tuple[Tensor, ...]:
    """Return the tensors that a result consists of; none if it is something else."""
    if type(result) is Tensor:
        return (result,)
    if type(result) is tuple and all(type(each) is Tensor for each in result):
        return result
    return ()


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
