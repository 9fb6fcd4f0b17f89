"""One block of device memory cut into several."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aacl
from aacl import Buffer, ClosedResource, Device, InvalidArgument, MemoryPool, OutOfMemory, Stream
from aacl.memory import fill
from tests.helpers import Hold


@pytest.fixture
def device() -> Iterator[Device]:
    """An open device."""
    with aacl.blocking.Device(0) as opened:
        yield opened


@pytest.mark.parametrize("alignment", [64, 128, 4096])
def test_spans_follow_the_rule(device: Device, alignment: int) -> None:
    """Each takes its length rounded to 32 and 32 more, aligned, inside the block and apart from the others."""
    with aacl.blocking.MemoryPool(1 << 16, alignment=alignment) as pool:
        spans = [pool.allocate(nbytes) for nbytes in (1, 33, 100, 4096, 64)]
        starts = sorted((span.address, span.reserved_nbytes) for span in spans)

        assert [span.reserved_nbytes for span in spans] == [64, 96, 160, 4128, 96]
        assert all(span.address % alignment == 0 for span in spans)
        assert all(low + size <= high for (low, size), (high, _) in itertools.pairwise(starts))
        assert pool.statistics().used == sum(span.reserved_nbytes for span in spans)
        assert starts[-1][0] + starts[-1][1] <= starts[0][0] + (1 << 16) + alignment


def test_the_pool_takes_one_block_from_the_device(device: Device) -> None:
    """Spans change nothing on the device; closing gives the block back."""
    before = device.memory()
    with aacl.blocking.MemoryPool(10_000) as pool:
        taken = device.memory()
        kept = [pool.allocate(100) for _ in range(10)]
        assert device.memory() == taken
        assert taken.allocations == before.allocations + 1
        assert taken.used - before.used >= 10_000
        del kept
    assert device.memory().used == before.used


def test_freed_spans_merge(device: Device) -> None:
    """Neighbours that were freed serve a longer span, and a freed one its own length."""
    with aacl.blocking.MemoryPool(4 * 1024) as pool:
        spans = [pool.allocate(1024 - 64) for _ in range(4)]
        with pytest.raises(OutOfMemory):
            pool.allocate(1024)
        first = spans[1].address
        spans[1].free()
        assert pool.allocate(900).address == first
        spans[2].free()
        assert pool.allocate(1900).address == first

        assert pool.statistics().used <= 4 * 1024


def test_an_exhausted_pool_says_what_is_left(device: Device) -> None:
    """The largest free block is named, and nothing is taken."""
    with aacl.blocking.MemoryPool(1 << 12) as pool:
        pool_used = pool.statistics().used
        with pytest.raises(OutOfMemory, match="largest free"):
            pool.allocate(1 << 13)
        assert pool.statistics().used == pool_used


@pytest.mark.parametrize("nbytes", [0, -1, 1.5, None])
def test_spans_that_mean_nothing(device: Device, nbytes: Any) -> None:
    """A span has a whole number of bytes, at least one."""
    with aacl.blocking.MemoryPool(1 << 12) as pool, pytest.raises(InvalidArgument):
        pool.allocate(nbytes)


@pytest.mark.parametrize(("nbytes", "alignment"), [(0, 64), (-1, 64), (100, 32), (100, 96), (100, 0), (100, -64)])
def test_pools_that_mean_nothing(nbytes: int, alignment: int) -> None:
    """A pool has bytes, and an alignment that is a power of two from 64 on."""
    with pytest.raises(InvalidArgument):
        MemoryPool(nbytes, alignment=alignment)


def test_a_pool_larger_than_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot be opened; the device is as before."""
    monkeypatch.setenv("AACL_DEVICE_MEMORY", "1M")
    with aacl.blocking.Device(0) as device:
        with pytest.raises(OutOfMemory), aacl.blocking.MemoryPool(2 << 20):
            pass
        assert device.memory().used == 0
    assert aacl.open_resources() == {}


def test_closed_pools_refuse(device: Device) -> None:
    """New and closed ones say what they are."""
    with aacl.blocking.MemoryPool(1 << 12) as closed:
        pass
    for pool, state in ((MemoryPool(100), "new"), (closed, "closed")):
        for use in (lambda pool=pool: pool.allocate(1), pool.statistics):
            with pytest.raises(ClosedResource, match=state):
                use()
        assert state in repr(pool)


def test_views_of_spans_outlive_the_pool(device: Device) -> None:
    """The block goes back to the device when the last view of any of its spans is gone."""
    used = device.memory().used
    with aacl.blocking.MemoryPool(1 << 12) as pool:
        span = pool.allocate(100)
        view = span.view((100,), np.uint8)
        view[:] = 6
    others = [device.allocate(1 << 12) for _ in range(4)]
    for other in others:
        fill(other.address, 1, 1 << 12)
    assert view.tolist() == [6] * 100
    del others, other, span
    assert device.memory().pinned > 0
    del view

    assert device.memory().used == used


async def test_queued_work_keeps_a_span() -> None:
    """A span freed, and a pool closed, while a copy is queued: the bytes stay until it ran."""
    async with Device(0) as device, Stream() as stream:
        target = device.allocate(100)
        with Hold(stream):
            async with MemoryPool(1 << 12) as pool:
                span = pool.allocate(100)
                address = span.address
                span.view((100,), np.uint8)[:] = 8
                stream.copy(target, span)
                span.free()
                assert pool.allocate(100).address != address
            others = [device.allocate(1 << 12) for _ in range(3)]
            for other in others:
                fill(other.address, 1, 1 << 12)
        await stream.synchronize()

        assert bytes(target) == b"\x08" * 100
        del others, other, span
        assert device.memory().used == target.reserved_nbytes


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 900)), max_size=60))
@settings(max_examples=30, deadline=None)
def test_any_order_of_taking_and_freeing(steps: list[tuple[bool, int]]) -> None:
    """Contents never change under somebody else's hands, and in the end all of the pool can be had."""
    with aacl.blocking.Device(0) as device, aacl.blocking.MemoryPool(1 << 13, device=device) as pool:
        live: list[tuple[Buffer, int]] = []
        for number, (take, size) in enumerate(steps):
            if take or not live:
                try:
                    span = pool.allocate(size)
                except OutOfMemory:
                    continue
                span.view((size,), np.uint8)[:] = number % 256
                live.append((span, number % 256))
            else:
                span, mark = live.pop(size % len(live))
                assert set(bytes(span)) == {mark}
                span.free()
        for span, mark in live:
            assert set(bytes(span)) == {mark}
            span.free()
        del live
        assert pool.statistics().used == 0
        assert pool.allocate((1 << 13) - 64).nbytes == (1 << 13) - 64
