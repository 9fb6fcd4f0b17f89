"""Copies between host arrays, tensors and buffers."""

from __future__ import annotations

import asyncio
import itertools
import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aacl
from aacl import ClosedResource, Device, InvalidArgument, InvalidMemoryRange, Stream, UnsupportedDataType, ops
from aacl.memory import host_memory
from tests.helpers import Hold, PythonWork

ARRAYS = [
    np.arange(12, dtype=np.int32).reshape(3, 4),
    np.array(3.5),
    np.zeros((0, 3), np.float32),
    np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1),
    np.arange(24)[::-2],
    np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    np.array([True, False]),
    np.array([1 + 2j]),
    np.array([1.5, -2], ml_dtypes.bfloat16),
    np.array([1, 2], ">i4"),
    np.array([7, -8], ml_dtypes.int4),
    np.full((1, 1, 1, 1), np.nan, np.float16),
]


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{list(array.shape)}")
async def test_there_and_back(stream: Stream, array: np.ndarray[Any, Any], copy: bool) -> None:
    """Any layout, byte order and rank comes back as a C-contiguous native array of the same shape and values."""
    tensor = await stream.to_device(array, copy=copy)
    back = await stream.to_host(tensor)

    assert tensor.shape == back.shape == array.shape
    assert back.dtype == array.dtype.newbyteorder("=")
    assert back.flags.c_contiguous
    assert back.flags.writeable
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize(
    ("given", "dtype"), [([1, 2], np.int64), (2.5, np.float64), ([[True]], np.bool_), ((), np.float64)]
)
async def test_what_numpy_takes_is_taken(stream: Stream, given: Any, dtype: Any) -> None:
    """Lists, numbers and tuples become arrays as in numpy.asarray."""
    tensor = await stream.to_device(given)
    assert tensor.dtype.numpy_dtype == dtype
    np.testing.assert_array_equal(await stream.to_host(tensor), np.asarray(given))


async def test_a_dtype_may_be_asked_for(stream: Stream) -> None:
    """The array is converted on the way."""
    tensor = await stream.to_device([1, 2], aacl.DataType.FLOAT16)

    assert (await stream.to_host(tensor)).dtype == np.float16


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([object()]), np.array([1], "M8[s]"), np.zeros(1, "i4,f4")])
async def test_foreign_dtypes_are_refused(device: Device, stream: Stream, array: np.ndarray[Any, Any]) -> None:
    """Nothing is allocated for them."""
    used = device.memory().used
    with pytest.raises(UnsupportedDataType):
        stream.to_device(array)

    assert device.memory().used == used


async def test_the_array_may_change_at_once(stream: Stream) -> None:
    """to_device() takes a snapshot, on a busy stream too, and does not wait for the stream."""
    array = np.zeros(4)
    with Hold(stream):
        completion = stream.to_device(array)
        array[:] = 1
        assert completion.done()
    assert (await stream.to_host(await completion)).tolist() == [0, 0, 0, 0]


async def test_without_a_snapshot_the_copy_takes_its_place_in_the_queue(stream: Stream) -> None:
    """copy=False reads the array when its turn has come."""
    array = np.zeros(4)
    with Hold(stream):
        completion = stream.to_device(array, copy=False)
        assert not completion.done()
        array[:] = 1
    assert (await stream.to_host(await completion)).tolist() == [1, 1, 1, 1]


async def test_to_host_comes_after_what_is_queued(stream: Stream) -> None:
    """It sees what the commands before it made, and not what those after it make."""
    tensor = await stream.to_device(np.zeros(4, np.uint8))
    with Hold(stream):
        stream.fill(tensor, 1)
        seen = stream.to_host(tensor)
        stream.fill(tensor, 2)
    assert (await seen).tolist() == [1, 1, 1, 1]


async def test_to_host_fills_an_array(stream: Stream) -> None:
    """out= is filled and returned, strided ones as well."""
    tensor = await stream.to_device(np.arange(4.0))
    out = np.zeros(8)

    assert await stream.to_host(tensor, out=out[::2]) is not None
    assert out.tolist() == [0, 0, 1, 0, 2, 0, 3, 0]


@pytest.mark.parametrize(
    "out", [np.zeros(3), np.zeros(4, np.float32), np.zeros((4, 1))], ids=["short", "dtype", "rank"]
)
async def test_arrays_that_do_not_fit_are_refused(stream: Stream, out: np.ndarray[Any, Any]) -> None:
    """Shape and dtype must be the tensor's; the array must be writable."""
    tensor = await stream.to_device(np.arange(4.0))
    with pytest.raises(InvalidArgument, match=r"\(4,\)"):
        stream.to_host(tensor, out=out)
    sealed = np.zeros(4)
    sealed.flags.writeable = False
    with pytest.raises(InvalidArgument, match="read-only"):
        stream.to_host(tensor, out=sealed)


async def test_what_is_no_tensor_is_refused(stream: Stream) -> None:
    """Host data and completions without a tensor are named."""
    with pytest.raises(InvalidArgument, match="to_device"):
        stream.to_host(np.zeros(3))  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="makes no tensors"):
        stream.to_host(stream.call(int))


async def test_copies_between_tensors_and_buffers(device: Device, stream: Stream) -> None:
    """All combinations; the result is the target."""
    a = await stream.to_device(np.arange(8, dtype=np.uint8))
    b = aacl.empty((8,), np.uint8, device=device)
    buffer = device.allocate(8)
    assert await stream.copy(buffer, a) is buffer
    assert await stream.copy(b, buffer, 8) is b
    await stream.fill(b, 0)
    await stream.copy(b, a, 3)

    assert bytes(buffer) == bytes(range(8))
    assert (await stream.to_host(b)).tolist() == [0, 1, 2, 0, 0, 0, 0, 0]


async def test_a_completion_is_a_source(device: Device, stream: Stream) -> None:
    """It serves as a source, and as a target, wherever its output would."""
    a = await stream.to_device(np.arange(4.0))
    target = aacl.empty((4,), np.float64, device=device)
    with Hold(stream):
        total = stream.execute(ops.Add(a, a))
        stream.copy(target, total)  # type: ignore[arg-type]
        stream.fill(total, 0)  # type: ignore[arg-type]
        host = stream.to_host(total)
    assert (await host).tolist() == [0, 0, 0, 0]
    assert (await stream.to_host(target)).tolist() == [0, 2, 4, 6]


async def test_copies_between_devices(device: Device, stream: Stream) -> None:
    """Either device's stream does it."""
    async with Device(1) as second, Stream(second) as there:
        a = await stream.to_device(np.arange(4.0))
        b = aacl.empty((4,), np.float64, device=second)
        c = aacl.empty((4,), np.float64, device=device)
        await stream.copy(b, a)
        await there.copy(c, b)

        assert (await stream.to_host(c)).tolist() == [0, 1, 2, 3]
        assert (a.device_index, b.device_index) == (0, 1)


@pytest.mark.parametrize("nbytes", [33, -1, 1 << 64])
async def test_copies_that_reach_outside_are_refused(device: Device, stream: Stream, nbytes: int) -> None:
    """More bytes than the shorter side has, or a negative number: nothing is submitted."""
    a, b = await stream.to_device(np.arange(4.0)), aacl.empty((8,), np.float64, device=device)
    for target, source in ((a, b), (b, a)):
        with pytest.raises(InvalidArgument):
            stream.copy(target, source, nbytes)
    with pytest.raises(InvalidMemoryRange):
        stream.copy(a, b)


async def test_sizes_and_values_may_be_numpy_integers(device: Device, stream: Stream) -> None:
    """As anywhere."""
    a, b = await stream.to_device(np.arange(4, dtype=np.uint8)), aacl.empty((4,), np.uint8, device=device)
    await stream.fill(b, np.int64(9))  # type: ignore[arg-type]
    await stream.copy(b, a, np.int64(2))  # type: ignore[arg-type]

    assert (await stream.to_host(b)).tolist() == [0, 1, 9, 9]


async def test_fill_takes_the_low_byte(stream: Stream) -> None:
    """As memset does."""
    a = await stream.to_device(np.zeros(2, np.uint8))
    await stream.fill(a, 0x1FE)

    assert (await stream.to_host(a)).tolist() == [254, 254]


async def test_freed_memory_is_refused(device: Device, stream: Stream) -> None:
    """Each kind of transfer says which side was freed."""
    a, b = await stream.to_device(np.arange(4.0)), aacl.empty((4,), np.float64, device=device)
    a.free()
    for submit in (
        lambda: stream.copy(a, b),
        lambda: stream.copy(b, a),
        lambda: stream.fill(a, 0),
        lambda: stream.to_host(a),
        lambda: stream.execute(ops.Add(a, b)),
        lambda: stream.execute(ops.Neg(b, out=a)),
    ):
        with pytest.raises(ClosedResource, match="freed"):
            submit()


@pytest.mark.parametrize(
    ("kind", "end"),
    [
        *itertools.product(["copy", "to_host", "fill", "operation", "output"], ["free", "forget"]),
        ("copy_memory", "free"),  # an address alone keeps nothing that is forgotten
    ],
)
async def test_queued_work_keeps_its_memory(device: Device, stream: Stream, kind: str, end: str) -> None:
    """A block given up, or forgotten, while a queued command uses it is not handed out before the command is over."""
    source, target = device.allocate(64), device.allocate(64)
    source.view((64,), np.uint8)[:] = 5
    tensor = aacl.Tensor(aacl.TensorDesc.of(np.uint8, (64,)), source)
    address = source.address
    result: Any = None
    with Hold(stream):
        if kind == "copy":
            stream.copy(target, source)
        elif kind == "copy_memory":
            stream.copy_memory(target.address, source.address, 64)
        elif kind == "to_host":
            result = stream.to_host(tensor)
        elif kind == "fill":
            stream.fill(source, 6)
        elif kind == "operation":
            result = stream.execute(ops.Add(tensor, tensor))
        else:
            stream.execute(ops.Add(tensor, tensor, out=tensor))
        if end == "free":
            source.free()
        del source, tensor
        intruders = [device.allocate(64) for _ in range(4)]
        assert address not in [intruder.address for intruder in intruders]
        for intruder in intruders:
            intruder.view((64,), np.uint8)[:] = 9
    await stream.synchronize()
    if kind in ("copy", "copy_memory"):
        assert bytes(target) == b"\5" * 64
    elif kind == "to_host":
        assert set((await result).tolist()) == {5}
    elif kind == "operation":
        assert set((await stream.to_host(await result)).tolist()) == {10}
    assert all(bytes(intruder) == b"\t" * 64 for intruder in intruders)
    del result
    again = [device.allocate(64) for _ in range(6)]

    assert address in [each.address for each in again]
    assert device.memory().pinned == 0


async def test_memory_is_held_by_every_stream_that_is_busy(device: Device, stream: Stream, other: Stream) -> None:
    """A block that is freed goes back when all streams with work under way have come past it, and shows as pinned."""
    buffer = device.allocate(64)
    address = buffer.address
    with Hold(stream) as first, Hold(other) as second:
        stream.fill(buffer, 1)
        other.fill(buffer, 2)
        buffer.free()
        assert device.memory().pinned == buffer.reserved_nbytes
        first.release()
        await stream.synchronize()
        kept = [device.allocate(64) for _ in range(3)]
        assert address not in [each.address for each in kept]
        second.release()
        await other.synchronize()
    assert device.memory().pinned == 0
    assert address in [device.allocate(64).address, *[device.allocate(64).address for _ in range(3)]]


async def test_a_parked_stream_holds_memory(device: Device, stream: Stream, other: Stream) -> None:
    """Work behind a wait for an event is under way too; dropping it lets the memory go."""
    buffer = device.allocate(64)
    with Hold(stream):
        other.wait_event(stream.record_event())
        other.fill(buffer, 2)
        buffer.free()
        assert device.memory().pinned == buffer.reserved_nbytes
        await other.abort()
        await other.synchronize()
    await stream.synchronize()
    assert device.memory().pinned == 0


async def test_copies_by_address(device: Device, stream: Stream) -> None:
    """copy_memory checks both addresses at submission, and copies in its place in the queue."""
    array = np.arange(8, dtype=np.uint8)
    back = np.zeros(8, np.uint8)
    buffer = device.allocate(8)
    with Hold(stream):
        stream.copy_memory(buffer.address, array.ctypes.data, 8)
        stream.copy_memory(back.ctypes.data, buffer.address + 4, 4)
        assert not back.any()
    await stream.synchronize()

    assert back.tolist() == [4, 5, 6, 7, 0, 0, 0, 0]
    for target, source, nbytes in (
        (buffer.address, 8, 8),
        (8, buffer.address, 8),
        (buffer.address, array.ctypes.data, buffer.reserved_nbytes + 1),
        (buffer.address + (1 << 30), array.ctypes.data, 1),
    ):
        with pytest.raises(InvalidMemoryRange):
            stream.copy_memory(target, source, nbytes)
    with pytest.raises(InvalidArgument):
        stream.copy_memory(buffer.address, buffer.address, -1)


async def test_host_memory_as_a_buffer(device: Device, stream: Stream) -> None:
    """A buffer on host memory is a source and a target of stream copies."""
    array = np.arange(8, dtype=np.uint8)
    host, buffer = host_memory(array.ctypes.data, 8), device.allocate(8)
    await stream.copy(buffer, host)
    await stream.fill(host, 3)

    assert bytes(buffer) == bytes(range(8))
    assert array.tolist() == [3] * 8


@given(st.lists(st.integers(0, 255), min_size=1, max_size=300), st.data())
@settings(max_examples=40, deadline=None)
def test_any_part_of_any_buffer(content: list[int], data: st.DataObject) -> None:
    """Copying a prefix changes exactly that prefix."""
    count = data.draw(st.integers(0, len(content)))
    with aacl.blocking.Device(0) as device, aacl.blocking.Stream(device) as stream:
        source = stream.to_device(np.array(content, np.uint8))
        target = stream.to_device(np.zeros(len(content), np.uint8))
        stream.copy(target, source, count)
        result = stream.to_host(target).tolist()

    assert result == content[:count] + [0] * (len(content) - count)


async def test_large_copies_run_on_workers(stream: Stream) -> None:
    """Copies of megabytes do not run on the loop's thread; their results are right."""
    array = np.arange(4 << 20, dtype=np.int32)
    tensor = await stream.to_device(array, copy=False)
    completion = stream.to_host(tensor)
    assert not completion.done()
    result = await completion

    assert (result == array).all()


async def test_a_work_that_was_dropped_lets_its_memory_go(device: Device, stream: Stream) -> None:
    """After abort() nothing of the dropped commands is held."""
    used = device.memory().used
    started = threading.Event()
    with Hold(stream):
        stream.execute(PythonWork(started.wait))
        for _ in range(10):
            stream.to_device(np.ones(100), copy=False)
        assert device.memory().used > used
        assert await stream.abort() == 11
    await stream.synchronize()
    await asyncio.sleep(0)

    assert device.memory().used == used
