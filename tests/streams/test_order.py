"""A stream runs its commands in order, one at a time, and never leaves one behind."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable

import numpy as np
import pytest

import aacl
from aacl import Device, Stream, ops
from tests.helpers import Hold, Overlap, PythonWork, run_python, wait_until_idle


async def test_commands_of_all_kinds_run_in_order(stream: Stream) -> None:
    """Work on workers, host calls, copies and marks keep the order of submission."""
    seen: list[int] = []
    a = await stream.to_device(np.zeros(4))
    with Hold(stream):
        stream.execute(PythonWork(lambda: seen.append(0)))
        stream.call(seen.append, 1)
        stream.fill(a, 1)
        stream.execute(PythonWork(lambda: seen.append(2)))
        event = stream.record_event()
        stream.call(seen.append, 3)
        stream.execute(PythonWork(lambda: seen.append(4)))
        assert seen == []
    await stream.synchronize()

    assert seen == [0, 1, 2, 3, 4]
    assert event.done()


async def test_short_work_on_an_idle_stream_is_done_at_once(stream: Stream) -> None:
    """It ran on the submitter's thread before execute() returned."""
    threads: list[int] = []
    work = PythonWork(lambda: threads.append(threading.get_ident()), result="made", estimate=0)
    completion = stream.execute(work)

    assert completion.done()
    assert completion.result() == await completion == "made"
    assert threads == [threading.get_ident()]


async def test_work_of_unknown_length_runs_elsewhere(stream: Stream) -> None:
    """The loop's thread never runs it."""
    threads: list[int] = []
    await stream.execute(PythonWork(lambda: threads.append(threading.get_ident())))

    assert threads != [threading.get_ident()]


async def test_nothing_runs_while_a_host_call_does(stream: Stream) -> None:
    """Short work waits its turn behind a host call, and is not run by its submitter."""
    ran: list[int] = []
    with Hold(stream):
        completion = stream.execute(PythonWork(lambda: ran.append(1), estimate=0))
        assert not completion.done()
        assert not stream.idle
        assert stream.statistics()[:2] == (1, True)
    await completion

    assert ran == [1]


async def test_two_streams_do_not_wait_for_each_other(stream: Stream, other: Stream) -> None:
    """A held stream holds only itself."""
    with Hold(stream):
        await other.execute(PythonWork(lambda: None))
        await other.call(int)
        await other.synchronize()
        wait_until_idle(other)

        assert not stream.idle


async def test_more_held_streams_than_cores(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Host calls never take a device's worker: many blocked ones leave room for device work."""
    streams = [await Stream(device).open() for _ in range(40)]
    holds = [Hold(each) for each in streams]
    free = await Stream(device).open()
    assert await free.execute(PythonWork(lambda: None, result=1)) == 1
    for hold in holds:
        hold.release()
    for each in streams:
        await each.synchronize()


async def test_outputs_serve_as_inputs_before_they_are_made(stream: Stream) -> None:
    """A chain of queued operations needs no await between its links; a completion stands for its output."""
    x = np.arange(6, dtype=np.float32)
    a = await stream.to_device(x)
    with Hold(stream):
        total = stream.execute(ops.Add(a, a))
        product = stream.execute(ops.Mul(total, total.output))
        host = stream.to_host(stream.execute(ops.Sub(product, a)))
        assert not total.done()
    result = await host

    np.testing.assert_array_equal(result, (2 * x) ** 2 - x)


async def test_statistics_count_what_workers_ran(stream: Stream) -> None:
    """Queued, running, executed and failures are those of this stream, and the repr shows the load."""
    before = stream.statistics()
    with Hold(stream):
        for _ in range(3):
            stream.execute(PythonWork(lambda: None))
        assert stream.statistics().queued == 3
        assert "3 queued" in repr(stream)
    await stream.synchronize()
    wait_until_idle(stream)
    after = stream.statistics()

    assert after.executed - before.executed == 3
    assert after == (0, False, after.executed, 0)
    assert "idle" in repr(stream)


async def test_a_barrier_waits_for_what_came_before_only(stream: Stream) -> None:
    """Later work does not delay it, and failures do not reach it."""
    assert stream.barrier().done()
    with Hold(stream) as first:
        barrier = stream.barrier()
        with Hold.behind(stream) as second:
            assert not barrier.done()
            first.release()
            await barrier
            assert not second.completion.done()


def test_completions_of_many_threads_all_end(nervous: None) -> None:
    """Eight threads submit to one stream at once: nothing is left behind, run twice or at the same time."""
    work, threads = Overlap(), 8
    with aacl.blocking.Device(0) as device, aacl.blocking.Stream(device) as opened:
        stream = opened.stream
        lost: list[object] = []

        def submit(number: int) -> None:
            for step in range(60):
                kind = (number + step) % 3
                if kind == 0:
                    completion = stream.call(work)
                else:
                    completion = stream.execute(PythonWork(work, estimate=0 if kind == 1 else 10**6))
                if step % 5 == 0 and not completion.wait(10):
                    lost.append(completion)

        started = [threading.Thread(target=submit, args=(number,)) for number in range(threads)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
        opened.synchronize(10)

    assert lost == []
    assert (work.runs, work.overlaps) == (threads * 60, 0)


def test_wake_ups_are_not_lost_between_idle_and_busy(nervous: None) -> None:
    """Each command is submitted just when the stream falls idle after the one before; every one is run."""
    with aacl.blocking.Device(0) as device, aacl.blocking.Stream(device) as stream:
        for _ in range(400):
            first = stream.submit(PythonWork(lambda: None))
            second = stream.submit(PythonWork(lambda: None, estimate=0))
            assert second.wait(10)
            assert first.done()


def test_submitting_while_the_stream_closes_is_answered() -> None:
    """Work that another thread submits in the moment of the close is refused, or its completion ends."""
    done = run_python(
        """
        from tests.helpers import Hold, PythonWork

        class Late(PythonWork):
            \"\"\"Between being checked and being queued, the stream is closed.\"\"\"
            def submitted(self, command):
                hold.release()
                closing = threading.Thread(target=blocking.close, args=(stream,))
                closing.start()
                closing.join(5)

        with blocking.Device(0) as device:
            stream = blocking.open_resource(aacl.Stream(device))
            hold = Hold(stream)
            try:
                completion = stream.execute(Late(int))
            except aacl.ClosedResource:
                print("answered", flush=True)
            else:
                print("answered" if completion.wait(2) else "left behind", flush=True)
            os._exit(0)
        """
    )

    assert done.output == "answered", done


async def test_a_stream_that_is_not_open_says_so(device: Device) -> None:
    """Every method of a new stream and of a closed one raises ClosedResource that names the stream's state."""
    closed = await Stream(device).open()
    event = closed.record_event()
    tensor = await closed.to_device(np.ones(2))
    await closed.aclose()
    for stream, state in ((Stream(device), "new"), (closed, "closed")):
        for act in (
            lambda stream=stream: stream.execute(ops.Add(tensor, tensor)),
            lambda stream=stream: stream.call(int),
            lambda stream=stream: stream.copy(tensor, tensor),
            lambda stream=stream: stream.fill(tensor, 0),
            lambda stream=stream: stream.to_device([1]),
            lambda stream=stream: stream.to_device([1], copy=False),
            lambda stream=stream: stream.to_host(tensor),
            lambda stream=stream: stream.record_event(),
            lambda stream=stream: stream.wait_event(event),
            lambda stream=stream: stream.wait_event(aacl.Event()),
            lambda stream=stream: stream.barrier(),
            lambda stream=stream: stream.abort_nowait(),
            lambda stream=stream: stream.recover(),
        ):
            with pytest.raises(aacl.ClosedResource, match=state):
                act()  # type: ignore[no-untyped-call]
        waits: tuple[Callable[[], Awaitable[object]], ...] = (stream.synchronize, stream.ready, stream.abort)
        for wait in waits:
            with pytest.raises(aacl.ClosedResource, match=state):
                await wait()


async def test_the_facts_of_a_stream_can_be_asked_in_any_state(device: Device) -> None:
    """idle, statistics and repr of new and closed streams answer."""
    closed = await Stream(device).open()
    await closed.aclose()
    for stream, state in ((Stream(device), "new"), (closed, "closed")):
        assert state in repr(stream)
        assert stream.statistics().queued == 0
        assert isinstance(stream.idle, bool)
        stream.raise_failure()


@pytest.mark.parametrize("nonsense", [5, None, "Add"])
async def test_what_is_no_work_is_an_invalid_argument(stream: Stream, nonsense: object) -> None:
    """execute() takes work, call() takes functions; the stream goes on after anything else."""
    with pytest.raises(aacl.InvalidArgument):
        stream.execute(nonsense)  # type: ignore[arg-type]
    with pytest.raises(aacl.InvalidArgument):
        stream.call(nonsense)  # type: ignore[arg-type]

    assert await stream.call(int) == 0


async def test_a_tensor_is_no_work(stream: Stream) -> None:
    """The mistake of executing a tensor is named."""
    tensor = await stream.to_device(np.ones(2))
    with pytest.raises(aacl.InvalidArgument):
        stream.execute(tensor)  # type: ignore[arg-type]
