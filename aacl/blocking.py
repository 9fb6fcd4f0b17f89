"""The same runtime without an event loop: ``with`` instead of ``async with``, calls that wait.

::

    with aacl.blocking.Device(0), aacl.blocking.Stream() as stream:
        a = stream.to_device(array)
        y = stream.execute(aacl.ops.Add(a, a))
        print(stream.to_host(y))

Waits let other threads run, and an interrupt gets through. On the thread of a
running event loop they are refused, but for the end of a block, which always
waits for what runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from aacl._closing import AsyncResource, close_blocking
from aacl.devices._context import Context as _Context
from aacl.devices._device import Device as _Device
from aacl.devices._pool import MemoryPool as _MemoryPool
from aacl.errors import EventTimeout, WaitTimeout
from aacl.streams._stream import Stream as _Stream

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from aacl.abc import Array
    from aacl.dtypes import DTypeLike
    from aacl.memory._buffer import Buffer
    from aacl.streams._completion import Completion
    from aacl.streams._event import Event
    from aacl.streams._hosts import Executor
    from aacl.streams._owner import StreamOwner
    from aacl.streams._work import Work
    from aacl.tensors._tensor import Tensor

__all__ = ("Context", "Device", "MemoryPool", "Stream", "close", "open_resource", "synchronize", "wait", "wait_event")

R = TypeVar("R", bound=AsyncResource)
T = TypeVar("T")


def open_resource(resource: R) -> R:
    """Open a device, context, stream or pool without making it current, and return it.

    Raises:
        ClosedResource: it, or its owner, is closed.
    """
    resource._open_once()
    return resource


def close(resource: AsyncResource, *, drop: bool = False) -> None:
    """Wait for what is queued, then close a resource and everything in it; harmless when repeated.

    Args:
        resource: what to close.
        drop: drop what is queued, and wait for what runs only.

    Raises:
        StreamError: work failed and nobody received its error; everything is closed all the same.
    """
    close_blocking(resource, drop=drop)


def wait(completion: Completion[T], timeout: float | None = None, *, block_loop: bool = False) -> T:
    """Wait for a command and return its result.

    Args:
        completion: of the command.
        timeout: seconds; None waits for ever.
        block_loop: block even the thread of a running event loop.

    Raises:
        WaitTimeout: it is not over in time.
        WouldBlock: an event loop runs on this thread.
        BaseException: what the command failed with.
    """
    if not completion.wait(timeout, block_loop=block_loop):
        raise WaitTimeout(f"{completion!r} is not over after {timeout} s; it goes on")
    return completion.result()


def synchronize(stream: _Stream, timeout: float | None = None, *, block_loop: bool = False) -> None:
    """Wait until everything submitted to a stream so far is over.

    Raises:
        WaitTimeout: it is not over in time; the work goes on.
        StreamError: a command failed and nobody received its error.
        WouldBlock: an event loop runs on this thread, or this thread runs a host call of the stream.
    """
    barrier = stream.barrier()
    if not barrier.done() and not barrier.wait(timeout, block_loop=block_loop):
        raise WaitTimeout(f"{stream!r} is not through its work after {timeout} s; the work goes on")
    stream.raise_failure()


class _Block(Generic[R]):
    """A resource for a ``with`` block."""

    def __init__(self, resource: R) -> None:
        self._resource = resource

    def _enter(self) -> None:
        self._resource._open_once()
        self._resource._become_current()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        close_blocking(self._resource, error)


class Device(_Block[_Device]):
    """``with Device(0) as device`` opens an `aacl.Device` and makes it current."""

    def __init__(self, index: int = 0) -> None:
        """Prepare a device; see `aacl.Device`."""
        super().__init__(_Device(index))

    def __enter__(self) -> _Device:
        self._enter()
        return self._resource


class Context(_Block[_Context]):
    """``with Context() as context`` opens an `aacl.Context` and makes it current."""

    def __init__(self, device: _Device | None = None) -> None:
        """Prepare a context; see `aacl.Context`."""
        super().__init__(_Context(device))

    def __enter__(self) -> _Context:
        self._enter()
        return self._resource


class MemoryPool(_Block[_MemoryPool]):
    """``with MemoryPool(nbytes) as pool`` opens an `aacl.MemoryPool`."""

    def __init__(self, nbytes: int, *, alignment: int = 64, device: _Device | None = None) -> None:
        """Prepare a pool; see `aacl.MemoryPool`."""
        super().__init__(_MemoryPool(nbytes, alignment=alignment, device=device))

    def __enter__(self) -> _MemoryPool:
        self._enter()
        return self._resource


class Stream(_Block[_Stream]):
    """A stream whose calls wait: ``with Stream() as stream``. `submit` is the one that does not.

    Attributes:
        stream: the `aacl.Stream` underneath.
    """

    def __init__(
        self, owner: StreamOwner | None = None, *, limit: int | None = None, stop_at_failure: bool = False
    ) -> None:
        """Prepare a stream; see `aacl.Stream`."""
        super().__init__(_Stream(owner, limit=limit, stop_at_failure=stop_at_failure))
        self.stream = self._resource

    def __enter__(self) -> Self:
        self._enter()
        return self

    def submit(self, work: Work[T]) -> Completion[T]:
        """Submit work and return its completion at once."""
        return self.stream.execute(work)

    def execute(self, work: Work[T]) -> T:
        """Run work in its place in the queue and return its result."""
        return wait(self.stream.execute(work))

    def call(self, function: Callable[..., T], *arguments: object, on: Executor | None = None) -> T:
        """Run a Python function in its place in the queue and return its result."""
        return wait(self.stream.call(function, *arguments, on=on))

    def copy(self, target: Tensor | Buffer, source: Tensor | Buffer, nbytes: int | None = None) -> Any:
        """Copy between tensors or buffers, and return the target."""
        return wait(self.stream.copy(target, source, nbytes))

    def fill(self, target: Tensor | Buffer, value: int) -> Any:
        """Set every byte of a tensor or buffer, and return it."""
        return wait(self.stream.fill(target, value))

    def to_device(self, array: Any, dtype: DTypeLike | None = None) -> Tensor:
        """Copy a host array to a new tensor."""
        return wait(self.stream.to_device(array, dtype))

    def to_host(self, tensor: Tensor | Completion[Any], out: Array | None = None) -> Array:
        """Copy a tensor to the host, after what is queued."""
        return wait(self.stream.to_host(tensor, out))

    def record_event(self, event: Event | None = None) -> Event:
        """Put a mark behind what is queued; does not wait."""
        return self.stream.record_event(event)

    def wait_event(self, event: Event, timeout: float | None = None) -> None:
        """Let what is submitted from now on wait for an event; does not wait itself. See `aacl.Stream.wait_event`."""
        self.stream.wait_event(event, timeout)

    def synchronize(self, timeout: float | None = None) -> None:
        """Wait until everything submitted so far is over; see `aacl.blocking.synchronize`."""
        synchronize(self.stream, timeout)

    def abort(self) -> int:
        """Drop everything that has not started; return how many commands that were."""
        return self.stream.abort_nowait()

    @property
    def closed(self) -> bool:
        """Whether the stream has been closed."""
        return self.stream.closed

    def __repr__(self) -> str:
        return f"<blocking {self.stream!r}>"


def wait_event(event: Event, timeout: float | None = None, *, block_loop: bool = False) -> None:
    """Wait until the latest recording of an event was reached.

    Raises:
        EventTimeout: it was not reached in time.
        WouldBlock: an event loop runs on this thread.
    """
    if not event.wait(timeout, block_loop=block_loop):
        raise EventTimeout(f"{event!r} after {timeout} s; the work before it goes on")
