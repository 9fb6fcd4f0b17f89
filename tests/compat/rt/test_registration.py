"""Host memory that is registered."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import acl
from tests.compat._programs import good, ok

MAPPED, PINNED = 0x2, 0x10000000


@pytest.fixture
def pages(device: int) -> Iterator[int]:
    """The address of three pages of host memory, aligned as the system aligns them."""
    memory = mmap.mmap(-1, 3 * 4096)
    array = np.frombuffer(memory, np.uint8)
    yield array.ctypes.data
    del array
    memory.close()


def test_registering_host_memory(device: int) -> None:
    """Registered host memory has the same address for the device; registering twice, or unaligned, is refused."""
    array = np.zeros(3 * 4096, np.uint8)
    address = -(-array.ctypes.data // 4096) * 4096

    assert acl.rt.host_register(address, 4096, 0) == (address, 0)
    assert acl.rt.host_register(address, 4096, 0) == (0, 100000)
    assert acl.rt.host_register(address + 8, 64, 0) == (0, 107008)
    assert acl.rt.host_register(address + 4096, 4096, 9) == (0, 200001)
    assert acl.rt.host_register(4096, 4096, 0) == (0, 107000)
    assert (acl.rt.host_unregister(address), acl.rt.host_unregister(address)) == (0, 100000)
    assert acl.rt.host_register(0, 4096, 0) == (0, 100000)


def test_what_overlaps_is_refused(pages: int) -> None:
    """Memory that overlaps registered memory is 100000; beside it, or after its end, it can be registered."""
    ok(acl.rt.host_register_v2(pages, 8192, MAPPED))

    assert acl.rt.host_register(pages + 4096, 4096, 0) == (0, 100000)
    assert "host_unregister" in (acl.get_recent_err_msg() or "")
    assert acl.rt.host_register(pages + 8192, 4096, 0) == (pages + 8192, 0)
    assert acl.rt.host_unregister(pages + 4096) == 100000
    ok(acl.rt.host_unregister(pages))
    assert acl.rt.host_register(pages + 4096, 4096, 0) == (pages + 4096, 0)
    ok(acl.rt.host_unregister(pages + 4096))
    ok(acl.rt.host_unregister(pages + 8192))


@pytest.mark.parametrize("flags", [MAPPED, PINNED, MAPPED | PINNED])
def test_flags_of_the_second_version(pages: int, flags: int) -> None:
    """Mapped memory has an address for the device, the same one, at any place in it; pinned memory has none."""
    ok(acl.rt.host_register_v2(pages, 4096, flags))

    expected = (pages + 8, 0) if flags & MAPPED else (0, 107000)
    assert acl.rt.host_get_device_pointer(pages + 8, 0) == expected
    assert acl.rt.host_get_device_pointer(pages + 4096, 0) == (0, 107000)
    ok(acl.rt.host_unregister(pages))
    assert acl.rt.host_get_device_pointer(pages, 0) == (0, 107000)


def test_arguments_that_are_refused(pages: int) -> None:
    """Null and no bytes are 100000, other flags 107000, other alignment 107008 where memory is to be mapped."""
    assert acl.rt.host_register_v2(0, 4096, MAPPED) == acl.rt.host_register_v2(pages, 0, MAPPED) == 100000
    assert acl.rt.host_register_v2(pages, 4096, 0) == acl.rt.host_register_v2(pages, 4096, 1) == 107000
    assert acl.rt.host_register_v2(pages + 8, 64, MAPPED) == 107008
    assert acl.rt.host_register_v2(4096, 4096, MAPPED) == 107000
    assert acl.rt.host_register_v2(good(acl.rt.malloc(4096, 0)), 64, PINNED) == 100000
    assert acl.rt.host_get_device_pointer(0, 0) == (0, 100000)
    assert acl.rt.host_get_device_pointer(pages, 1) == (0, 107000)
    ok(acl.rt.host_register_v2(pages + 8, 64, PINNED))
    ok(acl.rt.host_unregister(pages + 8))


def test_memory_of_malloc_host_needs_no_registration(device: int) -> None:
    """Its address for the device is its own."""
    host = good(acl.rt.malloc_host(100))

    assert acl.rt.host_get_device_pointer(host + 5, 0) == (host + 5, 0)


def test_registrations_end_with_the_runtime(pages: int) -> None:
    """Finalize forgets what was registered."""
    ok(acl.rt.host_register_v2(pages, 4096, MAPPED))
    ok(acl.finalize())
    ok(acl.init())
    ok(acl.rt.set_device(0))

    assert acl.rt.host_unregister(pages) == 100000


def test_threads_that_register_the_same_memory(pages: int, nervous: None) -> None:
    """One of them gets it, the others 100000, whoever comes first."""
    for _ in range(20):
        with ThreadPoolExecutor(4) as pool:
            codes = [*pool.map(lambda place: _registered_in_thread(pages + place), (0, 8, 16, 24))]

        assert sorted(codes) == [0, 100000, 100000, 100000]
        ok(acl.rt.host_unregister(pages + 8 * codes.index(0)))


def _registered_in_thread(address: int) -> int:
    """Register some memory in a thread that uses the device."""
    ok(acl.rt.set_device(0))
    code: int = acl.rt.host_register_v2(address, 4096, PINNED)
    ok(acl.rt.reset_device(0))
    return code
