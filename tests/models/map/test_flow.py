"""How far a loop reads ahead, what runs beside what, and on which streams."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import aacl
from aacl.models import Model
from tests.helpers.items import check_doubled, drain, eagerly, item_rows, lazily

Until = Callable[[Callable[[], bool]], Awaitable[None]]
Make = Callable[..., Path]
F32 = TensorProto.FLOAT


@pytest.mark.parametrize("workers", [1, 2, 3])
async def test_reading_ahead_is_bounded(by_four: Path, until: Until, workers: int) -> None:
    """However slow the loop is, no more than ``workers + 1`` batches are read and not handed out wholly."""
    for source in (eagerly, lazily):
        read: list[int] = []
        taken = 0
        async with (
            aacl.Device(),
            Model(by_four) as model,
            aclosing(model.map(source(item_rows(60), read), workers=workers)) as results,
        ):
            async for _ in results:
                if taken == 0:
                    await until(lambda: len(read) == 4 * (workers + 1))  # noqa: B023 - called in this turn
                for _ in range(10):
                    await asyncio.sleep(0)
                assert len(read) - taken // 4 * 4 <= 4 * (workers + 1)
                taken += 1
        assert taken == 60


async def test_nothing_is_read_before_the_first_result_is_wanted(by_four: Path) -> None:
    """A loop that never begins reads nothing and leaves nothing."""
    read: list[int] = []
    async with aacl.Device(), Model(by_four) as model:
        results = model.map(eagerly(item_rows(4), read))
        await asyncio.sleep(0)

        assert read == []
        await results.aclose()


async def test_results_come_while_the_source_waits(by_four: Path) -> None:
    """What has run is handed out though the next item is not there yet."""
    more = asyncio.Event()

    async def items() -> AsyncIterator[Any]:
        for item in item_rows(4):
            yield item
        await more.wait()
        for item in item_rows(1):
            yield item

    taken = 0
    async with aacl.Device(), Model(by_four) as model:
        async for _ in model.map(items()):
            taken += 1
            if taken == 4:
                more.set()
    assert taken == 5


async def test_loop_gets_turns_from_a_slow_plain_iterable(by_range: Path) -> None:
    """A plain iterable that computes leaves the loop a turn between its items."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def items() -> Iterator[Any]:
        for item in item_rows(16):
            until = perf_counter() + 0.001
            while perf_counter() < until:
                pass
            yield item

    counting = asyncio.create_task(count())
    async with aacl.Device(), Model(by_range) as model:
        async for _ in model.map(items(), batch=16):
            break
        counting.cancel()
    assert turns >= 16


# -- where it runs -----------------------------------------------------------------------------


async def test_workers_run_beside_each_other(make: Make, until: Until) -> None:
    """Two workers have two runs under way at once; the streams are closed at the end, and none becomes current."""
    async with (
        aacl.Device(),
        aacl.Stream() as mine,
        Model(make(_heavy(), {"x": (F32, [1, 512, 512])}, {"y": (F32, [1, 512, 512])})) as model,
    ):
        most = 0
        before = aacl.open_resources().get("stream", 0)

        def items() -> Iterator[Any]:
            nonlocal most
            for _ in range(12):
                most = max(most, len(model._uses.pending))
                yield np.zeros((512, 512), np.float32)

        results = model.map(items())
        async for _ in results:
            assert aacl.current_stream() is mine
            assert aacl.open_resources().get("stream", 0) == before + 2

        assert most == 2
        assert aacl.open_resources().get("stream", 0) == before


def _heavy() -> list[onnx.NodeProto]:
    return [
        helper.make_node("MatMul", [f"h{each}" if each else "x", "x"], ["y" if each == 5 else f"h{each + 1}"])
        for each in range(6)
    ]


async def test_streams_given_are_used_in_turn_and_left_open(by_four: Path) -> None:
    """Runs go to them in turn, behind what is queued there; they stay as they were."""
    async with aacl.Device(), Model(by_four) as model, aacl.Stream(limit=1) as one, aacl.Stream() as other:
        gates = [threading.Event(), threading.Event()]
        for stream, gate in zip((one, other), gates, strict=True):
            stream.call(gate.wait)
        items = item_rows(20)
        task = asyncio.create_task(drain(model.map(items, streams=[one, other])))
        for _ in range(10):
            await asyncio.sleep(0)
        assert model.statistics().runs == 0
        for gate in gates:
            gate.set()

        check_doubled(await task, items)
        await one.synchronize()
        assert (one.closed, other.closed) == (False, False)


# -- errors ------------------------------------------------------------------------------------
