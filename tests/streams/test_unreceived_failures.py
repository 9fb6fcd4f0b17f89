"""Errors never vanish: those that nobody received surface."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref

import pytest

import aacl
from aacl import Device, KernelError, Stream, StreamError
from tests.helpers import Boom, Hold, PythonWork, fail, notes_of


async def test_what_nobody_received_surfaces_once(stream: Stream) -> None:
    """The next synchronise raises StreamError from the first failure, with the others as notes; then never again."""
    stream.call(fail, "first")
    stream.call(fail, "second")
    with pytest.raises(StreamError, match="first") as caught:
        await stream.synchronize()

    assert isinstance(caught.value.__cause__, Boom)
    assert "second" in notes_of(caught.value)
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

    assert "StreamError" in notes_of(caught.value)
    assert "boom" in notes_of(caught.value)


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
    assert "boom" in notes_of(caught.value)
    assert stream.closed


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
    assert "unseen 1" in notes_of(caught.value)
    assert "unseen 2" in notes_of(caught.value)
