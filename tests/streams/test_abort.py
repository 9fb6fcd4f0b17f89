"""Dropping what has not started."""

from __future__ import annotations

import asyncio
import sys
import threading

import numpy as np
import pytest

import aacl
from aacl import Aborted, Device, Stream, StreamError, ops
from tests.helpers import Boom, Hold, PythonWork, fail, wait_until_parked


async def test_abort_drops_what_has_not_started(stream: Stream) -> None:
    """It says how many commands that were; each fails with Aborted, which names it; what runs is not disturbed."""
    a = await stream.to_device(np.ones(3))
    with Hold(stream) as hold:
        dropped = [stream.call(int), stream.execute(ops.Add(a, a)), stream.execute(PythonWork(int))]
        assert await stream.abort() == 3
        assert not hold.completion.done()
    for completion in dropped:
        with pytest.raises(Aborted, match="before it started"):
            await completion
    with pytest.raises(Aborted, match="'Add'"):
        await dropped[1]
    assert await hold.completion == "released"


async def test_abort_of_an_idle_stream_drops_nothing(stream: Stream) -> None:
    """There is nothing to drop, and the stream works on."""
    assert await stream.abort() == 0
    assert await stream.call(int) == 0


async def test_dropped_commands_are_no_failures(stream: Stream) -> None:
    """abort() itself told of them: synchronise has nothing to report; earlier failures it still has."""
    stream.call(fail)
    await stream.barrier()
    with Hold(stream):
        stream.call(int)
        await stream.abort()
    with pytest.raises(StreamError) as caught:
        await stream.synchronize()
    assert isinstance(caught.value.__cause__, Boom)
    assert not getattr(caught.value, "__notes__", [])
    await stream.synchronize()


async def test_abort_spares_who_waits_for_the_end(stream: Stream) -> None:
    """A synchronise under way goes on to wait for what runs, and then succeeds."""
    with Hold(stream) as hold:
        stream.call(int)
        waiting = asyncio.create_task(stream.synchronize())
        await asyncio.sleep(0)
        assert await stream.abort() == 1
        await asyncio.sleep(0)
        assert not waiting.done()
        hold.release()
        await waiting


async def test_abort_ends_a_wait_for_an_event(stream: Stream, other: Stream) -> None:
    """A parked stream is free again; the wait fails with Aborted."""
    with Hold(stream):
        event = stream.record_event()
        waited, after = other.wait_event(event), other.call(int)
        wait_until_parked(other)
        assert await other.abort() == 2
        for completion in (waited, after):
            with pytest.raises(Aborted):
                await completion
        assert await other.call(int) == 0


async def test_nothing_that_waits_for_an_event_runs_when_dropped(device: Device) -> None:
    """abort() never lets a command run ahead of the event that it waits for."""
    ran: list[int] = []
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        async with Stream(device) as stream, Stream(device) as other:
            for step in range(150):
                with Hold(stream):
                    other.wait_event(stream.record_event())
                    for _ in range(4):
                        other.execute(PythonWork(lambda step=step: ran.append(step), estimate=0))  # type: ignore[misc]
                    wait_until_parked(other)
                    dropped = other.abort_nowait()
                assert dropped == 5, ran
                await other.synchronize()
    finally:
        sys.setswitchinterval(before)

    assert ran == []


def test_abort_races_with_the_stream() -> None:
    """However the drop meets a worker that drains: every command either ran or failed with Aborted, and was counted."""
    with aacl.blocking.Device(0) as device, aacl.blocking.Stream(device) as stream:
        for _ in range(60):
            ran: list[int] = []
            completions = [stream.submit(PythonWork(lambda ran=ran: ran.append(1))) for _ in range(20)]  # type: ignore[misc]
            dropped = stream.abort()
            for completion in completions:
                assert completion.wait(10)
            failed = sum(isinstance(completion.exception(), Aborted) for completion in completions)
            assert (len(ran) + failed, dropped) == (20, failed)


async def test_abort_from_another_thread(stream: Stream) -> None:
    """abort_nowait is for any thread."""
    with Hold(stream):
        dropped = stream.call(int)
        counts: list[int] = []
        thread = threading.Thread(target=lambda: counts.append(stream.abort_nowait()))
        thread.start()
        thread.join()
        with pytest.raises(Aborted):
            await dropped
    assert counts == [1]
