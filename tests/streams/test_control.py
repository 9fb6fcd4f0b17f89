"""Stopping streams from outside, changing whether they stop by themselves, and limits on time."""

from __future__ import annotations

import asyncio
import logging
import threading
import time

import numpy as np
import pytest

import aacl
from aacl import Aborted, EventTimeout, InvalidArgument, KernelTimeout, Stream, StreamError, ops
from tests.helpers import Boom, Hold, PythonWork, fail, wait_until_idle, wait_until_parked


class TimedWork(PythonWork):
    """Python work that counts as an operator."""

    is_timed = True


async def test_the_mode_can_change_at_any_time(stream: Stream) -> None:
    """Set on an open stream it counts from the next failure on; set back, failures stop nothing."""
    assert not stream.stop_at_failure
    stream.stop_at_failure = True
    with pytest.raises(Boom):
        await stream.call(fail)
    with pytest.raises(StreamError, match=r"recover\(\)"):
        stream.call(int)
    assert isinstance(stream.stopped_by, Boom)

    stream.stop_at_failure = False
    assert isinstance(stream.stopped_by, Boom)
    stream.recover()
    assert stream.stopped_by is None
    with pytest.raises(Boom):
        await stream.call(fail)
    assert await stream.call(int) == 0


async def test_short_work_runs_at_once_again_after_the_mode_ended(stream: Stream) -> None:
    """Only while a stream may stop does work go through its queue."""
    stream.stop_at_failure = True
    await stream.execute(PythonWork(int, estimate=0))
    stream.stop_at_failure = False
    wait_until_idle(stream)

    assert stream.execute(PythonWork(int, estimate=0)).done()


async def test_a_halted_stream_takes_nothing_until_it_recovers(stream: Stream) -> None:
    """An idle stream that is halted refuses work of every kind, the error being the cause; synchronise does not hang."""
    cause = Boom("elsewhere")
    assert stream.halt(cause) == 0
    for submit in (
        lambda: stream.execute(PythonWork(int, estimate=0)),
        lambda: stream.execute(PythonWork(int)),
        lambda: stream.call(int),
        lambda: stream.record_event(),
    ):
        with pytest.raises(StreamError) as refused:
            submit()
        assert refused.value.__cause__ is cause
    async with asyncio.timeout(5):
        await stream.synchronize()
    stream.recover()

    assert await stream.call(int) == 0
    wait_until_idle(stream)
    assert stream.execute(PythonWork(int, estimate=0)).done()


async def test_halting_drops_what_has_not_started(stream: Stream) -> None:
    """What runs goes on; what is queued fails with Aborted; the number of these is returned."""
    ran: list[int] = []
    with Hold(stream) as hold:
        queued = [stream.call(ran.append, 1), stream.execute(PythonWork(lambda: ran.append(2)))]
        assert stream.halt(Boom("elsewhere")) == 2
        assert all(isinstance(each.exception(), Aborted) for each in queued)
    async with asyncio.timeout(5):
        assert await hold.completion == "released"
        await stream.synchronize()
    assert ran == []
    stream.recover()


async def test_halting_ends_a_wait_for_an_event(stream: Stream, other: Stream) -> None:
    """A stream that stands still for an event is halted at once, and goes on after recover."""
    with Hold(other):
        waiting = stream.wait_event(other.record_event())
        wait_until_parked(stream)
        stream.halt(Boom("elsewhere"))
        with pytest.raises(Aborted):
            await waiting
    stream.recover()

    assert await stream.call(int) == 0


async def test_the_first_failure_stays(stream: Stream) -> None:
    """Halting a stream that has stopped changes nothing; a closed one cannot be halted."""
    first = Boom("first")
    stream.halt(first)
    stream.halt(Boom("second"))
    assert stream.stopped_by is first
    await stream.aclose()

    with pytest.raises(aacl.ClosedResource):
        stream.halt(Boom("third"))


async def test_who_wants_to_know_is_told_before_the_waiters(stream: Stream, caplog: pytest.LogCaptureFixture) -> None:
    """on_stop gets the failure that stopped the stream, not others; what it raises is logged."""
    told: list[BaseException] = []
    stream.on_stop = told.append
    with pytest.raises(Boom):
        await stream.call(fail)
    assert told == []
    stream.stop_at_failure = True

    with pytest.raises(Boom) as caught:
        await stream.call(fail)
    assert told == [caught.value]
    stream.recover()
    stream.on_stop = lambda _: 1 / 0
    with caplog.at_level(logging.ERROR), pytest.raises(Boom):
        await stream.call(fail)
    assert "ZeroDivisionError" in caplog.text
    stream.recover()


async def test_a_wait_for_an_event_can_be_limited(stream: Stream, other: Stream) -> None:
    """After its time the wait fails with EventTimeout, which surfaces like any failure, and the stream goes on."""
    with Hold(other):
        waiting = stream.wait_event(other.record_event(), timeout=0.02)
        behind = stream.call(int)
        async with asyncio.timeout(5):
            assert await behind == 0
        with pytest.raises(StreamError, match=r"waited 0\.02 s") as late:
            await stream.synchronize()
        assert isinstance(late.value.__cause__, EventTimeout)
        assert isinstance(waiting.exception(), EventTimeout)


async def test_a_wait_that_ends_in_time_is_no_failure(stream: Stream, other: Stream) -> None:
    """The mark, or abort(), ends the wait and its clock; nothing fails later."""
    with Hold(other):
        in_time = stream.wait_event(other.record_event(), timeout=30)
        wait_until_parked(stream)
    await in_time
    with Hold(other):
        dropped = stream.wait_event(other.record_event(), timeout=30)
        wait_until_parked(stream)
        stream.abort_nowait()
        with pytest.raises(Aborted):
            await dropped
    await stream.synchronize()

    deadline = time.monotonic() + 5
    while any(each.name == "aacl-event-wait" for each in threading.enumerate()):
        assert time.monotonic() < deadline


async def test_a_limit_beyond_what_a_thread_can_wait(stream: Stream, other: Stream) -> None:
    """The longest time that a thread can wait is waited then; the mark ends it as ever."""
    with Hold(other):
        waiting = stream.wait_event(other.record_event(), timeout=1e300)
        wait_until_parked(stream)
    async with asyncio.timeout(5):
        await waiting


async def test_a_wait_that_takes_too_long_stops_a_stream_that_stops(stream: Stream, other: Stream) -> None:
    """The time limit is a failure like others."""
    stream.stop_at_failure = True
    with Hold(other):
        waiting = stream.wait_event(other.record_event(), timeout=0.02)
        behind = stream.call(int)
        with pytest.raises(EventTimeout):
            await waiting
        with pytest.raises(Aborted):
            await behind
        assert isinstance(stream.stopped_by, EventTimeout)
    stream.recover()


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), "1s"])
async def test_times_that_mean_nothing(stream: Stream, timeout: float) -> None:
    """A limit is a number of seconds above 0; what is refused changes nothing."""
    with pytest.raises(InvalidArgument, match="seconds"):
        stream.wait_event(stream.record_event(), timeout)
    with pytest.raises(InvalidArgument, match="seconds"):
        stream.operator_timeout = timeout

    assert stream.operator_timeout is None


async def test_an_operator_that_takes_too_long_fails(stream: Stream) -> None:
    """It fails when it ends, with what it took and was allowed; one in time, and work that is none, do not."""
    gate = threading.Event()
    stream.operator_timeout = 0.01
    late = stream.execute(TimedWork(lambda: gate.wait(0.03)))
    await stream.execute(PythonWork(lambda: gate.wait(0.03)))
    await stream.execute(TimedWork(int))

    with pytest.raises(KernelTimeout, match=r"TimedWork ran for 0\.\d+ s; its stream allows 0.01 s") as caught:
        await late
    assert caught.value.code == 507014
    await stream.synchronize()
    stream.operator_timeout = None
    await stream.execute(TimedWork(lambda: gate.wait(0.03)))


async def test_the_limit_is_that_of_the_submission(stream: Stream) -> None:
    """What was submitted before keeps the limit that was set then."""
    with Hold(stream):
        free = stream.execute(TimedWork(lambda: threading.Event().wait(0.02)))
        stream.operator_timeout = 0.001
        bound = stream.execute(TimedWork(lambda: threading.Event().wait(0.02)))
        stream.operator_timeout = None
    await free

    with pytest.raises(KernelTimeout):
        await bound


async def test_operators_of_the_catalogue_are_timed(stream: Stream) -> None:
    """A matrix product that takes longer than a microsecond is told by its type, and its output has no contents."""
    a = await stream.to_device(np.ones((512, 512), np.float32))
    stream.operator_timeout = 1e-6
    with Hold(stream):
        product = stream.execute(ops.MatMul(a, a))
        later = stream.execute(ops.Add(product, a))

    with pytest.raises(KernelTimeout, match="MatMul"):
        await product
    with pytest.raises(KernelTimeout, match="MatMul"):
        await later
