"""Runs that get their memory from an allocator: who asks it, for how much, and gives back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import numpy as np

import aacl
from aacl.models import GearKind, Gears
from tests.helpers.allocator import Pool, X, run, twice

Pack = Callable[..., bytes]


async def test_block_for_outputs_that_only_the_run_tells(stream: aacl.Stream, pool: Pool, nonzero: bytes) -> None:
    """One block a run, of at least the bytes of all free outputs, is given back when the run is over."""
    async with aacl.Model(nonzero) as model:
        for rows in (1, 7, 30):
            x = np.full((rows, 5), rows, np.float32)
            where, positive = await run(stream, model, x)

            np.testing.assert_array_equal(where, np.array(np.nonzero(x)))
            np.testing.assert_array_equal(positive, x)
            assert pool.asked[-1] >= where.nbytes + positive.nbytes

    assert (len(pool.asked), pool.live, stream.allocator) == (3, set(), pool)


async def test_block_for_outputs_of_free_dims(stream: aacl.Stream, pool: Pool, pack: Pack) -> None:
    """A run whose shapes are known draws on the allocator too, where the model leaves them open."""
    async with aacl.Model(twice(pack)) as model:
        assert ((await run(stream, model, X))[0] == 2 * X).all()

    assert (len(pool.asked), pool.asked[0] >= X.nbytes, pool.live) == (1, True, set())


async def test_nothing_else_asks(
    device: aacl.Device, stream: aacl.Stream, pool: Pool, nonzero: bytes, pack: Pack, add_one_bytes: bytes
) -> None:
    """Operators, models of fixed shapes or with gears, and other streams leave the allocator alone."""
    gears = Gears(GearKind.BATCH, ((2,), (4,)), (((2, 3),), ((4, 3),)), (((2, 3),), ((4, 3),)))
    x = await stream.to_device(X)
    await stream.execute(aacl.ops.Add(x, x))
    async with aacl.Model(add_one_bytes) as fixed, aacl.Model(twice(pack, gears)) as geared:
        assert ((await run(stream, fixed, X))[0] == X + 1).all()
        assert ((await run(stream, geared, X))[0] == 2 * X).all()
    async with aacl.Model(nonzero) as model, aacl.Stream(device) as other:
        await run(other, model, X)

    assert pool.asked == []


async def test_the_block_given_back_is_advised(stream: aacl.Stream, pool: Pool, pack: Pack) -> None:
    """From the second run of a size on the allocator hears where the block before was, and may give another."""
    async with aacl.Model(twice(pack)) as model:
        for rows in (2, 2, 2, 40, 40):
            await run(stream, model, np.ones((rows, 3), np.float32))

    assert (len(pool.asked), len(pool.advised), pool.live) == (5, 3, set())


async def test_streams_may_share_an_allocator(device: aacl.Device, nonzero: bytes) -> None:
    """Two streams ask one allocator, each for its own runs; all blocks are back when both are through."""
    pool = Pool(device)
    async with aacl.Stream(device) as one, aacl.Stream(device) as two, aacl.Model(nonzero) as model:
        x = await one.to_device(X)
        for stream in (one, two):
            stream.use_allocator(pool)
        runs = [stream.execute(model(x)) for _ in range(40) for stream in (one, two)]
        for where, _ in await asyncio.gather(*runs):
            np.testing.assert_array_equal(await one.to_host(where), np.array(np.nonzero(X > 0)))
        await one.synchronize()
        await two.synchronize()

    assert (len(pool.asked), pool.live) == (80, set())


async def test_program_owns_outputs_that_the_run_allocates(stream: aacl.Stream, pool: Pool, nonzero: bytes) -> None:
    """A new output outlives its run, so it is not the allocator's memory, which has its block back."""
    async with aacl.Model(nonzero) as model:
        where, positive = await stream.execute(model(await stream.to_device(X)))
        stream.use_allocator(None)
        assert pool.live == set()

        for _ in range(20):
            await stream.execute(model(await stream.to_device(X * 3)))
        np.testing.assert_array_equal(await stream.to_host(where), np.array(np.nonzero(X > 0)))
        np.testing.assert_array_equal(await stream.to_host(positive), np.maximum(X, 0))
