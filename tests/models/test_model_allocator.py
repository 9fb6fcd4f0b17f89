"""Runs that get their memory from an allocator bound to their stream."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import weakref
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import aacl
from aacl.dtypes import DataType
from aacl.errors import (
    ClosedResource,
    InvalidArgument,
    InvalidMemoryRange,
    ModelRunError,
    OutOfMemory,
    StreamError,
    WouldBlock,
)
from aacl.models import GearKind, Gears, TensorSpec

Pack = Callable[..., bytes]
FLOAT = TensorProto.FLOAT
X = np.array([[1, 0, -2], [0, 5, 6]], np.float32)
value = helper.make_tensor_value_info
place: ContextVar[str] = ContextVar("place", default="nowhere")


class Pool(aacl.Allocator[aacl.Buffer]):
    """Buffers of a device, counted; what stands in `fails` happens once in the place of an allocation."""

    def __init__(self, device: aacl.Device) -> None:
        self.device = device
        self.asked: list[int] = []
        self.advised: list[int] = []
        self.live: set[int] = set()
        self.fails: list[Callable[[int], Any]] = []
        self.seen: list[tuple[str, bool]] = []

    def allocate(self, nbytes: int) -> aacl.Buffer:
        self.seen.append((place.get(), threading.current_thread() is threading.main_thread()))
        self.asked.append(nbytes)
        buffer: aacl.Buffer = self.fails.pop()(nbytes) if self.fails else self.device.allocate(nbytes)
        if isinstance(buffer, aacl.Buffer):
            self.live.add(buffer.address)
        return buffer

    def allocate_near(self, nbytes: int, address: int) -> aacl.Buffer:
        self.advised.append(address)
        return self.allocate(nbytes)

    def free(self, block: aacl.Buffer) -> None:
        if isinstance(block, Unwanted):
            raise ValueError("not mine")
        if isinstance(block, aacl.Buffer):
            self.live.remove(block.address)
            block.free()


@pytest.fixture(scope="module")
def nonzero(pack: Pack) -> bytes:
    """Where x of [any, any] is not zero, and x with the negative ones as 0."""
    free = ((0, -1), (0, -1))
    return pack(
        [helper.make_node("Relu", ["x"], ["positive"]), helper.make_node("NonZero", ["positive"], ["where"])],
        [value("x", FLOAT, ["rows", "columns"])],
        [value("where", TensorProto.INT64, [2, "found"]), value("positive", FLOAT, ["rows", "columns"])],
        [TensorSpec("x", DataType.FLOAT, (-1, -1), ranges=free)],
        [
            TensorSpec("nonzero:0:where", DataType.INT64, (2, -1), ranges=((2, 2), (0, -1))),
            TensorSpec("relu:0:positive", DataType.FLOAT, (-1, -1), ranges=free),
        ],
        name="nonzero",
    )


def _exhausted(_nbytes: int) -> object:
    raise KeyError("pool")


def _cancelled(_nbytes: int) -> object:
    raise asyncio.CancelledError


def twice(pack: Pack, gears: Gears | None = None) -> bytes:
    """Y = x + x for x of [any, 3]."""
    gives = (4, 3) if gears else (-1, 3)
    return pack(
        [helper.make_node("Add", ["x", "x"], ["y"])],
        [value("x", FLOAT, ["n", 3])],
        [value("y", FLOAT, ["n", 3])],
        [TensorSpec("x", DataType.FLOAT, (-1, 3), ranges=((0, 64), (3, 3)))],
        [TensorSpec("add:0:y", DataType.FLOAT, gives, ranges=() if gears else ((0, 64), (3, 3)))],
        gears=gears,
    )


@pytest.fixture
async def device() -> AsyncIterator[aacl.Device]:
    """A device."""
    async with aacl.Device(0) as opened:
        yield opened


@pytest.fixture
async def stream(device: aacl.Device) -> AsyncIterator[aacl.Stream]:
    """A stream of that device."""
    async with aacl.Stream(device) as opened:
        yield opened


@pytest.fixture
def pool(device: aacl.Device, stream: aacl.Stream) -> Pool:
    """An allocator, bound to the stream."""
    pool = Pool(device)
    stream.use_allocator(pool)
    return pool


async def run(stream: aacl.Stream, model: aacl.Model, x: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Run a model of one input and return its outputs on the host."""
    made = await stream.execute(model(await stream.to_device(x)))
    return [await stream.to_host(each) for each in (made if isinstance(made, tuple) else (made,))]


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


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize(
    ("fail", "error", "text"),
    [
        (_exhausted, OutOfMemory, "KeyError: 'pool'"),
        (lambda _: sys.exit(3), OutOfMemory, "SystemExit: 3"),
        (_cancelled, OutOfMemory, "CancelledError"),
        (lambda _: None, OutOfMemory, "gave no block"),
        (lambda _: 0, OutOfMemory, "gave no block"),
        (lambda _: aacl.current_device().allocate(1), InvalidMemoryRange, "are needed"),
        (lambda _: "block", StreamError, "no attribute 'address'"),
    ],
)
async def test_failure_is_of_one_run(
    stream: aacl.Stream,
    pool: Pool,
    nonzero: bytes,
    pack: Pack,
    late: bool,
    fail: Callable[[int], object],
    error: type[Exception],
    text: str,
) -> None:
    """C108: a run whose allocator fails has an error that says so; those before and behind it are right."""
    big = np.arange(3 * 64, dtype=np.float32).reshape(64, 3)
    async with aacl.Model(nonzero if late else twice(pack)) as model:
        expected = await run(stream, model, big)
        x = await stream.to_device(big)
        pool.fails.append(fail)
        bad, good = stream.execute(model(x)), stream.execute(model(x))
        with pytest.raises(error, match=text):
            await bad
        made = await good
        await stream.synchronize()

        for one, tensor in zip(expected, made if isinstance(made, tuple) else (made,), strict=True):
            np.testing.assert_array_equal(await stream.to_host(tensor), one)

    assert pool.live == set()


async def test_run_that_fails_gives_its_block_back(stream: aacl.Stream, pool: Pool, pack: Pack) -> None:
    """The error of a model that fails is its own; the block goes back, and what fails then is a note on that error."""
    model = pack(
        [helper.make_node("Gather", ["x", "i"], ["y"])],
        [value("x", FLOAT, [4]), value("i", TensorProto.INT64, ["n"])],
        [value("y", FLOAT, ["n"])],
        [TensorSpec("x", DataType.FLOAT, (4,)), TensorSpec("i", DataType.INT64, (-1,), ranges=((0, 9),))],
        [TensorSpec("gather:0:y", DataType.FLOAT, (-1,), ranges=((0, 9),))],
    )
    async with aacl.Model(model) as picks:
        inputs = [await stream.to_device(np.ones(4, np.float32)), await stream.to_device(np.array([7, 1]))]
        with pytest.raises(ModelRunError, match="bounds"):
            await stream.execute(picks(*inputs))
        assert (len(pool.asked), pool.live) == (1, set())

        pool.fails.append(lambda nbytes: Unwanted(pool.device.allocate(nbytes)))
        with pytest.raises(ModelRunError, match="bounds") as caught:
            await stream.execute(picks(*inputs))

    assert any("not mine" in note for note in caught.value.__notes__)


class Unwanted:
    """A block that its allocator fails to take back."""

    def __init__(self, buffer: aacl.Buffer) -> None:
        self.address = buffer.address
        self._buffer = buffer


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
