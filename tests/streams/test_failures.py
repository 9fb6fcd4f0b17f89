"""Errors never vanish, and nothing runs on garbage."""

from __future__ import annotations

import asyncio
import gc
import linecache
import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import aacl
from aacl import Aborted, Device, KernelError, Stream, StreamError, ops
from tests.helpers import Boom, Hold, PythonWork, fail, wait_until_idle

SOURCE = Path(__file__).read_text().splitlines()


def _notes(error: BaseException | None) -> str:
    return "\n".join(getattr(error, "__notes__", []))


async def test_a_kernels_failure_is_a_kernel_error(stream: Stream) -> None:
    """The runtime's own work fails with KernelError, which names the work and has the exception as its cause."""
    for estimate in (0, 10**9):
        with pytest.raises(KernelError, match=r"PythonWork failed.*boom") as caught:
            await stream.execute(PythonWork(fail, estimate=estimate))
        assert isinstance(caught.value.__cause__, Boom)
        assert caught.value.code == 507018


async def test_a_programs_own_kernels_keep_their_exceptions(stream: Stream) -> None:
    """Work that says so is not translated."""

    class Own(PythonWork):
        keeps_exceptions = True

    for estimate in (0, 10**9):
        with pytest.raises(Boom):
            await stream.execute(Own(fail, estimate=estimate))


@dataclass(frozen=True)
class Frozen(Exception):
    """An exception that takes no notes."""

    code: int = 3


class Wordless(Exception):
    """An exception that gives no text."""

    def __str__(self) -> str:
        raise Boom


@pytest.mark.parametrize("error", [Frozen(), Wordless()], ids=["frozen", "wordless"])
@pytest.mark.parametrize("halts", [False, True])
async def test_exceptions_that_refuse_to_be_told_of(device: Device, error: Exception, halts: bool) -> None:
    """They end their command as any other do, surface with their cause, and the stream goes on."""

    def refuse() -> None:
        raise error

    async with Stream(device, stop_at_failure=halts) as stream:
        stream.call(refuse)
        later = stream.call(int)
        await stream.barrier()
        if halts:
            assert isinstance(later.exception(), Aborted)
            with pytest.raises(StreamError, match="stopped at a failure"):
                stream.call(int)
            stream.recover()
        with pytest.raises(StreamError, match=type(error).__name__) as caught:
            await stream.synchronize()
        assert caught.value.__cause__ is error
        assert await stream.call(int) == 0


async def test_an_exception_that_is_raised_again_and_again_keeps_one_note(stream: Stream) -> None:
    """One object may end many commands: what was said on it is not said again."""
    error = Boom()

    def refuse() -> None:
        raise error

    for _ in range(3):
        with pytest.raises(Boom):
            await stream.call(refuse)
    assert len(error.__notes__) == 1


async def test_errors_of_the_runtime_are_not_wrapped(stream: Stream) -> None:
    """An AclError raised inside of work stays what it is."""

    def refuse() -> None:
        raise aacl.NotSupported("not here")

    with pytest.raises(aacl.NotSupported):
        await stream.execute(PythonWork(refuse))


@pytest.mark.parametrize("kind", ["call", "worker", "inline"])
async def test_the_note_shows_the_submitting_line(stream: Stream, kind: str) -> None:
    """Stream, file, line and the source text of the submission, wherever the command ran."""
    submit: dict[str, Callable[[], aacl.Completion[Any]]] = {
        "call": lambda: stream.call(fail),  # MARK call
        "worker": lambda: stream.execute(PythonWork(fail)),  # MARK worker
        "inline": lambda: stream.execute(PythonWork(fail, estimate=0)),  # MARK inline
    }
    with pytest.raises((Boom, KernelError)) as caught:
        await submit[kind]()
    line = next(number for number, text in enumerate(SOURCE, 1) if f"# MARK {kind}" in text)

    assert f"stream {stream.number} at {__file__}:{line}: " in _notes(caught.value)
    assert f"# MARK {kind}" in _notes(caught.value)


async def test_the_note_of_a_caller_in_a_neighbouring_package(stream: Stream) -> None:
    """Only this package's own files are skipped, not those of a folder whose name begins alike."""
    file = str(Path(aacl.__file__).parent) + "_extra/script.py"
    text = "def submit(stream, function):\n    return stream.call(function)\n"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space: dict[str, Any] = {}
    exec(compile(text, file, "exec"), space)
    error = await asyncio.gather(space["submit"](stream, fail), return_exceptions=True)

    assert f"{file}:2: return stream.call(function)" in _notes(error[0])


async def test_what_nobody_received_surfaces_once(stream: Stream) -> None:
    """The next synchronise raises StreamError from the first failure, with the others as notes; then never again."""
    stream.call(fail, "first")
    stream.call(fail, "second")
    with pytest.raises(StreamError, match="first") as caught:
        await stream.synchronize()

    assert isinstance(caught.value.__cause__, Boom)
    assert "second" in _notes(caught.value)
    assert caught.value.code == 507000
    await stream.synchronize()
    stream.raise_failure()


async def test_failures_are_counted_until_they_are_received(stream: Stream) -> None:
    """statistics() shows those that nobody has seen."""
    first, second = stream.call(fail), stream.call(fail)
    await stream.barrier()
    assert stream.statistics().failures == 2
    first.exception()
    assert stream.statistics().failures == 1
    second.exception()
    await stream.synchronize()


@pytest.mark.parametrize("receive", ["await", "result", "exception"])
async def test_received_errors_do_not_surface(stream: Stream, receive: str) -> None:
    """Awaiting, result() and exception() each receive it."""
    completion = stream.call(fail)
    await stream.barrier()
    if receive == "exception":
        completion.exception()
    else:
        with pytest.raises(Boom):
            await completion if receive == "await" else completion.result()

    await stream.synchronize()


async def test_a_done_callback_receives_nothing(stream: Stream) -> None:
    """A callback is told of the end; the error is received by whoever asks for it."""
    with Hold(stream):
        stream.call(fail).add_done_callback(lambda _: None)
    with pytest.raises(StreamError):
        await stream.synchronize()


async def test_a_wait_that_times_out_receives_nothing(stream: Stream) -> None:
    """Who stopped waiting before the failure did not see it."""
    with Hold(stream):
        completion = stream.call(fail)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(completion, 0.001)
    with pytest.raises(StreamError):
        await stream.synchronize()


def test_a_blocking_wait_receives_nothing() -> None:
    """wait() tells that the command is over and not how: without result() the error is not received."""
    with aacl.blocking.Device(0) as device, aacl.blocking.Stream(device) as stream:
        with Hold(stream.stream) as hold:
            completion = stream.stream.call(fail)
            waiter = threading.Thread(target=completion.wait)
            waiter.start()
            hold.release()
            waiter.join()
        assert completion.wait()
        with pytest.raises(StreamError):
            stream.synchronize()


async def test_an_error_is_not_lost_between_its_end_and_a_cancelled_wait(stream: Stream) -> None:
    """A task cancelled after the command failed, and before it could raise, has not received the error."""
    gate = threading.Event()

    def work() -> None:
        assert gate.wait(10)
        fail()

    completion = stream.call(work)
    task = asyncio.ensure_future(asyncio.wait_for(completion, None))
    await asyncio.sleep(0)
    gate.set()
    assert completion.wait(10, block_loop=True)
    task.cancel()  # its wake-up is on the way to this loop
    surfaced = 0
    for look in (stream.raise_failure, None, stream.raise_failure):
        if look is None:
            with pytest.raises((asyncio.CancelledError, Boom)) as caught:
                await task
            surfaced += caught.type is Boom
            continue
        try:
            look()
        except StreamError:
            surfaced += 1

    assert surfaced == 1


async def test_the_end_of_a_block_reports_what_nobody_received(device: Device) -> None:
    """Leaving the stream's block raises StreamError; the stream is closed all the same."""
    stream = Stream(device)
    with pytest.raises(StreamError) as caught:
        async with stream:
            stream.call(fail)

    assert isinstance(caught.value.__cause__, Boom)
    assert stream.closed


async def test_a_body_that_raises_carries_the_rest_as_a_note(device: Device) -> None:
    """The body's own exception leaves the block, told what else went wrong."""
    with pytest.raises(LookupError) as caught:  # noqa: PT012 - the block itself raises
        async with Stream(device) as stream:
            stream.call(fail)
            await stream.barrier()
            raise LookupError

    assert "StreamError" in _notes(caught.value)
    assert "boom" in _notes(caught.value)


async def test_a_cancelled_aclose_carries_the_rest_as_a_note(device: Device) -> None:
    """Cancelling a close that has failures to report does not lose them."""
    stream = await Stream(device).open()
    stream.call(fail)
    with Hold.behind(stream) as hold:
        hold.wait_until_started()
        task = asyncio.create_task(stream.aclose())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        hold.release()
        done, _ = await asyncio.wait({task}, timeout=5)
    assert done, "the close hangs"
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert "boom" in _notes(caught.value)
    assert stream.closed


# -- what reads from a failed command -------------------------------------------------------------


def _failing(stream: Stream, target: aacl.Tensor, text: str = "boom") -> aacl.Completion[Any]:
    return stream.execute(PythonWork(lambda: fail(text), result=target))


@pytest.mark.parametrize("queued", [True, False])
async def test_work_on_a_failed_output_fails_with_the_same_cause(stream: Stream, queued: bool) -> None:
    """Down the whole chain, copies to the host included, the same exception comes out and no kernel runs."""
    target = aacl.empty((4,), np.float64, device=_device(stream))
    failed = _failing(stream, target)
    if not queued:
        await stream.barrier()
    total = stream.execute(ops.Add(failed, failed))
    host = stream.to_host(stream.execute(ops.Neg(total)))
    copied = stream.copy(aacl.empty((4,), np.float64, device=_device(stream)), target)
    errors = await asyncio.gather(failed, total, host, copied, return_exceptions=True)

    assert isinstance(errors[0], KernelError)
    assert all(error is errors[0] for error in errors)
    await stream.synchronize()


async def test_a_failed_tensor_cannot_be_viewed(stream: Stream) -> None:
    """Reading it on the host fails with the same cause, and its repr says failed."""
    target = aacl.empty((4,), np.float64, device=_device(stream))
    with pytest.raises(KernelError) as caught:
        await _failing(stream, target)
    with pytest.raises(KernelError) as again:
        target.view()

    assert again.value is caught.value
    assert "failed" in repr(target)


async def test_a_success_makes_a_failed_output_good_again(stream: Stream) -> None:
    """An operation that writes `out` clears the failure of the one before."""
    a = await stream.to_device(np.arange(4.0))
    target = aacl.empty((4,), np.float64, device=_device(stream))
    add = ops.Add(a, a, out=target)
    await stream.execute(add)
    with pytest.raises(KernelError):
        await _failing(stream, target)
    with pytest.raises(KernelError):
        await stream.to_host(target)
    await stream.execute(add)

    assert (await stream.to_host(target)).tolist() == [0, 2, 4, 6]


async def test_dropped_commands_leave_their_outputs_failed(stream: Stream) -> None:
    """Work on the output of a command that abort() dropped fails as dropped, also when one operation is queued twice."""
    a = await stream.to_device(np.arange(4.0))
    add = ops.Add(a, a)
    with Hold(stream):
        first, second = stream.execute(add), stream.execute(add)
        tensors = first.output, second.output
        await stream.abort()
    for completion, tensor in ((first, tensors[0]), (second, tensors[1])):
        with pytest.raises(Aborted) as caught:
            await completion
        with pytest.raises(Aborted) as again:
            await stream.to_host(tensor)
        assert again.value is caught.value
        assert completion.output is tensor


async def test_garbage_is_seen_on_the_way_from_busy_to_idle(stream: Stream) -> None:
    """Work submitted just when the command before it fails does not slip past the look at its inputs."""
    a = await stream.to_device(np.ones(4))
    target = aacl.empty((4,), np.float64, device=_device(stream))
    await stream.execute(ops.Add(a, a, out=target))
    gate = threading.Event()

    def work() -> None:
        assert gate.wait(10)
        fail()

    add = ops.Add(target, a)
    failing = stream.execute(PythonWork(work, result=target))
    seen: list[int] = []

    def meanwhile(frame: FrameType, event: str, argument: object) -> Any:
        # The command before ends when `add` was bound and looked at, just before the claim is tried.
        code = frame.f_code
        if event == "line" and "claim.pop()" in linecache.getline(code.co_filename, frame.f_lineno):
            sys.settrace(None)
            seen.append(frame.f_lineno)
            gate.set()
            assert failing.wait(10, block_loop=True)
            wait_until_idle(stream)
        return meanwhile if code.co_name == "execute" else None

    sys.settrace(meanwhile)
    try:
        completion = stream.execute(add)
    finally:
        sys.settrace(None)
    assert len(seen) == 1
    errors = await asyncio.gather(failing, completion, return_exceptions=True)

    assert isinstance(errors[0], KernelError)
    assert errors[1] is errors[0]


async def test_a_rebinding_epoch_does_not_hide_a_failure(stream: Stream) -> None:
    """A prepared operation that ran before sees that its input failed since."""
    a = await stream.to_device(np.ones(4))
    target = aacl.empty((4,), np.float64, device=_device(stream))
    result = aacl.empty((4,), np.float64, device=_device(stream))
    await stream.execute(ops.Add(a, a, out=target))
    add = ops.Add(target, a, out=result)
    await stream.execute(add)
    with pytest.raises(KernelError):
        await _failing(stream, target)
    with pytest.raises(KernelError):
        await stream.execute(add)


def _device(stream: Stream) -> Device:
    owner = stream._owner
    assert isinstance(owner, aacl.Context)
    return owner.device


async def test_failures_that_were_received_are_let_go(stream: Stream) -> None:
    """A stream that is never synchronised keeps the errors that nobody has seen, and few of the others."""
    for number in range(3):
        stream.call(fail, f"unseen {number}")
    received = []
    for _ in range(200):
        completion = stream.execute(PythonWork(fail))
        received.append(weakref.ref(completion))
        with pytest.raises(KernelError):
            await completion
        del completion
    gc.collect()

    assert sum(reference() is not None for reference in received) < 32
    assert stream.statistics().failures == 3
    with pytest.raises(StreamError, match="unseen 0") as caught:
        await stream.synchronize()
    assert "unseen 1" in _notes(caught.value)
    assert "unseen 2" in _notes(caught.value)
