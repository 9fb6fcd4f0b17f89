"""Binding an allocator to a stream, and letting it go."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable

import pytest

import aacl
from aacl.errors import ClosedResource, InvalidArgument, WouldBlock
from tests.helpers.allocator import Pool, X, place, run, twice

Pack = Callable[..., bytes]


async def test_queued_runs_keep_the_allocator_of_their_submission(
    device: aacl.Device, stream: aacl.Stream, pool: Pool, nonzero: bytes
) -> None:
    """Another allocator, or none, is for what is submitted from then on; all blocks are back when the runs are over."""
    gate, second = threading.Event(), Pool(device)
    async with aacl.Model(nonzero) as model:
        x = await stream.to_device(X)
        stream.call(gate.wait, 10)
        first = [stream.execute(model(x)) for _ in range(3)]
        stream.use_allocator(second)
        second_runs = [stream.execute(model(x)) for _ in range(2)]
        stream.use_allocator(None)
        plain = stream.execute(model(x))
        gate.set()
        await asyncio.gather(*first, *second_runs, plain)
        await stream.synchronize()

    assert (len(pool.asked), len(second.asked), pool.live | second.live, stream.allocator) == (3, 2, set(), None)


async def test_allocator_runs_in_its_binders_context_on_a_worker(
    device: aacl.Device, stream: aacl.Stream, pack: Pack
) -> None:
    """The context variables are those of who bound it, and the event loop's thread is left alone."""
    pool = Pool(device)
    token = place.set("bound here")
    stream.use_allocator(pool)
    place.reset(token)
    async with aacl.Model(twice(pack)) as model:
        await run(stream, model, X)

    assert pool.seen == [("bound here", False)]


async def test_allocator_uses_the_runtime_but_not_its_stream(
    device: aacl.Device, stream: aacl.Stream, pool: Pool, nonzero: bytes
) -> None:
    """It may run a model on another stream; to wait for its own one raises, where it would never end."""
    async with aacl.Model(nonzero) as model, aacl.Stream(device) as other:
        tensor = await stream.to_device(X)

        def elsewhere(nbytes: int) -> aacl.Buffer:
            other.execute(model(tensor)).wait()
            with pytest.raises(WouldBlock):
                stream.barrier().wait()
            return device.allocate(nbytes)

        pool.fails.append(elsewhere)
        await stream.execute(model(tensor))

    assert (len(pool.asked), pool.live) == (1, set())


async def test_allocator_is_let_go(device: aacl.Device, pack: Pack) -> None:
    """Unbound, or with its stream closed, nothing of the runtime's holds it; a closed stream takes none."""
    async with aacl.Model(twice(pack)) as model:
        for unbinds in (True, False):
            pool = Pool(device)
            gone = weakref.ref(pool)
            async with aacl.Stream(device) as stream:
                stream.use_allocator(pool)
                await run(stream, model, X)
                if unbinds:
                    stream.use_allocator(None)
            del pool
            gc.collect()

            assert (gone(), stream.allocator) == (None, None)
            with pytest.raises(ClosedResource, match="bind an allocator"):
                stream.use_allocator(Pool(device))


async def test_only_an_allocator_can_be_bound(stream: aacl.Stream, pool: Pool) -> None:
    """What is none is refused, and the one before stays."""
    with pytest.raises(InvalidArgument, match=r"aacl\.Allocator"):
        stream.use_allocator(object())  # type: ignore[arg-type]

    assert stream.allocator is pool


@pytest.mark.parametrize("stops", [False, True])
async def test_short_work_runs_at_once_again_without_allocator(device: aacl.Device, pool: Pool, stops: bool) -> None:
    """With an allocator all work goes to a worker; afterwards the stream does what it did before."""
    async with aacl.Stream(device, stop_at_failure=stops) as stream:
        x = await stream.to_device(X)
        add = aacl.ops.Add(x, x)
        inline = []
        for allocator in (None, pool, None):
            stream.use_allocator(allocator)
            await stream.execute(add)
            before = stream.statistics().executed
            await asyncio.gather(*[stream.execute(add) for _ in range(5)])
            inline.append(stream.statistics().executed == before)

    assert inline == [not stops, False, not stops]


async def test_binding_races_with_work_of_other_threads(device: aacl.Device, stream: aacl.Stream, pool: Pool) -> None:
    """Allocators come and go while other threads submit: no command is lost, and the stream lives on."""
    x = await stream.to_device(X)
    done = []

    def submit() -> None:
        add = aacl.ops.Add(x, x)
        for _ in range(300):
            stream.execute(add)
            stream.record_event()
        done.append(stream.execute(add).wait())

    threads = [threading.Thread(target=submit) for _ in range(3)]
    for thread in threads:
        thread.start()
    turns = 0
    while any(thread.is_alive() for thread in threads):
        stream.use_allocator(pool if turns % 2 else None)
        turns += 1
        await asyncio.sleep(0)
    stream.use_allocator(None)
    await stream.synchronize()

    assert (done, stream.idle) == ([True] * 3, True)
