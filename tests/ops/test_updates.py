"""Operators that update inputs where they lie: the slots of optimizers, lists of tensors."""

from __future__ import annotations

import mmap
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest

import aacl
from aacl import Device, InvalidArgument, InvalidMemoryRange, Operation, Stream, Tensor, TensorDesc, ops
from aacl.abc import Array
from tests.helpers import Hold

FLOATS = TensorDesc.of(np.float32, (4,))
RATES = (0.5, 0.25, 0.01, 0.9, 0.99, 1e-3)  # beta1_power, beta2_power, lr, beta1, beta2, epsilon


@pytest.fixture
async def device() -> AsyncIterator[Device]:
    """A device."""
    async with Device(0) as opened:
        yield opened


@pytest.fixture
async def stream(device: Device) -> AsyncIterator[Stream]:
    """A stream of that device."""
    async with Stream(device) as opened:
        yield opened


@pytest.fixture
async def other(device: Device) -> AsyncIterator[Stream]:
    """Another one."""
    async with Stream(device) as opened:
        yield opened


def _filled(stream: Stream, value: float, count: int = 4) -> Tensor:
    return stream.to_device(np.full(count, value, np.float32)).result()


def _adam(var: Tensor, m: Any, v: Any, grad: Any, **given: Any) -> Operation:
    return Operation("ApplyAdam", [var, m, v, *np.array(RATES, np.float32), grad], **given)


async def _read(stream: Stream, *tensors: Tensor) -> list[Any]:
    return [(await stream.to_host(each)).tolist() for each in tensors]


@pytest.mark.parametrize("is_prepared", [False, True])
async def test_slots_live_on_over_many_steps(stream: Stream, is_prepared: bool) -> None:
    """Five steps of Adam against the loop of the documentation, with a new variable each time or the same one."""
    start = np.array([1.0, -2.0, 0.5, 3.0])
    var, m, v = [await stream.to_device(each.astype(np.float32)) for each in (start, 0 * start, 0 * start)]
    grad = _filled(stream, 0)
    again = _adam(var, m, v, grad, out=var)
    b1p, b2p, lr, b1, b2, epsilon = (float(np.float32(rate)) for rate in RATES)
    x, first, second = start.copy(), 0 * start, 0 * start
    for step in range(5):
        slope: Array = np.cos(np.arange(4) + step).astype(np.float32)
        grad.view()[...] = slope
        made = await stream.execute(again if is_prepared else _adam(var, m, v, grad))
        assert (made is var) is is_prepared
        var = made
        for place, g in enumerate(map(float, slope)):
            first[place] = b1 * first[place] + (1 - b1) * g
            second[place] = b2 * second[place] + (1 - b2) * g * g
            x[place] -= lr * (1 - b2p) ** 0.5 / (1 - b1p) * first[place] / (second[place] ** 0.5 + epsilon)

    for found, exact in zip(await _read(stream, var, m, v), (x, first, second), strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-6)


async def test_lists_are_updated_and_nothing_is_made(stream: Stream) -> None:
    """The result is an empty tuple; a tensor that is listed twice is updated twice."""
    x, y = _filled(stream, 3), _filled(stream, 5, 2)
    half = Operation("ForeachMulScalarInplace", [x, y, x, np.array([0.5], np.float32)])

    assert await stream.execute(half) == ()
    assert await _read(stream, x, y) == [[0.75] * 4, [2.5] * 2]
    assert await stream.execute(Operation("ForeachMulScalarInplace", [x, np.array([4], np.float32)], out=[])) == ()
    assert await _read(stream, x) == [[3.0] * 4]


async def test_which_inputs_those_are(device: Device, stream: Stream) -> None:
    """Told for a device; most operators have none."""
    x = _filled(stream, 1)

    assert _adam(x, x, x, x).updates(device) == (1, 2)
    assert Operation("ForeachAddListInplace", [x, x, x, x, np.array([1], np.float32)]).updates(device) == (0, 1)
    assert ops.Add(x, x, out=x).updates(device) == ()


async def test_who_reads_them_on_another_stream_waits(stream: Stream, other: Stream) -> None:
    """A queued command makes their new contents; so does the next one, for those behind it."""
    x, y = _filled(stream, 3), _filled(stream, 4)
    with Hold(stream) as hold:
        stream.execute(Operation("ForeachMulScalarInplace", [x, np.array([2], np.float32)]))
        read = other.to_host(x)
        added = other.execute(Operation("ForeachAddListInplace", [y, x, np.array([1], np.float32)]))
        back = stream.to_host(y)
        assert not read.done()
        assert not added.done()
        hold.release()
        assert (await read).tolist() == [6.0] * 4
        assert (await back).tolist() == [10.0] * 4
    await added
    assert not stream._memory.unsettled


async def test_a_step_that_was_dropped_leaves_no_contents(stream: Stream, other: Stream) -> None:
    """Who reads a slot later fails with the same cause, until somebody writes it anew."""
    var, m, v, grad = (_filled(stream, value) for value in (1, 2, 3, 4))
    with Hold(stream):
        step = stream.execute(_adam(var, m, v, grad))
        read = other.to_host(v)
        await stream.abort()
    with pytest.raises(aacl.Aborted) as first:
        await step
    for late in (read, other.to_host(m), stream.execute(_adam(var, m, v, grad))):
        with pytest.raises(aacl.Aborted) as second:
            await late
        assert second.value is first.value

    for slot in (m, v):
        await stream.execute(Operation("Identity", [grad], out=slot))
    await stream.execute(_adam(var, m, v, grad))
    assert await _read(stream, var) == [[1.0] * 4]  # of the dropped and the failed step nothing was written


async def test_a_host_value_cannot_be_updated(stream: Stream) -> None:
    """The input is named; nothing was written, and the stream goes on."""
    var, grad = _filled(stream, 1), _filled(stream, 1)
    zeros: Array = np.zeros(4, np.float32)
    for given in ({}, {"out": var}):
        with pytest.raises(InvalidArgument, match="updates its input v; pass a tensor"):
            stream.execute(_adam(var, grad, zeros, grad, **given))
    with pytest.raises(InvalidArgument, match="updates its input x; pass a tensor"):
        stream.execute(Operation("ForeachZeroInplace", [var, zeros]))
    assert await _read(stream, var, grad) == [[1.0] * 4] * 2


async def test_overlaps(stream: Stream) -> None:
    """Not with a part of another input, nor with an output; the same memory is read before it is written."""
    whole, var = _filled(stream, 1, 8), _filled(stream, 1)
    low, high, middle = (Tensor(FLOATS, whole.buffer, offset) for offset in (0, 16, 8))
    for inputs in ((low, middle, low), (low, high, middle), (middle, high, low)):
        with pytest.raises(InvalidArgument, match="other inputs lie on a part of it"):
            stream.execute(_adam(var, *inputs))
    with pytest.raises(InvalidArgument, match="over a part of its input"):
        stream.execute(_adam(var, low, high, var, out=middle))
    with pytest.raises(InvalidArgument, match="which it updates"):
        stream.execute(_adam(var, low, high, var, out=low))
    assert await _read(stream, whole) == [[1.0] * 8]

    # x2 is the first tensor of the list, which is written before the second one is made.
    await stream.execute(Operation("ForeachAddListInplace", [low, high, high, low, np.array([1], np.float32)]))
    assert await _read(stream, whole) == [[2.0] * 8]


async def test_host_memory_is_updated_where_it_may_be_written(stream: Stream) -> None:
    """A tensor on writable host memory is; on a read-only mapping it is refused."""
    numbers: Array = np.full(4, 8, np.float32)
    tensor = Tensor(FLOATS, aacl.memory.host_memory(numbers.ctypes.data, numbers.nbytes))
    await stream.execute(Operation("ForeachSqrtInplace", [tensor]))
    np.testing.assert_allclose(numbers, [8**0.5] * 4, rtol=1e-6)

    with mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ) as mapping:
        fixed = np.frombuffer(mapping, np.float32, 4)
        tensor = Tensor(FLOATS, aacl.memory.host_memory(fixed.ctypes.data, fixed.nbytes))
        with pytest.raises(InvalidMemoryRange):
            stream.execute(Operation("ForeachSqrtInplace", [tensor]))
        del fixed, tensor


async def test_inputs_of_unknown_shape_must_be_awaited_first(stream: Stream) -> None:
    """Else nobody could be told what is updated; afterwards it runs."""
    x = _filled(stream, 2)
    mask = await stream.to_device(np.ones(4, np.bool_))
    with Hold(stream):
        chosen = stream.execute(Operation("MaskedSelect", [x, mask]))
        step = stream.execute(Operation("ForeachMulListInplace", [x, chosen.output]))
    with pytest.raises(InvalidArgument, match="takes inputs of exact shapes"):
        await step
    assert await _read(stream, x) == [[2.0] * 4]
    await stream.execute(Operation("ForeachMulListInplace", [x, await chosen]))
    assert await _read(stream, x) == [[4.0] * 4]
