"""Python functions in a stream's queue."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

import aacl
from aacl import Device, Stream, StreamError, WouldBlock
from tests.helpers import Boom, Hold, PythonWork, fail, run_python


async def test_results_and_errors_are_the_functions_own(stream: Stream) -> None:
    """What it returns is the result, what it raises is raised, arguments go in as they are."""
    thing = object()
    assert await stream.call(lambda *arguments: arguments, thing, 2) == (thing, 2)
    with pytest.raises(Boom):
        await stream.call(fail)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()], ids=lambda e: type(e).__name__)
async def test_even_the_strangest_error_is_delivered(stream: Stream, error: BaseException) -> None:
    """No exception of a host call ends a thread of the runtime or the stream."""

    def strange() -> None:
        raise error

    assert stream.call(strange).wait(10, block_loop=True)
    completion = stream.call(strange)
    await stream.barrier()
    assert completion.exception() is error
    assert await stream.call(int) == 0
    with pytest.raises(StreamError):
        await stream.synchronize()


async def test_it_runs_in_a_copy_of_the_submitters_context(stream: Stream) -> None:
    """It sees the variables as they were at submission; what it sets is not seen outside."""
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("submitted")

    def look() -> str:
        seen = variable.get()
        variable.set("changed inside")
        return seen

    with Hold(stream):
        first, second = stream.call(look), stream.call(look)
        variable.set("changed later")

    assert (await first, await second) == ("submitted", "submitted")
    assert variable.get() == "changed later"


async def test_it_never_runs_on_the_loops_thread(stream: Stream) -> None:
    """Not even on an idle stream."""
    assert await stream.call(threading.get_ident) != threading.get_ident()


async def test_an_executor_of_the_programs_own(stream: Stream) -> None:
    """on= says who runs it: a pool of concurrent.futures, or anything with submit()."""

    class AtOnce:
        def submit(self, call: Callable[[], None], /) -> None:
            call()

    with ThreadPoolExecutor(1, "mine") as pool:
        name = await stream.call(lambda: threading.current_thread().name, on=pool)
    assert name.startswith("mine")
    assert await asyncio.gather(*[stream.call(int, step, on=AtOnce()) for step in range(20)]) == list(range(20))
    await stream.synchronize()


@pytest.mark.parametrize("block", [True, False])
async def test_an_executor_that_refuses_fails_the_call(stream: Stream, block: bool) -> None:
    """Its exception is the call's, and the stream goes on."""
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    refused = stream.call(int, on=pool, block=block)
    with pytest.raises(RuntimeError, match="shutdown"):
        await refused
    assert await stream.call(int) == 0
    await stream.synchronize()


async def test_block_false_lets_later_commands_go_on(stream: Stream) -> None:
    """What follows does not wait for the function; its end is still told."""
    with Hold(stream, block=False) as hold:
        assert await stream.call(int) == 0
        assert not hold.completion.done()
    assert await hold.completion == "released"


async def test_a_detached_call_counts_for_synchronize(stream: Stream) -> None:
    """synchronize() and barrier() wait for everything submitted before, block=False or not."""
    with Hold(stream, block=False) as hold:
        barrier, task = stream.barrier(), asyncio.create_task(stream.synchronize())
        done, _ = await asyncio.wait({task}, timeout=0.01)
        assert not done
        assert not barrier.done()
        hold.release()
        await barrier
        await task
        assert hold.completion.done()


async def test_the_end_of_the_block_waits_for_detached_calls(device: Device) -> None:
    """A function that runs when its stream is left is over when the stream is closed, and its error is told."""
    gate = threading.Event()

    def work() -> None:
        assert gate.wait(10)
        fail()

    stream = Stream(device)
    with pytest.raises(StreamError, match="boom"):  # noqa: PT012 - the block itself raises
        async with stream:
            stream.call(work, block=False)
            asyncio.get_running_loop().call_soon(gate.set)
    assert stream.closed


async def test_waiting_for_its_own_stream_is_refused(stream: Stream, other: Stream) -> None:
    """A function that waits for what comes after it would wait for ever: every blocking way raises; others are free."""

    def wait_for_itself() -> list[str]:
        refused = []
        for name, wait in (
            ("synchronize", lambda: aacl.blocking.synchronize(stream)),
            ("completion", lambda: stream.call(int).wait()),
            ("event", lambda: stream.record_event().wait()),
            ("blocking.wait", lambda: aacl.blocking.wait(stream.execute(PythonWork(int)))),
        ):
            try:
                wait()
            except WouldBlock:
                refused.append(name)
        aacl.blocking.synchronize(other)
        return refused

    assert await stream.call(wait_for_itself) == ["synchronize", "completion", "event", "blocking.wait"]
    await stream.synchronize()


def test_awaiting_its_own_stream_is_refused() -> None:
    """The same in an event loop of the function's own."""
    done = run_python(
        """
        def inside():
            async def wait():
                await stream.stream.synchronize()
            try:
                asyncio.run(wait())
            except aacl.WouldBlock:
                return "refused"
        with blocking.Device(0) as device, blocking.Stream(device) as stream:
            print(stream.call(inside))
        """
    )

    assert (done.status, done.output) == (0, "refused"), done


def test_closing_its_own_stream_is_refused_and_changes_nothing() -> None:
    """The stream stays open, works on, and is closed by its owner."""
    done = run_python(
        """
        def inside():
            try:
                blocking.close(stream)
            except aacl.WouldBlock:
                return "refused"
        with blocking.Device(0) as device:
            stream = blocking.open_resource(aacl.Stream(device))
            print(blocking.wait(stream.call(inside)))
            print(blocking.wait(stream.call(lambda: "works")))
            blocking.close(stream)
            print(stream.closed)
        """
    )

    assert (done.status, done.output) == (0, "refused\nworks\nTrue"), done


async def test_submitting_to_its_own_stream_is_fine(stream: Stream) -> None:
    """A function may put more work behind itself."""
    seen: list[str] = []

    def again() -> None:
        stream.call(seen.append, "second")
        seen.append("first")

    await stream.call(again)
    await stream.synchronize()

    assert seen == ["first", "second"]


async def test_many_calls_reuse_threads(stream: Stream) -> None:
    """Calls one after another do not make a thread each."""
    names = {await stream.call(lambda: threading.current_thread().name) for _ in range(200)}

    assert len(names) < 20


async def test_calls_of_many_streams_run_side_by_side(device: Device) -> None:
    """Thirty functions that wait for each other all run at once."""
    together = threading.Barrier(30)
    streams = [await Stream(device).open() for _ in range(30)]
    results = await asyncio.gather(*[stream.call(together.wait, 10) for stream in streams])

    assert sorted(results) == list(range(30))
