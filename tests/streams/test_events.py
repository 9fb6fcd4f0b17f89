"""Events: futures of a mark, and the order between streams."""

from __future__ import annotations

import asyncio
import itertools
import threading

import numpy as np
import pytest

import aacl
from aacl import Aborted, Device, Event, EventNotRecorded, EventReversed, Stream, ops
from tests.helpers import Hold, PythonWork


async def test_an_event_is_a_future_of_its_mark(stream: Stream) -> None:
    """It is done once the stream has reached it."""
    with Hold(stream):
        event = stream.record_event()
        assert event.recorded
        assert not event.done()
        with pytest.raises(asyncio.InvalidStateError):
            event.exception()
        assert "not reached" in repr(event)
        task = asyncio.ensure_future(asyncio.wait_for(event, 10))
        await asyncio.sleep(0)
    await task
    await event

    assert event.done()
    assert event.exception() is None
    assert "reached at" in repr(event)


async def test_an_idle_stream_reaches_a_mark_at_once(stream: Stream) -> None:
    """No thread is needed for it."""
    assert stream.record_event().done()


async def test_an_event_never_recorded_is_not_waited_for(stream: Stream) -> None:
    """As on the card: waiting for it is a no-op; it has no time."""
    event = Event()
    assert (event.recorded, event.done(), event.exception()) == (False, True, None)
    await event
    assert stream.wait_event(event).done()
    assert event.wait(0)
    with pytest.raises(EventNotRecorded, match="never recorded"):
        _ = event.time
    assert "never recorded" in repr(event)


async def test_gather_and_wait_take_events(stream: Stream) -> None:
    """An event stands where a future may."""
    with Hold(stream) as hold:
        events = [stream.record_event() for _ in range(3)]
        waiting = asyncio.gather(*events)
        await asyncio.sleep(0)
        hold.release()
    await waiting

    assert all(event.done() for event in events)


async def test_a_stream_waits_for_the_mark_of_another(stream: Stream, other: Stream) -> None:
    """What was submitted after wait_event runs after the mark; what was submitted before does not wait."""
    seen: list[str] = []
    with Hold(stream):
        stream.call(seen.append, "marked")
        event = stream.record_event()
        before = other.call(seen.append, "before")
        waited = other.wait_event(event)
        after = other.execute(PythonWork(lambda: seen.append("after"), estimate=0))
        await before
        assert not waited.done()
        assert not after.done()
        assert not other.idle
    await after

    assert seen == ["before", "marked", "after"]


async def test_a_mark_that_was_reached_parks_nobody(stream: Stream, other: Stream) -> None:
    """Waiting for it on an idle stream leaves the stream idle."""
    event = stream.record_event()
    assert other.wait_event(event).done()
    assert other.idle


async def test_waiting_for_a_mark_of_its_own_is_in_order_already(stream: Stream) -> None:
    """A stream that waits for its own earlier mark goes on."""
    with Hold(stream):
        event = stream.record_event()
        waited = stream.wait_event(event)
        after = stream.call(int)
    await waited
    assert await after == 0


async def test_recording_again_starts_over(stream: Stream, other: Stream) -> None:
    """The event is pending again; who waited for the earlier mark keeps waiting for that one."""
    event = stream.record_event()
    assert event.done()
    first = event.time
    with Hold(stream) as hold:
        assert stream.record_event(event) is event
        assert not event.done()
        early = other.wait_event(event)
        hold.release()
        await early
        with Hold.behind(stream) as later:
            stream.record_event(event)
            late = other.wait_event(event)
            assert early.done()
            assert not late.done()
            later.release()
    await event

    assert event.time > first


async def test_many_streams_wait_for_one_mark(device: Device, stream: Stream) -> None:
    """All of them go on."""
    others = [await Stream(device).open() for _ in range(10)]
    with Hold(stream):
        event = stream.record_event()
        completions = []
        for each in others:
            each.wait_event(event)
            completions.append(each.call(int))
        assert not any(completion.done() for completion in completions)
    assert await asyncio.gather(*completions) == [0] * 10


async def test_a_relay_through_many_streams(device: Device) -> None:
    """A chain of waits runs link by link, without a nested call a link."""
    streams = [await Stream(device).open() for _ in range(300)]
    seen: list[int] = []
    with Hold(streams[0]):
        for number, (before, after) in enumerate(itertools.pairwise(streams)):
            after.wait_event(before.record_event())
            after.execute(PythonWork(lambda number=number: seen.append(number)))  # type: ignore[misc]
    await streams[-1].synchronize()

    assert seen == list(range(299))


async def test_events_order_devices(device: Device) -> None:
    """A stream of one device waits for a mark of another's, and the data are there."""
    async with Device(1) as second, Stream(second) as there, Stream(device) as here:
        a = await here.to_device(np.arange(6.0))
        target = aacl.empty((6,), np.float64, device=second)
        with Hold(here):
            total = here.execute(ops.Add(a, a))
            there.wait_event(here.record_event())
            there.copy(target, total.output)
            result = there.to_host(target)
            assert not result.done()
        assert (await result).tolist() == [0, 2, 4, 6, 8, 10]


async def test_a_dropped_mark_fails_as_a_future_and_releases_who_waits(stream: Stream, other: Stream) -> None:
    """abort() on its stream: awaiting the event raises Aborted, the other stream goes on."""
    with Hold(stream):
        event = stream.record_event()
        other.wait_event(event)
        after = other.call(int)
        await stream.abort()
        assert await asyncio.wait_for(after, 10) == 0
        with pytest.raises(Aborted):
            await event
        assert isinstance(event.exception(), Aborted)
        with pytest.raises(Aborted):
            event.wait(0)
        with pytest.raises(EventNotRecorded):
            _ = event.time
    await other.synchronize()
    await stream.synchronize()


async def test_the_mark_of_a_stream_that_is_left_releases_who_waits(device: Device, other: Stream) -> None:
    """Leaving a block with an exception drops its marks; nobody waits for ever."""
    with pytest.raises(LookupError):  # noqa: PT012 - the block itself raises
        async with Stream(device) as stream:
            with Hold(stream) as hold:
                event = stream.record_event()
                other.wait_event(event)
                asyncio.get_running_loop().call_soon(hold.release)
                raise LookupError
    assert await asyncio.wait_for(other.call(int), 10) == 0


async def test_a_failure_before_the_mark_does_not_reach_the_event(stream: Stream, other: Stream) -> None:
    """An event is an order and not a result."""
    with Hold(stream):
        stream.call(lambda: 1 / 0)
        event = stream.record_event()
        other.wait_event(event)
        after = other.call(int)
    await event
    assert await after == 0
    with pytest.raises(aacl.StreamError):
        await stream.synchronize()


async def test_a_cancelled_wait_for_an_event_cancels_nothing(stream: Stream) -> None:
    """The mark is reached as if nobody had waited."""
    with Hold(stream):
        event = stream.record_event()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(event, 0.001)
        assert not event.done()
    await event


async def test_times_are_those_of_the_work(stream: Stream) -> None:
    """Seconds between two marks; the work between them lies in that time, and the order of the two matters."""
    gate = threading.Event()
    start = stream.record_event()
    stream.call(gate.wait, 10)
    end = stream.record_event()
    with pytest.raises(EventNotRecorded, match="not reached"):
        end.elapsed_since(start)
    gate.set()
    await end

    assert 0 < end.elapsed_since(start) < 10
    assert start.elapsed_since(start) == 0
    assert end.time - start.time == end.elapsed_since(start)
    with pytest.raises(EventReversed, match="swap"):
        start.elapsed_since(end)


def test_waiting_for_an_event_in_a_thread() -> None:
    """wait() tells whether it was reached in time; blocking.wait_event raises EventTimeout."""
    with aacl.blocking.Device(0) as device, aacl.blocking.Stream(device) as stream:
        with Hold(stream.stream):
            event = stream.record_event()
            assert event.wait(0.001) is False
            with pytest.raises(aacl.EventTimeout, match="goes on"):
                aacl.blocking.wait_event(event, 0.001)
        assert event.wait(10) is True
        aacl.blocking.wait_event(event)
