"""Copies, fills and reads by address: whatever the address, an answer or a typed error."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import aacl
from aacl import Device, HostBuffer, InvalidArgument, InvalidMemoryRange
from aacl.memory import ALIGN32, copy, fill, is_device_address, keep_alive, read_bytes
from tests.helpers import run_python


@pytest.fixture
def device() -> Iterator[Device]:
    """An open device."""
    with aacl.blocking.Device(0) as opened:
        yield opened


def _host() -> tuple[np.ndarray[Any, np.dtype[np.uint8]], int]:
    array = np.arange(200, dtype=np.uint8)
    return array, array.ctypes.data


def test_copies_between_host_and_device(device: Device) -> None:
    """Host to device, on the device, to another device, back to the host, and between host arrays."""
    _array, host = _host()
    back = np.zeros(200, np.uint8)
    with aacl.blocking.Device(1) as other:
        first, second, third = device.allocate(200), device.allocate(200), other.allocate(200)
        copy(first.address, host, 200)
        copy(second.address, first.address, 200)
        copy(third.address, second.address, 200)
        copy(back.ctypes.data + 100, third.address, 100)
        copy(back.ctypes.data, back.ctypes.data + 100, 100)

    assert back.tolist() == [*range(100), *range(100)]


def test_pointers_into_a_block(device: Device) -> None:
    """Pointer arithmetic works: any span inside the reserved bytes will do."""
    _, host = _host()
    buffer = device.allocate(100)  # 160 reserved
    fill(buffer.address, 0, 160)
    copy(buffer.address + 90, host, 70)

    assert read_bytes(buffer.address + 159, 1) == bytes([69])
    assert read_bytes(buffer.address + 89, 2) == bytes([0, 0])


def test_overlapping_spans_copy_as_memmove(device: Device) -> None:
    """Bytes are moved as if through a third place."""
    buffer = device.allocate(100)
    buffer.view((100,), np.uint8)[:] = np.arange(100)
    copy(buffer.address + 1, buffer.address, 99)

    assert bytes(buffer) == bytes([0, *range(99)])


def _spans(device: Device) -> list[tuple[int, int]]:
    """Return spans that reach outside: before, behind, across two blocks, in freed and in never used memory."""
    first, freed, second = (device.allocate(64, ALIGN32) for _ in range(3))
    freed.free()
    spans = [
        (first.address, 65),
        (first.address - 1, 2),
        (first.address + 64, 1),
        (first.address, second.address - first.address + 1),
        (freed.address, 1),
        (freed.address + 63, 1),
        (second.address + (1 << 30), 1),
        (second.address, 1 << 40),
        (second.address, 1 << 64),
    ]
    _kept[:] = [first, second]
    return spans


_kept: list[object] = []


@pytest.mark.parametrize("index", range(9))
def test_nothing_outside_an_allocation(device: Device, index: int) -> None:
    """Reading, filling, copying from and to a span that is not within one live block is refused, and does nothing."""
    address, nbytes = _spans(device)[index]
    array, host = _host()
    before = array.copy()
    other = device.allocate(256)
    for act in (
        lambda: read_bytes(address, nbytes),
        lambda: fill(address, 1, nbytes),
        lambda: copy(host, address, nbytes),
        lambda: copy(address, host, nbytes),
        lambda: copy(other.address, address, nbytes),
        lambda: copy(address, other.address, nbytes),
    ):
        with pytest.raises(InvalidMemoryRange):
            act()

    assert (array == before).all()


def test_the_error_says_what_is_wrong(device: Device) -> None:
    """The text tells how many bytes are left, or that there is no allocation."""
    buffer = device.allocate(100)
    with pytest.raises(InvalidMemoryRange, match="only 60 bytes are left"):
        read_bytes(buffer.address + 100, 61)
    buffer.free()
    with pytest.raises(InvalidMemoryRange, match="no allocation there"):
        read_bytes(buffer.address, 1)


UNMAPPED = [0, 8, 4095, -8, 1 << 47, (1 << 63) - 4096, 1 << 63, (1 << 64) - 8, 1 << 70]


@pytest.mark.parametrize("address", UNMAPPED)
def test_host_addresses_that_are_not_mapped(device: Device, address: int) -> None:
    """Null, small, negative, huge: an error in every direction, and no crash."""
    _, host = _host()
    buffer = device.allocate(64)
    for act in (
        lambda: read_bytes(address, 8),
        lambda: fill(address, 1, 8),
        lambda: copy(buffer.address, address, 8),
        lambda: copy(address, buffer.address, 8),
        lambda: copy(host, address, 8),
        lambda: copy(address, host, 8),
    ):
        with pytest.raises(InvalidMemoryRange):
            act()


def test_host_memory_that_ends_early_read_only_or_sealed() -> None:
    """A page behind the last one, a read-only page and a page without rights are codes, not crashes."""
    done = run_python(
        """
        import ctypes, mmap
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
        libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        page = mmap.PAGESIZE
        base = libc.mmap(None, 4 * page, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        ctypes.memset(base, 7, 4 * page)
        assert libc.mprotect(base + page, page, 1) == 0  # read only
        assert libc.mprotect(base + 2 * page, page, 0) == 0  # no rights
        assert libc.munmap(base + 3 * page, page) == 0
        refused = []

        def refuse(name, act):
            try:
                act()
            except aacl.InvalidMemoryRange as error:
                assert "mapped" in str(error), error
                refused.append(name)

        with blocking.Device(0) as device:
            buffer = device.allocate(2 * page)
            address = buffer.address
            assert memory.read_bytes(base, 2 * page) == bytes([7]) * 2 * page
            memory.copy(address, base + page, page)
            refuse("read no rights", lambda: memory.read_bytes(base + 2 * page, 1))
            refuse("read beyond", lambda: memory.read_bytes(base + 3 * page, 1))
            refuse("read into", lambda: memory.copy(address, base + page, page + 1))
            refuse("write read only", lambda: memory.copy(base + page, address, 1))
            refuse("write into read only", lambda: memory.copy(base, address, page + 1))
            refuse("fill read only", lambda: memory.fill(base + page, 1, 8))
            refuse("fill into read only", lambda: memory.fill(base + page - 4, 1, 8))
            refuse("host to read only", lambda: memory.copy(base + page, base, 8))
            refuse("host from no rights", lambda: memory.copy(base, base + 2 * page, 8))
        print(refused)
        """
    )

    assert done.status == 0, done.errors
    assert done.output.count("'") == 2 * 9, done.output


@pytest.mark.parametrize("place", ["device", "host"])
@pytest.mark.parametrize("act", ["fill(where, 1, -1)", "read_bytes(where, -1)", "copy(where, where, -1)"])
def test_negative_sizes_mean_nothing(place: str, act: str) -> None:
    """A size below zero is an invalid argument in every call, whatever the address; the process lives on."""
    done = run_python(
        f"""
        array = np.zeros(64, np.uint8)
        with blocking.Device(0) as device:
            buffer = device.allocate(64)
            where = buffer.address if "{place}" == "device" else array.ctypes.data
            try:
                print("returned", memory.{act})
            except aacl.InvalidArgument as error:
                print("refused")
        """
    )

    assert (done.status, done.output) == (0, "refused"), done


def test_zero_bytes_are_nothing(device: Device) -> None:
    """Copying, filling or reading no bytes succeeds, as memcpy of 0 does."""
    buffer = device.allocate(64)
    array, host = _host()
    copy(buffer.address, host, 0)
    copy(host, buffer.address, 0)
    fill(buffer.address, 1, 0)

    assert read_bytes(buffer.address, 0) == read_bytes(host, 0) == b""
    assert array.tolist() == list(range(200))


@pytest.mark.parametrize("number", [np.int64, np.uint64])
def test_addresses_of_other_integer_types(device: Device, number: Callable[[int], Any]) -> None:
    """NumPy integers are addresses and sizes."""
    array, host = _host()
    buffer = device.allocate(64)
    copy(number(buffer.address), number(host + 1), number(8))
    copy(number(host + 100), number(buffer.address), number(8))
    copy(number(host + 120), number(host), number(8))
    fill(number(buffer.address), number(3), number(4))
    fill(number(host), number(5), number(4))

    assert read_bytes(number(buffer.address), number(8)) == bytes([3, 3, 3, 3, 5, 6, 7, 8])
    assert read_bytes(number(host + 100), number(8)) == bytes(range(1, 9))
    assert array[:4].tolist() == [5] * 4
    assert is_device_address(number(buffer.address))


@pytest.mark.parametrize("wrong", [None, "7", 1.5, b"x", ctypes.c_void_p(8)], ids=str)
def test_what_is_no_address_is_an_invalid_argument(device: Device, wrong: Any) -> None:
    """Each place of each call takes integers only, and says so."""
    buffer = device.allocate(64)
    good = buffer.address
    for act in (
        lambda: copy(wrong, good, 1),
        lambda: copy(good, wrong, 1),
        lambda: copy(good, good, wrong),
        lambda: fill(wrong, 0, 1),
        lambda: fill(good, 0, wrong),
        lambda: read_bytes(wrong, 1),
        lambda: read_bytes(good, wrong),
    ):
        with pytest.raises(InvalidArgument):
            act()


def test_fill_takes_the_low_byte(device: Device) -> None:
    """As memset does."""
    buffer = device.allocate(4)
    fill(buffer.address, 0x1FF, 2)
    fill(buffer.address + 2, -2, 2)

    assert bytes(buffer) == bytes([255, 255, 254, 254])


def test_pinned_host_memory_is_copied_without_a_look() -> None:
    """A host buffer is a good source and target, also from its middle and across its end it is checked."""
    with aacl.blocking.Device(0) as device:
        buffer, host = device.allocate(4096), HostBuffer(4096)
        host.array[:] = 9
        copy(buffer.address, host.address, 4096)
        host.array[:] = 0
        copy(host.address + 100, buffer.address, 100)

        assert host.array[100:200].tolist() == [9] * 100
        assert host.array.sum() == 900


def test_kept_owners_live_on(device: Device) -> None:
    """The address of a temporary stays good while its owner is kept; the newest are kept, the oldest let go."""
    address = 0
    for value in range(300):
        array = np.full(1 << 21, value % 256, np.uint8)
        address = array.ctypes.data
        keep_alive(address, array.nbytes, array)
        del array
    buffer = device.allocate(16)
    copy(buffer.address, address, 16)

    assert bytes(buffer) == bytes([299 % 256]) * 16


def test_device_addresses_are_told_from_host_ones(device: Device) -> None:
    """Inside the range of an open device; after it is closed, no more."""
    _array, host = _host()
    buffer = device.allocate(1)
    info = device.memory()

    assert is_device_address(buffer.address)
    assert not is_device_address(host)
    assert not is_device_address(0)
    with aacl.blocking.Device(1) as other:
        address = other.allocate(1).address
        assert is_device_address(address)
    assert not is_device_address(address)
    assert info.total == 8 << 30


def test_memory_of_a_closed_device_is_unknown() -> None:
    """Once nothing of a closed device is left, its addresses are refused like any that are not mapped."""
    done = run_python(
        """
        import gc
        with blocking.Device(0) as device:
            address = device.allocate(100).address
        del device
        gc.collect()
        for act in (lambda: memory.read_bytes(address, 8), lambda: memory.fill(address, 1, 8)):
            try:
                act()
            except aacl.InvalidMemoryRange:
                print("refused")
        """
    )

    assert (done.status, done.output) == (0, "refused\nrefused"), done
