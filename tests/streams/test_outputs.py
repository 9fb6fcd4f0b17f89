"""What commands make is there at once, belongs to its own command, and is let go with it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import pytest

from aacl import Device, Stream, ops
from tests.helpers import Hold

Until = Callable[[Callable[[], bool]], Awaitable[None]]


async def test_outputs_are_there_at_once(stream: Stream) -> None:
    """The output and outputs of queued work are its tensors; what makes none says so."""
    a = await stream.to_device(np.arange(4.0))
    with Hold(stream) as hold:
        completion = stream.execute(ops.Add(a, a))
        assert completion.output.shape == (4,)
        assert completion.outputs == (completion.output,)
        with pytest.raises(AttributeError, match="makes no tensors"):
            _ = hold.completion.output
    assert await completion is completion.output


async def test_each_execution_has_its_own_output(stream: Stream) -> None:
    """The same operation executed twice while queued makes two tensors, which their completions keep."""
    a = await stream.to_device(np.arange(4.0))
    add = ops.Add(a, a)
    with Hold(stream):
        first, second = stream.execute(add), stream.execute(add)
        made = first.output, second.output
        assert made[0] is not made[1]
    assert (await first, await second) == made
    assert (first.output, second.output) == made


async def test_what_a_finished_command_made_is_freed_without_the_collector(
    device: Device, stream: Stream, until: Until
) -> None:
    """The last reference to a queued command's output ends it: large outputs must not wait for the cyclic collector."""
    a = await stream.to_device(np.arange(4.0))
    used = device.memory().used
    gc.collect()
    gc.disable()
    try:
        for _ in range(5):
            with Hold(stream):
                completion = stream.execute(ops.Add(a, a))
                host = stream.to_host(completion)
            await host
            await stream.synchronize()
            del completion, host
        await until(lambda: device.memory().used == used)  # the worker lets go of a command behind waking its waiters
    finally:
        gc.enable()


async def test_a_pipeline_does_not_keep_its_past(device: Device, stream: Stream, until: Until) -> None:
    """In a chain of queued commands only the newest output lives on once they are over."""
    a = await stream.to_device(np.arange(4.0))
    gc.collect()
    gc.disable()
    try:
        used = device.memory().used
        latest: Any = a
        with Hold(stream):
            for _ in range(20):
                latest = stream.execute(ops.Add(latest, a))
        tensor = await latest
        del latest
        await stream.synchronize()
        await until(lambda: device.memory().used - used <= tensor.buffer.reserved_nbytes)
    finally:
        gc.enable()


async def test_host_functions_and_their_arguments_are_let_go(stream: Stream) -> None:
    """Nothing of a host call outlives it but its result."""

    class Thing:
        def __call__(self) -> None:
            pass

    thing = Thing()
    gone = weakref.ref(thing)
    completion = stream.call(thing)
    await completion
    await stream.synchronize()
    gc.disable()
    try:
        del thing
        assert gone() is None
    finally:
        gc.enable()
