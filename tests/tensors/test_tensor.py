"""Tensors: a description on device memory, seen by NumPy, DLPack and buffers without a copy."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import aacl
from aacl import (
    ClosedResource,
    DataType,
    Device,
    Format,
    InvalidArgument,
    OutOfMemory,
    Tensor,
    TensorDesc,
    WouldBlock,
    ops,
)
from aacl.memory import host_memory, read_bytes
from aacl.memory._buffer import wrap
from tests.helpers import Hold


@pytest.fixture
def device() -> Iterator[Device]:
    """An open device."""
    with aacl.blocking.Device(0) as opened:
        yield opened


def _tensor(device: Device, shape: tuple[int, ...] = (2, 3), dtype: Any = np.float32) -> Tensor:
    tensor = aacl.empty(shape, dtype, device=device)
    tensor.view()[...] = np.arange(tensor.desc.element_count).reshape(shape)
    return tensor


def test_the_parts_of_a_tensor(device: Device) -> None:
    """Shape, dtype, format, size and place."""
    tensor = aacl.empty((2, 3), "int16", Format.NCHW)

    assert (tensor.shape, tensor.dtype, tensor.format, tensor.ndim) == ((2, 3), DataType.INT16, Format.NCHW, 2)
    assert (tensor.nbytes, len(tensor), tensor.device_index) == (12, 2, 0)
    assert tensor.desc is TensorDesc.of("int16", (2, 3), Format.NCHW)
    assert tensor.address == tensor.buffer.address
    assert repr(tensor) == "<Tensor INT16 [2, 3] on device 0>"


def test_threads_that_ask_for_the_buffer_get_the_same_one(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is freed is freed for all."""
    tensor, found, both = aacl.empty((4,), np.uint8), [], threading.Barrier(2)

    def wrapped(*parts: Any) -> Any:
        with suppress(threading.BrokenBarrierError):
            both.wait(0.2)  # the other thread comes so far only if nothing keeps it
        return wrap(*parts)

    monkeypatch.setattr("aacl.tensors._tensor.wrap", wrapped)
    threads = [threading.Thread(target=lambda: found.append(tensor.buffer)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found[0] is found[1] is tensor.buffer


def test_the_view_is_the_memory(device: Device) -> None:
    """Writes through the view are seen at the address."""
    tensor = _tensor(device, (4,), np.uint8)

    assert read_bytes(tensor.address, 4) == bytes([0, 1, 2, 3])
    assert tensor.view().ctypes.data == tensor.address


@pytest.mark.parametrize(
    "see",
    [np.asarray, np.from_dlpack, lambda tensor: np.array(tensor, copy=None), lambda tensor: tensor.__array__()],
    ids=["asarray", "dlpack", "array", "__array__"],
)
def test_numpy_sees_it_in_place(device: Device, see: Callable[[Tensor], Any]) -> None:
    """No copy is made, and the memory lives as long as the array."""
    tensor = _tensor(device)
    array, address = see(tensor), tensor.address
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert array.ctypes.data == address
    del tensor
    gc.collect()
    others = [aacl.empty((2, 3), np.float32) for _ in range(4)]

    assert address not in [other.address for other in others]
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_numpy_conversions(device: Device) -> None:
    """A dtype or copy=True makes a copy; copy=False with another dtype is refused."""
    tensor = _tensor(device)
    assert np.asarray(tensor, np.float64).dtype == np.float64
    assert np.array(tensor).ctypes.data != tensor.address
    with pytest.raises(ValueError, match="copy"):
        np.asarray(tensor, np.float64, copy=False)


def test_the_dlpack_device_is_the_host(device: Device) -> None:
    """Software device memory is ordinary memory: kDLCPU."""
    assert _tensor(device).__dlpack_device__() == (1, 0)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the buffer protocol reaches Python classes from 3.12 on")
def test_the_buffer_protocol(device: Device) -> None:
    """A memoryview sees the bytes in place."""
    tensor = _tensor(device, (4,), np.uint8)
    memoryview(tensor)[0] = 9

    assert tensor.view()[0] == 9


def test_several_tensors_in_one_buffer(device: Device) -> None:
    """At any offset inside the reserved bytes; what would reach outside is refused."""
    buffer = device.allocate(32)  # 64 reserved
    first, second = Tensor(TensorDesc.of("int32", (4,)), buffer), Tensor(TensorDesc.of("int32", (4,)), buffer, 48)
    first.view()[:] = 1
    second.view()[:] = 2

    assert second.address == buffer.address + 48
    assert (first.buffer, second.buffer) == (buffer, buffer)
    assert first.view().tolist() == [1] * 4
    for offset in (49, -1, 1 << 64):
        with pytest.raises(InvalidArgument):
            Tensor(TensorDesc.of("int32", (4,)), buffer, offset)
    with pytest.raises(InvalidArgument, match="free"):
        Tensor(TensorDesc.of("int32", (-1,)), buffer)


def test_freeing_one_of_several_frees_their_buffer(device: Device) -> None:
    """All tensors of a freed buffer are freed."""
    buffer = device.allocate(32)
    tensors = [Tensor(TensorDesc.of("int32", (4,)), buffer) for _ in range(2)]
    tensors[0].free()
    for tensor in tensors:
        with pytest.raises(ClosedResource, match="freed"):
            tensor.view()
        with pytest.raises(ClosedResource, match="freed"):
            np.asarray(tensor)
        assert "freed" in repr(tensor)
    with pytest.raises(ClosedResource):
        tensors[1].free()
    with pytest.raises(ClosedResource):
        Tensor(TensorDesc.of("int32", (4,)), buffer)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1, 1, 1, 1, 1, 1, 1)])
def test_unusual_shapes(device: Device, shape: tuple[int, ...]) -> None:
    """Scalars, empty tensors and many dims have memory of their own."""
    tensor = aacl.empty(shape, np.float32)
    tensor.view()[...] = 1

    assert tensor.view().shape == shape
    assert tensor.buffer.reserved_nbytes >= 32


@pytest.mark.parametrize("shape", [(-1,), (2, -1), (-2,), ("a",), 5])
def test_shapes_that_mean_nothing(device: Device, shape: Any) -> None:
    """empty() wants every dim, and takes nothing otherwise."""
    used = device.memory().used
    with pytest.raises(InvalidArgument):
        aacl.empty(shape, np.float32)
    assert device.memory().used == used


@pytest.mark.parametrize("dim", [1 << 40, 1 << 62, 1 << 70])
def test_tensors_larger_than_the_device(device: Device, dim: int) -> None:
    """Out of memory, however large."""
    with pytest.raises(OutOfMemory):
        aacl.empty((dim,), np.float32)


def test_what_a_tensor_is_not(device: Device) -> None:
    """Iteration, truth and the length of a scalar are refused with the way to do it."""
    tensor = _tensor(device)
    with pytest.raises(TypeError, match="to_host"):
        iter(tensor)
    with pytest.raises(TypeError, match="host"):
        bool(tensor)
    with pytest.raises(TypeError, match="scalar"):
        len(_tensor(device, ()))


async def test_a_view_waits_for_the_commands_that_write_it() -> None:
    """On a loop's thread it refuses, and names the way; once they are over it is free."""
    async with Device(0) as device, aacl.Stream() as stream:
        a = await stream.to_device(np.ones(4))
        with Hold(stream):
            made = stream.execute(ops.Add(a, a)).output
            with pytest.raises(WouldBlock, match="to_host"):
                made.view()
            with pytest.raises(WouldBlock):
                np.asarray(made)
            assert device.memory().used > 0
        await stream.synchronize()
        assert made.view().tolist() == [2] * 4


def test_a_view_in_a_thread_waits(device: Device) -> None:
    """Without a loop the wait is done."""
    with aacl.blocking.Stream(device) as stream:
        a = stream.to_device(np.ones(4))
        with Hold(stream.stream) as hold:
            made = stream.submit(ops.Add(a, a)).output
            releasing = threading.Thread(target=hold.release)
            releasing.start()
            assert np.asarray(made).tolist() == [2] * 4
        releasing.join()


def test_tensors_on_host_memory(device: Device) -> None:
    """A buffer on host memory makes tensors that operators read and write."""
    array = np.arange(4, dtype=np.float32)
    with aacl.blocking.Stream(device) as stream:
        tensor = Tensor(TensorDesc.of(np.float32, (4,)), host_memory(array.ctypes.data, 16))
        stream.execute(ops.Add(tensor, tensor, out=tensor))

    assert array.tolist() == [0, 2, 4, 6]


def test_forgotten_tensors_go_back(device: Device) -> None:
    """With the last reference, and no help of the collector."""
    gc.collect()
    gc.disable()
    try:
        for _ in range(5):
            aacl.empty((1 << 30,), np.float32)
    finally:
        gc.enable()

    assert device.memory().used == 0
