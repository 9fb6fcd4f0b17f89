"""Buffers: spans of device memory, what keeps them in place, and what they refuse."""

from __future__ import annotations

import gc
import pickle
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import aacl
from aacl import Buffer, ClosedResource, Device, HostBuffer, InvalidArgument, InvalidMemoryRange, OutOfMemory
from aacl.memory import host_memory, read_bytes
from tests.helpers import interrupted_everywhere

Array = np.ndarray[Any, np.dtype[Any]]


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    """A device of 1 MiB."""
    monkeypatch.setenv("AACL_DEVICE_MEMORY", "1M")
    with aacl.blocking.Device(0) as opened:
        yield opened


def test_contents_are_real_memory(device: Device) -> None:
    """The address is a true one: what a view writes is what lies there, and what bytes() gives."""
    buffer = device.allocate(100)
    buffer.view((100,), np.uint8)[:] = np.arange(100)

    assert bytes(buffer) == bytes(range(100)) == read_bytes(buffer.address, 100)
    assert buffer.view((100,), np.uint8).ctypes.data == buffer.address


def test_views_are_typed_and_placed(device: Device) -> None:
    """A view has the shape, dtype and offset asked for, is writable and C-contiguous, and shares the bytes."""
    buffer = device.allocate(96)
    buffer.view((96,), np.uint8)[:] = 0
    buffer.view((2, 3), aacl.DataType.FLOAT, 8)[:] = [[1, 2, 3], [4, 5, 6]]
    view = buffer.view((6,), "float32", offset=8)

    assert view.tolist() == [1, 2, 3, 4, 5, 6]
    assert view.flags.writeable
    assert view.flags.c_contiguous
    assert bytes(buffer)[:8] == bytes(8)


@pytest.mark.parametrize(
    ("shape", "dtype", "offset"),
    [
        ((65,), np.uint8, 0),
        ((64,), np.uint8, 1),
        ((17,), np.float32, 0),
        ((1,), np.uint8, -1),
        ((1 << 62, 8), np.uint8, 0),
        ((-1,), np.uint8, 0),
        ((-2, -3), np.uint8, 0),
        ((1 << 70,), np.uint8, 0),
    ],
)
def test_views_that_do_not_fit_are_refused(device: Device, shape: tuple[int, ...], dtype: Any, offset: int) -> None:
    """Nothing reaches beyond the reserved bytes, and no dim is negative."""
    buffer = device.allocate(32)

    with pytest.raises(InvalidArgument):
        buffer.view(shape, dtype, offset)


@pytest.mark.parametrize("nbytes", [0, -1, 7.5, "7", None])
def test_sizes_that_mean_nothing_are_refused(device: Device, nbytes: Any) -> None:
    """An allocation has at least one byte, and a whole number of them; nothing is taken otherwise."""
    with pytest.raises(InvalidArgument):
        device.allocate(nbytes)

    assert device.memory().used == 0


def test_numpy_integers_are_sizes(device: Device) -> None:
    """A size may come from NumPy; it is an int afterwards."""
    buffer = device.allocate(np.int64(100))  # type: ignore[arg-type]

    assert type(buffer.nbytes) is type(buffer.address) is int
    assert buffer.nbytes == 100


def test_buffers_are_not_made_by_hand() -> None:
    """The constructor names the call that makes one."""
    with pytest.raises(TypeError, match="allocate"):
        Buffer()


def test_freed_means_freed(device: Device) -> None:
    """After free() nothing works on a buffer, a second free() included, and its repr says why."""
    buffer = device.allocate(100)
    buffer.free()

    assert buffer.freed
    assert "freed" in repr(buffer)
    for use in (buffer.free, lambda: buffer.view((1,), np.uint8), lambda: bytes(buffer)):
        with pytest.raises(ClosedResource, match="freed"):
            use()


def test_memory_is_used_again(device: Device) -> None:
    """A freed block serves the next allocation of its size."""
    first = device.allocate(1000)
    first.free()

    assert device.allocate(1000).address == first.address


def test_forgotten_buffers_go_back(device: Device) -> None:
    """Dropping the last reference is as good as free(), with no help of the cyclic collector."""
    gc.disable()
    try:
        for _ in range(10):
            device.allocate(900_000)
    finally:
        gc.enable()

    assert device.memory().used == 0


def test_the_device_accounts_for_every_byte(device: Device) -> None:
    """free, used, total, peak and the count of allocations agree with what was allocated."""
    assert device.memory() == (1 << 20, 1 << 20, 0, 0, 0, 0)
    buffers = [device.allocate(100) for _ in range(3)]
    buffers.pop().free()
    info = device.memory()

    assert info.used == 2 * 160
    assert info.free == (1 << 20) - 320
    assert info.peak == 3 * 160
    assert (info.total, info.allocations, info.pinned) == (1 << 20, 2, 0)


def test_running_out_says_what_is_left_and_who_has_the_rest(device: Device) -> None:
    """The error tells used, free, the largest free block and the top owners, and changes nothing."""
    kept = device.allocate(600_000)
    used = device.memory().used
    with pytest.raises(OutOfMemory) as caught:
        device.allocate(600_000)

    text = str(caught.value)
    assert str(kept.reserved_nbytes) in text
    assert str((1 << 20) - kept.reserved_nbytes) in text
    assert "largest free" in text
    assert "malloc" in text
    assert device.memory().used == used
    kept.free()
    device.allocate(600_000)


def test_all_of_a_device_can_be_had(device: Device) -> None:
    """The last byte is there, again and again, whatever sizes came before."""
    small = [device.allocate(1000) for _ in range(900)]
    del small
    for _ in range(2):
        whole = device.allocate((1 << 20) - 64)
        whole.view(((1 << 20) - 64,), np.uint8)[-1] = 7
        whole.free()


def _slice(view: Array) -> object:
    return view[5:]


def _reshape(view: Array) -> object:
    return view.reshape(10, 10).T


def _memory_of(view: Array) -> object:
    return memoryview(view)  # type: ignore[arg-type]


def _from_buffer(view: Array) -> object:
    return np.frombuffer(view, np.uint8)


def _from_dlpack(view: Array) -> object:
    return np.from_dlpack(view)


def _iterator(view: Array) -> object:
    return iter(view)


@pytest.mark.parametrize("derive", [_slice, _reshape, _memory_of, _from_buffer, _from_dlpack, _iterator])
def test_views_pin_the_block(device: Device, derive: Callable[[Array], object]) -> None:
    """As long as anything lives that was made from a view, the block is not handed out, and shows as pinned."""
    buffer = device.allocate(100)
    address, derived = buffer.address, derive(buffer.view((100,), np.uint8))
    buffer.free()
    others = [device.allocate(100) for _ in range(3)]

    assert address not in [other.address for other in others]
    assert device.memory().pinned == 160
    del derived
    assert device.memory().pinned == 0
    assert device.allocate(100).address == address


def test_a_freed_block_that_is_pinned_is_no_allocation(device: Device) -> None:
    """Addresses in it are refused although its bytes are kept."""
    buffer = device.allocate(100)
    view = buffer.view((100,), np.uint8)
    buffer.free()

    with pytest.raises(InvalidMemoryRange, match="freed"):
        read_bytes(buffer.address, 1)
    assert view.size == 100


def test_unpinned_blocks_are_not_shown_as_pinned(device: Device) -> None:
    """free() without any view leaves nothing pinned."""
    buffer = device.allocate(100)
    buffer.free()

    assert device.memory().pinned == 0


def test_views_outlive_the_device() -> None:
    """A view of a closed device reads what was there last."""
    with aacl.blocking.Device(0) as device:
        view = device.allocate(100).view((100,), np.uint8)
        view[:] = 3

    assert view.tolist() == [3] * 100


def test_a_buffer_may_be_freed_after_its_device() -> None:
    """The end of the device comes first in many programs; the rest is harmless."""
    with aacl.blocking.Device(0) as device:
        buffer = device.allocate(100)
    buffer.free()

    assert buffer.freed


def test_devices_lie_apart() -> None:
    """Addresses of two devices never meet."""
    with aacl.blocking.Device(0) as first, aacl.blocking.Device(1) as second:
        low, high = sorted((first.allocate(100).address, second.allocate(100).address))

        assert low + first.memory().total <= high or low + 160 <= high


def test_threads_never_share_a_block(device: Device) -> None:
    """Allocating and freeing on four threads at once gives every block to one of them only."""
    wrong: list[int] = []

    def churn(mark: int) -> None:
        for step in range(400):
            buffer = device.allocate(100 + step % 3 * 100)
            view = buffer.view((100,), np.uint8)
            view[:] = mark
            if (view != mark).any():
                wrong.append(mark)
            del view
            if step % 2:
                buffer.free()

    threads = [threading.Thread(target=churn, args=(mark,)) for mark in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert device.memory().used == 0


def test_an_interrupt_anywhere_loses_no_memory(device: Device) -> None:
    """Ctrl-C at any place of allocating and freeing leaves every byte accounted for."""

    def act(_: object) -> None:
        first = device.allocate(100)
        second = device.allocate(100)
        first.free()
        del second
        device.allocate(5000).free()
        device.allocate(100).free()
        device.memory()

    wrong: dict[str, int] = {}
    lost = 0
    for _, place in interrupted_everywhere(lambda: None, act):
        info = device.memory()
        if info.used + info.pinned != lost:
            wrong[place], lost = info.used - lost, info.used + info.pinned
    whole = device.allocate((1 << 20) - 64)

    assert wrong == {}
    assert whole.nbytes == (1 << 20) - 64


def test_host_memory_in_the_place_of_device_memory() -> None:
    """A buffer on a host array reads and writes that array."""
    array = np.arange(10, dtype=np.uint8)
    buffer = host_memory(array.ctypes.data, 10)
    buffer.view((5,), np.uint8, 5)[:] = 9

    assert bytes(buffer) == bytes([0, 1, 2, 3, 4, 9, 9, 9, 9, 9])
    buffer.free()
    with pytest.raises(ClosedResource):
        buffer.view((1,), np.uint8)


@pytest.mark.parametrize(("address", "nbytes"), [(0, 10), (8, 1), (1 << 63, 10), (-8, 4), (1 << 70, 1)])
def test_host_memory_that_is_not_there_is_refused(address: int, nbytes: int) -> None:
    """Addresses without memory are an error at once."""
    with pytest.raises(InvalidMemoryRange):
        host_memory(address, nbytes)


@pytest.mark.parametrize("nbytes", [1 << 40, 1 << 63, 1 << 64, (1 << 64) + 8])
def test_host_memory_that_ends_too_early_is_refused(nbytes: int) -> None:
    """A length that no array has is not believed, however it would wrap."""
    array = np.zeros(4096, np.uint8)

    with pytest.raises(InvalidMemoryRange):
        host_memory(array.ctypes.data, nbytes)


def test_negative_host_memory_is_refused() -> None:
    """A length below zero means nothing."""
    array = np.zeros(16, np.uint8)

    with pytest.raises(InvalidArgument):
        host_memory(array.ctypes.data, -1)


@pytest.mark.parametrize("nbytes", [1, 63, 64, 4097])
def test_host_buffers_are_aligned(nbytes: int) -> None:
    """The address is a multiple of 64 and is that of the array."""
    buffer = HostBuffer(nbytes)
    buffer.array[:] = 5

    assert buffer.address % 64 == 0
    assert buffer.array.ctypes.data == buffer.address
    assert (buffer.array.nbytes, buffer.nbytes) == (nbytes, nbytes)
    assert read_bytes(buffer.address, nbytes) == b"\5" * nbytes


@pytest.mark.parametrize("nbytes", [0, -1])
def test_empty_host_buffers_are_refused(nbytes: int) -> None:
    """A host buffer has at least one byte."""
    with pytest.raises(InvalidArgument):
        HostBuffer(nbytes)


def test_buffers_cannot_be_copied_to_other_processes(device: Device) -> None:
    """Pickling a span of memory would be a second owner: it fails."""
    with pytest.raises(TypeError):
        pickle.dumps(device.allocate(1))
