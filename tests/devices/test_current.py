"""Which device, context and stream are current, task by task."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator

import pytest

import aacl
from aacl import (
    ClosedResource,
    Context,
    Device,
    InvalidArgument,
    NotCurrent,
    Stream,
    current_context,
    current_device,
    current_stream,
)
from tests.helpers import run_python


async def test_entering_makes_current_and_leaving_restores() -> None:
    """Blocks nest: the inner one is current inside, the outer one again afterwards."""
    async with Device(0) as outer:
        assert current_device() is outer
        assert current_context() is outer.default_context
        async with Context() as context, Stream() as stream:
            assert context.device is outer
            assert current_context() is context
            assert current_stream() is stream
            async with Device(1) as inner, Stream() as deeper:
                assert (current_device(), current_stream()) == (inner, deeper)
                assert current_context() is inner.default_context
            assert (current_device(), current_context(), current_stream()) == (outer, context, stream)
        assert current_context() is outer.default_context
        with pytest.raises(NotCurrent, match="stream"):
            current_stream()


@pytest.mark.parametrize("get", [current_device, current_context, current_stream])
def test_nothing_is_current_outside(get: object) -> None:
    """The error says what to enter."""
    assert callable(get)
    with pytest.raises(NotCurrent, match="async with aacl"):
        get()


async def test_needing_a_current_one_without_a_block() -> None:
    """Stream(), Context(), MemoryPool() and empty() without an owner raise NotCurrent, and nothing is open."""
    for make in (Stream(), Context(), aacl.MemoryPool(100)):
        with pytest.raises(NotCurrent):
            await make.open()
        with pytest.raises(NotCurrent):
            async with make:
                pass
    with pytest.raises(NotCurrent):
        aacl.empty((1,), "int8")
    assert aacl.open_resources() == {}


async def test_open_does_not_make_current() -> None:
    """Only `async with` does."""
    device = await Device(0).open()
    stream = await Stream(device).open()
    with pytest.raises(NotCurrent):
        current_device()
    with pytest.raises(NotCurrent):
        current_stream()
    await device.aclose()
    assert stream.closed


async def test_tasks_inherit_and_do_not_disturb() -> None:
    """A task starts with what was current where it was made; what it enters is its own."""
    entered, leave = asyncio.Event(), asyncio.Event()
    async with Device(0) as outer:

        async def inner() -> None:
            assert current_device() is outer
            async with Device(1) as own:
                entered.set()
                await leave.wait()
                assert current_device() is own
            assert current_device() is outer

        task = asyncio.create_task(inner())
        await entered.wait()
        assert current_device() is outer
        leave.set()
        await task


async def test_leaving_in_another_task() -> None:
    """An exit stack may be unwound by any task: the block is left there, and this task goes on to its predecessor."""
    async with Device(0) as outer:
        stream = Stream(outer)
        await stream.__aenter__()
        assert current_stream() is stream
        await asyncio.create_task(stream.__aexit__(None, None, None))
        assert stream.closed
        with pytest.raises(NotCurrent):
            current_stream()


async def test_a_closed_one_is_never_current() -> None:
    """When an inner block outlives an outer one, the nearest open predecessor is current."""
    async with Device(0) as device:
        first, second, third = Stream(device), Stream(device), Stream(device)
        for stream in (first, second, third):
            await stream.__aenter__()
        await second.__aexit__(None, None, None)
        assert current_stream() is third
        await third.__aexit__(None, None, None)
        assert current_stream() is first
        await first.aclose()
        with pytest.raises(NotCurrent):
            current_stream()


async def test_an_unusual_order_of_leaving() -> None:
    """Leaving the outer of two first leaves the inner one current."""
    async with Device(0) as device:
        first, second = Stream(device), Stream(device)
        await first.__aenter__()
        await second.__aenter__()
        await first.__aexit__(None, None, None)
        assert current_stream() is second
        await second.__aexit__(None, None, None)


async def test_a_generator_that_holds_a_block() -> None:
    """An async generator's block, finished from another context, restores without an error."""

    async def streams(device: Device) -> AsyncGenerator[Stream, None]:
        async with Stream(device) as stream:
            yield stream

    async with Device(0) as device:
        generator = streams(device)
        stream = await anext(generator)
        context = contextvars.copy_context()
        await asyncio.create_task(generator.aclose(), context=context)
        assert stream.closed


async def test_opening_twice_is_refused() -> None:
    """An open one cannot be opened again, nor a closed one; neither changes."""
    async with Device(0) as device:
        with pytest.raises(InvalidArgument, match="open already"):
            await device.open()
        async with Stream() as stream:
            with pytest.raises(InvalidArgument, match="open already"):
                async with stream:
                    pass
            assert await stream.call(int) == 0
        with pytest.raises(ClosedResource):
            await stream.open()


async def test_host_calls_see_the_submitters_current_ones() -> None:
    """A function in a stream's queue runs with the current device and stream of its submission."""
    async with Device(1) as device, Stream() as stream:
        assert await stream.call(lambda: (current_device(), current_stream())) == (device, stream)


def test_threads_start_with_nothing_current() -> None:
    """A thread of the program's own is in no block."""
    done = run_python(
        """
        def look():
            try:
                aacl.current_device()
            except aacl.NotCurrent:
                print("none")
        with blocking.Device(0):
            thread = threading.Thread(target=look)
            thread.start()
            thread.join()
        """
    )

    assert (done.status, done.output) == (0, "none"), done
