"""Threads of executors: whoever lends one brings its context, and takes it away again."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import aacl
import acl
from aacl.compat_tools import acl_context
from tests.compat._programs import get, good, ok, put

THREADS, TASKS = 2 * (os.cpu_count() or 1) + 2, 1000


@pytest.fixture(autouse=True)
def two_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be two devices."""
    monkeypatch.setenv("AACL_DEVICES", "2")


def use(number: int) -> tuple[int, bool]:
    """Allocate, copy and free in the current context; return the device, and whether the data was right."""
    x = np.full(16, number, np.int32)
    pointer = put(x)
    right = bool((get(pointer, x) == x).all())
    ok(acl.rt.free(pointer))
    return good(acl.rt.get_device()), right


async def test_a_thousand_tasks_set_their_context(device: int) -> None:
    """C153: tasks on more threads than cores, devices in turn, each setting its context: none gets 107002."""
    contexts = [good(acl.rt.create_context(number)) for number in (0, 1)]

    def work(number: int) -> tuple[int, bool]:
        ok(acl.rt.set_context(contexts[number % 2]))
        return use(number)

    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(THREADS) as pool:
        answers = await asyncio.gather(*[loop.run_in_executor(pool, work, number) for number in range(TASKS)])

    assert answers == [(number % 2, True) for number in range(TASKS)]
    assert acl.rt.get_context() == (contexts[1], 0)  # the loop's own thread has what it had


async def test_a_block_is_the_helper_of_a_borrowed_thread(device: int) -> None:
    """C153: without a context a borrowed thread gets 107002; a block makes one, and leaves the thread as it was."""

    def work(number: int) -> tuple[int, int, bool]:
        without = acl.rt.malloc(64, 0)[1]
        with acl_context(number % 2):
            answer = use(number)
        return without, *answer

    answers = await asyncio.gather(*[asyncio.to_thread(work, number) for number in range(100)])

    assert answers == [(107002, number % 2, True) for number in range(100)]


async def test_aacl_brings_what_is_current_to_its_threads() -> None:
    """C153: in a thread of asyncio.to_thread the caller's device and stream are current, whichever of two they are."""

    async def work(number: int) -> tuple[int, bool]:
        x = np.full(16, number, np.int32)

        def submit() -> tuple[aacl.Stream, aacl.Completion[aacl.Tensor]]:
            stream = aacl.current_stream()
            return stream, stream.to_device(x)

        stream, completion = await asyncio.to_thread(submit)
        tensor = await completion
        return tensor.device_index, bool((await stream.to_host(tensor) == x).all())

    async def on(index: int) -> list[tuple[int, bool]]:
        async with aacl.Device(index), aacl.Stream():
            return await asyncio.gather(*[work(number) for number in range(TASKS // 2)])

    first, second = await asyncio.gather(on(0), on(1))

    assert first == [(0, True)] * (TASKS // 2)
    assert second == [(1, True)] * (TASKS // 2)
