"""What is left when the loop ends, however it comes."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

import aacl
from aacl.models import Model
from tests.helpers.items import eagerly, item_rows, lazily

Until = Callable[[Callable[[], bool]], Awaitable[None]]


async def test_leaving_early_leaves_nothing(by_four: Path) -> None:
    """After a break under aclosing no task and no stream is left, and the generator read from is closed."""
    async with aacl.Device(), Model(by_four) as model:
        before = aacl.open_resources().get("stream", 0)
        for source in (eagerly, lazily):
            read: list[int] = []
            async with aclosing(model.map(source(item_rows(100), read))) as results:
                async for _ in results:
                    break

            assert read[-1] == -1
            assert len(asyncio.all_tasks()) == 1
            assert aacl.open_resources().get("stream", 0) == before


async def test_leaving_early_without_aclosing_ends_soon(by_four: Path, until: Until) -> None:
    """A bare break lets the loop clean up behind it."""
    read: list[int] = []
    async with aacl.Device(), Model(by_four) as model:
        before = aacl.open_resources().get("stream", 0)
        async for _ in model.map(lazily(item_rows(100), read)):
            break
        gc.collect()

        await until(lambda: len(asyncio.all_tasks()) == 1)
        assert read[-1] == -1
        assert aacl.open_resources().get("stream", 0) == before


async def test_iterators_that_are_no_generators_are_left_alone(by_four: Path) -> None:
    """An iterator that somebody else may go on with is not closed."""

    class Closable:
        closed = False

        def __iter__(self) -> Closable:
            return self

        def __next__(self) -> Any:
            return item_rows(1)[0]

        def close(self) -> None:
            self.closed = True

    items = Closable()
    async with aacl.Device(), Model(by_four) as model, aclosing(model.map(items)) as results:
        async for _ in results:
            break
    assert not items.closed


@pytest.mark.parametrize("kind", ["asyncio", "anyio", "twice"])
async def test_cancelled_loop_leaves_nothing(by_four: Path, until: Until, kind: str) -> None:
    """Cancelled while it waits for a run or for an item, the loop closes all that is its own, and is cancelled."""
    gate = threading.Event()
    read: list[int] = []
    async with aacl.Device(), Model(by_four) as model, aacl.Stream() as stream:
        before = aacl.open_resources().get("stream", 0)
        for streams in (None, [stream]):
            stuck = asyncio.Event()
            if streams is not None:
                stream.call(gate.wait)

            async def items(stuck: asyncio.Event = stuck, whole: bool = streams is not None) -> AsyncIterator[Any]:
                try:
                    for item in item_rows(4 if whole else 3):
                        yield item
                    stuck.set()
                    await asyncio.Event().wait()
                finally:
                    await asyncio.sleep(0)
                    read.append(-1)

            async def work(source: Any = items, streams: Any = streams) -> None:
                async for _ in model.map(source(), streams=streams):
                    pass

            scope = anyio.CancelScope()
            task = asyncio.create_task(_in_scope(scope, work) if kind == "anyio" else work())
            await stuck.wait()
            if kind == "anyio":
                scope.cancel()
                await task
                assert scope.cancelled_caught
            else:
                task.cancel()
                if kind == "twice":
                    await asyncio.sleep(0)
                    task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert len(asyncio.all_tasks()) == 1
            assert aacl.open_resources().get("stream", 0) == before
        gate.set()
    assert len(read) <= 2
    assert read or kind == "twice"


async def _in_scope(scope: anyio.CancelScope, work: Callable[[], Awaitable[None]]) -> None:
    with scope:
        await work()


async def test_failure_of_the_items_end_is_raised(by_four: Path) -> None:
    """What a generator raises when it is closed early reaches whoever leaves the loop."""

    async def items() -> AsyncIterator[Any]:
        try:
            for item in item_rows(100):
                yield item
        finally:
            raise LookupError("could not close")

    async with aacl.Device(), Model(by_four) as model:
        results = model.map(items())
        await anext(results)
        with pytest.raises(LookupError, match="could not close"):
            await results.aclose()
        assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize("is_given", [False, True])
async def test_failures_that_nobody_came_to_stay_silent(pick_each: Path, is_given: bool) -> None:
    """Runs that were read ahead, and fail behind a loop that was left, are reported by no stream and no block."""
    x = np.array([5, 6, 7], np.float32)
    items = [(x, np.array([0 if number < 4 else 9])) for number in range(12)]
    async with aacl.Device(), aacl.Stream() as stream, Model(pick_each) as model:
        async for _ in model.map(items, streams=[stream] if is_given else None):
            break
        await stream.synchronize()
