"""Completions: awaitable from any loop, waitable from any thread, at home in asyncio and anyio."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

import aacl
from aacl import Completion, Stream, WaitTimeout, WouldBlock
from tests.helpers import Boom, Hold, PythonWork, fail


async def _wait(completion: Completion[Any]) -> Any:
    return await completion


def _bump(cell: list[int]) -> int:
    cell[0] += 1
    return cell[0]


async def test_the_names_of_a_future(stream: Stream) -> None:
    """done, result, exception and cancelled answer before and after the end as a future's do."""
    with Hold(stream) as hold:
        completion = hold.completion
        assert (completion.done(), completion.cancelled()) == (False, False)
        for ask in (completion.result, completion.exception):
            with pytest.raises(asyncio.InvalidStateError, match="not done"):
                ask()
    assert await completion == "released"
    assert (completion.done(), completion.result(), completion.exception()) == (True, "released", None)
    failed = stream.call(fail)
    with pytest.raises(Boom):
        await failed
    assert isinstance(failed.exception(), Boom)
    with pytest.raises(Boom):
        failed.result()


async def test_awaiting_again_gives_the_same(stream: Stream) -> None:
    """A result may be asked for as often as wished, an error too."""
    good, bad = stream.call(object), stream.call(fail)

    assert await good is await good
    for _ in range(2):
        with pytest.raises(Boom):
            await bad


async def test_several_tasks_await_one_completion(stream: Stream) -> None:
    """Each waiter gets the result."""
    with Hold(stream) as hold:
        tasks = [asyncio.create_task(_wait(hold.completion)) for _ in range(5)]
        await asyncio.sleep(0)
    assert await asyncio.gather(*tasks) == ["released"] * 5


def test_two_loops_await_one_completion() -> None:
    """Nothing is bound to the loop, or the thread, that made it."""
    results: list[str] = []
    with aacl.blocking.Device(0) as device, aacl.blocking.Stream(device) as stream, Hold(stream.stream) as hold:
        waiting = threading.Barrier(4)

        async def wait() -> None:
            task = asyncio.create_task(_wait(hold.completion))
            await asyncio.sleep(0)
            waiting.wait(10)
            results.append(await task)

        threads = [threading.Thread(target=asyncio.run, args=(wait(),)) for _ in range(3)]
        for thread in threads:
            thread.start()
        waiting.wait(10)
        hold.release()
        for thread in threads:
            thread.join(10)

    assert results == ["released"] * 3


def test_completions_are_not_made_by_hand() -> None:
    """The constructor names the calls that make one."""
    with pytest.raises(TypeError, match="stream"):
        Completion()


# -- asyncio --------------------------------------------------------------------------------------


async def test_gather(stream: Stream) -> None:
    """asyncio.gather takes completions, in order, errors among the results when asked to."""
    cell = [0]
    results = await asyncio.gather(*[stream.call(_bump, cell) for _ in range(3)], stream.execute(PythonWork(int)))
    mixed = await asyncio.gather(stream.call(fail), stream.call(int), return_exceptions=True)

    assert results == [1, 2, 3, None]
    assert isinstance(mixed[0], Boom)
    assert mixed[1] == 0


async def test_wait(stream: Stream) -> None:
    """asyncio.wait takes them as they are, and tells the done from the others."""
    first: Any = stream.call(int)  # typeshed knows only its own futures there
    with Hold.behind(stream) as hold:
        second: Any = hold.completion
        done, pending = await asyncio.wait({first, second}, return_when=asyncio.FIRST_COMPLETED)
        assert (done, pending) == ({first}, {second})
        done, pending = await asyncio.wait({second}, timeout=0)
        assert (done, pending) == (set(), {second})
        hold.release()
        done, pending = await asyncio.wait([first, second])
    assert (done, pending) == ({first, second}, set())


async def test_wait_for_times_out_and_the_work_goes_on(stream: Stream) -> None:
    """The timeout ends the wait alone."""
    with Hold(stream) as hold:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(hold.completion, 0.001)
        assert not hold.completion.done()
    assert await asyncio.wait_for(hold.completion, 10) == "released"


async def test_timeout_and_cancellation_of_a_wait(stream: Stream) -> None:
    """A cancelled task waits no more; the command, and other waiters, are not disturbed."""
    with Hold(stream) as hold:
        other = asyncio.create_task(_wait(hold.completion))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await hold.completion
        task = asyncio.create_task(_wait(hold.completion))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await other == await hold.completion == "released"


async def test_shield(stream: Stream) -> None:
    """Shielding is not needed, and harmless."""
    with Hold(stream) as hold:
        task = asyncio.ensure_future(asyncio.shield(hold.completion))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
    assert await asyncio.shield(hold.completion) == "released"


async def test_as_completed(stream: Stream, other: Stream) -> None:
    """Results come in the order of their ends."""
    with Hold(stream) as hold:
        second = other.call(lambda: "first")
        results = []
        for each in asyncio.as_completed([hold.completion, second]):
            results.append(await each)
            hold.release()

    assert results == ["first", "released"]


async def test_task_group(stream: Stream) -> None:
    """A failed command fails its task, which cancels the waits of the others and nothing more."""
    held = asyncio.Event()
    with Hold(stream) as hold:
        failing = stream.execute(PythonWork(fail))
        with pytest.raises(ExceptionGroup) as caught:  # noqa: PT012 - the block itself raises
            async with asyncio.TaskGroup() as group:
                group.create_task(_wait(failing))
                waiter = group.create_task(held.wait())
                hold.release()
    assert waiter.cancelled()
    assert isinstance(caught.value.exceptions[0], aacl.KernelError)
    assert hold.completion.done()


# -- anyio ----------------------------------------------------------------------------------------


async def test_anyio_task_group(stream: Stream) -> None:
    """Task groups of anyio await completions."""
    results: list[Any] = []

    async def wait(number: int) -> None:
        results.append(await stream.call(int, number))

    async with anyio.create_task_group() as group:
        for number in range(3):
            group.start_soon(wait, number)

    assert sorted(results) == [0, 1, 2]


async def test_anyio_cancel_scopes(stream: Stream) -> None:
    """move_on_after and fail_after end the wait and not the work; a shield keeps the wait."""
    with Hold(stream) as hold:
        with anyio.move_on_after(0.001) as scope:
            await hold.completion
        assert scope.cancelled_caught
        with pytest.raises(TimeoutError), anyio.fail_after(0.001):
            await stream.synchronize()
        assert not hold.completion.done()
        with anyio.CancelScope() as scope:
            scope.cancel()
            with anyio.CancelScope(shield=True):
                hold.release()
                assert await hold.completion == "released"
    await stream.synchronize()


# -- threads --------------------------------------------------------------------------------------


def test_waiting_in_a_thread() -> None:
    """wait() tells whether the command is over in time; result() gives what it made."""
    with aacl.blocking.Device(0) as device, aacl.blocking.Stream(device) as stream:
        with Hold(stream.stream) as hold:
            assert hold.completion.wait(0) is False
            assert hold.completion.wait(0.001) is False
            assert hold.completion.wait(-1) is False
            with pytest.raises(WaitTimeout, match="goes on"):
                aacl.blocking.wait(hold.completion, 0.001)
        assert hold.completion.wait() is True
        assert aacl.blocking.wait(hold.completion) == "released"


async def test_waiting_on_a_loops_thread_is_refused(stream: Stream) -> None:
    """Blocking a running loop would stop what it waits for; block_loop=True insists, and a finished command is free."""
    with Hold(stream) as hold:
        for wait in (
            hold.completion.wait,
            lambda: aacl.blocking.wait(hold.completion),
            lambda: aacl.blocking.synchronize(stream),
            stream.record_event().wait,
        ):
            with pytest.raises(WouldBlock, match="await"):
                wait()
        assert hold.completion.wait(0.001, block_loop=True) is False
    assert hold.completion.wait(10, block_loop=True) is True
    assert hold.completion.wait() is True


def test_awaiting_outside_of_asyncio_is_an_error() -> None:
    """Another event library gets a clear answer."""
    with (
        aacl.blocking.Device(0) as device,
        aacl.blocking.Stream(device) as stream,
        Hold(stream.stream) as hold,
        pytest.raises(RuntimeError, match="asyncio"),
    ):
        hold.completion.__await__().send(None)


AWAITS: list[Callable[[Completion[Any]], Awaitable[Any]]] = [
    _wait,
    lambda completion: asyncio.wait_for(completion, 10),
    lambda completion: asyncio.gather(completion),
    lambda completion: asyncio.shield(completion),
]


@pytest.mark.parametrize("wait", AWAITS, ids=["await", "wait_for", "gather", "shield"])
async def test_an_error_received_in_any_way_is_received(
    stream: Stream, wait: Callable[[Completion[Any]], Awaitable[Any]]
) -> None:
    """It comes once, and synchronise has nothing to report."""
    with Hold(stream) as hold:
        waiter = asyncio.ensure_future(wait(stream.call(fail)))
        await asyncio.sleep(0)
        hold.release()
        with pytest.raises(Boom):
            await waiter
    await stream.synchronize()
