"""Closing models: what is queued is finished, or dropped, and never touched afterwards."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import anyio
import numpy as np
import pytest

import aacl
from aacl import blocking
from aacl.errors import Aborted, ClosedResource
from aacl.models import Model
from aacl.models._uses import Uses

Until = Callable[[Callable[[], bool]], Awaitable[None]]

X = np.arange(6, dtype=np.float32).reshape(2, 3)


async def test_waits_for_queued_runs(add_one: Path, until: Until) -> None:
    """Closing a model ends when its queued runs have ended, well; other work of the stream is not waited for."""
    gate, later = threading.Event(), threading.Event()
    async with aacl.Device(), aacl.Stream() as stream:
        model = await Model(add_one).open()
        x = await stream.to_device(X)
        stream.call(gate.wait)
        runs = [stream.execute(model(x)) for _ in range(2)]
        inference = asyncio.create_task(model.infer(X))
        await until(lambda: model.statistics().queued == 3)
        stream.call(later.wait)

        closing = asyncio.create_task(model.aclose())
        await asyncio.sleep(0)
        assert not closing.done()
        assert "closing" in repr(model)
        gate.set()
        await closing

        assert all(run.done() for run in runs)
        np.testing.assert_array_equal(await inference, X + 1)
        later.set()
        np.testing.assert_array_equal(await stream.to_host(runs[1]), X + 1)


async def test_waits_for_the_run_that_goes_on(slow: Path) -> None:
    """A run that a worker is in the middle of ends well, and closing waits for it."""
    async with aacl.Device(), aacl.Stream() as stream:
        model = await Model(slow).open()
        run = stream.execute(model(await stream.to_device(np.eye(1024, dtype=np.float32))))

        await model.aclose()

        assert run.done()
        np.testing.assert_array_equal(await stream.to_host(run), np.eye(1024, dtype=np.float32))


async def test_takes_nothing_while_it_closes(add_one: Path) -> None:
    """From the moment closing begins, new runs and old prepared ones are refused."""
    gate = threading.Event()
    async with aacl.Device(), aacl.Stream() as stream:
        model = await Model(add_one).open()
        x = await stream.to_device(X)
        prepared = model(x, out=aacl.empty((2, 3), np.float32))
        await stream.execute(prepared)
        stream.call(gate.wait)
        queued = stream.execute(prepared)
        closing = asyncio.create_task(model.aclose())
        await asyncio.sleep(0)

        for submit in (lambda: model(x), lambda: stream.execute(prepared)):
            with pytest.raises(ClosedResource, match="closing model"):
                submit()
        with pytest.raises(ClosedResource):
            await model.infer(X)
        gate.set()
        await closing

        assert queued.exception() is None


async def test_use_after_close_is_refused(add_one: Path) -> None:
    """C078: calls of a closed model, runs made before, and inferences raise ClosedResource, and nothing crashes."""
    async with aacl.Device(), aacl.Stream() as stream:
        async with Model(add_one) as model:
            x = await stream.to_device(X)
            fresh, bound = model(x), model(x, out=aacl.empty((2, 3), np.float32))
            await stream.execute(bound)

        for submit in (lambda: model(x), lambda: stream.execute(fresh), lambda: stream.execute(bound)):
            with pytest.raises(ClosedResource, match="closed model"):
                submit()
        with pytest.raises(ClosedResource):
            await model.infer(X)


async def test_failing_block_drops_its_queued_runs(add_one: Path) -> None:
    """A block that raises does not wait for runs that have not started; these fail with Aborted when reached."""
    gate = threading.Event()
    async with aacl.Device(), aacl.Stream() as stream:
        x = await stream.to_device(X)
        stream.call(gate.wait)
        model, runs = Model(add_one), []

        async def block() -> None:
            async with model:
                runs.append(stream.execute(model(x)))
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await block()
        assert model.closed
        assert not runs[0].done()

        gate.set()

        with pytest.raises(Aborted, match="add_one"):
            await runs[0]


async def test_cancelled_block_drops_its_queued_runs(add_one: Path) -> None:
    """A task that is cancelled while its block waits to close drops what is queued, closes, and is then cancelled."""
    gate, entered = threading.Event(), asyncio.Event()
    async with aacl.Device(), aacl.Stream() as stream:
        x = await stream.to_device(X)
        model = Model(add_one)

        async def block() -> None:
            async with model:
                stream.execute(model(x))
                entered.set()

        stream.call(gate.wait)
        task = asyncio.create_task(block())
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert model.closed
        gate.set()
        await stream.barrier()
        assert await stream.abort() == 0
        with pytest.raises(aacl.StreamError, match="dropped"):
            await stream.synchronize()


async def test_anyio_scope_can_cancel_an_inference(add_one: Path) -> None:
    """An anyio cancel scope cuts an inference short, and the model's block still closes."""
    gate = threading.Event()
    async with aacl.Device(), aacl.Stream() as stream:
        stream.call(gate.wait)
        async with Model(add_one) as model:
            with anyio.move_on_after(0.001) as scope:
                await model.infer(X)
            assert scope.cancelled_caught
            gate.set()

        assert model.closed
        assert model.statistics().runs == 1


async def test_context_closes_its_models(add_one: Path) -> None:
    """Closing a context finishes the runs that its streams hold, and closes models and streams."""
    async with aacl.Device() as device:
        context = await aacl.Context(device).open()
        stream = await aacl.Stream(context).open()
        model = await Model(add_one, device=context).open()
        x = await stream.to_device(X)
        runs = [stream.execute(model(x)) for _ in range(3)]

        await context.aclose()

        assert model.closed
        assert stream.closed
        assert all(run.exception() is None for run in runs)


async def test_stream_that_closes_first_takes_its_runs_along(add_one: Path) -> None:
    """A model whose runs were dropped with their stream has nothing left to wait for."""
    gate, started = threading.Event(), threading.Event()

    def hold() -> None:
        started.set()
        gate.wait()

    async with aacl.Device(), Model(add_one) as model:
        stream = await aacl.Stream().open()
        x = await stream.to_device(X)
        stream.call(hold)
        await asyncio.to_thread(started.wait)
        run = stream.execute(model(x))
        assert await stream.abort() == 1
        await model.aclose()

        assert isinstance(run.exception(), Aborted)
        gate.set()
        await stream.aclose()


def test_blocking_close_waits_for_queued_runs(add_one: Path) -> None:
    """Without a loop, closing blocks the thread until the queued runs have ended."""
    gate = threading.Event()
    with blocking.Device(), blocking.Stream() as stream:
        model = blocking.open_resource(Model(add_one))
        x = stream.to_device(X)
        stream.stream.call(gate.wait)
        run = stream.submit(model(x))
        threading.Timer(0.02, gate.set).start()

        blocking.close(model)

        assert run.done()
        np.testing.assert_array_equal(stream.to_host(run), X + 1)


async def test_closing_while_other_threads_run_it_is_safe(add_one: Path, until: Until) -> None:
    """Threads that run a model while it closes get results or ClosedResource, and nothing else."""
    async with aacl.Device() as device:
        for _ in range(10):
            model, outcomes = await Model(add_one).open(), list[str]()

            def use(model: Model = model, outcomes: list[str] = outcomes) -> None:
                with blocking.Stream(device) as stream:
                    try:
                        run = model(stream.to_device(X), out=stream.to_device(X))
                        while (stream.execute(run).view() == X + 1).all():
                            pass
                        outcomes.append("wrong")
                    except ClosedResource:
                        outcomes.append("closed")

            workers = [asyncio.create_task(asyncio.to_thread(use)) for _ in range(2)]
            await until(partial(_has_run, model, 20))
            await model.aclose()
            await asyncio.gather(*workers)

            assert outcomes == ["closed", "closed"]


def _has_run(model: Model, runs: int) -> bool:
    return model.statistics().runs >= runs


def test_endings_are_reached_in_any_order() -> None:
    """Of the uses of a model, what runs holds up every ending, and what is queued only those that drop nothing."""
    uses = Uses()
    uses.running.add("run")
    patient = uses.settle(False)
    assert not patient.wait(0)
    hasty = uses.settle(True)
    assert not hasty.done()

    uses.running.discard("run")
    uses.look()
    uses.look()

    assert (patient.wait(), hasty.wait()) == (True, True)
    assert uses.settle(False).done()
