"""What addresses are."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

import acl
from tests.compat._programs import good, in_thread, ok, untyped

HOST, DEVICE, UNREGISTERED = 0, 1, 2


def location(pointer: int) -> tuple[int, int]:
    """Return the device and the kind of memory that an address is told to be."""
    found = good(acl.rt.pointer_get_attributes(pointer))
    assert found.keys() == {"location", "pageSize", "rsv"}
    return found["location"]["id"], found["location"]["type"]


def test_memory_of_each_device(device: int) -> None:
    """An address in an allocation tells its device, whichever is current; huge allocations have huge pages."""
    small = good(acl.rt.malloc(64, 0))
    ok(acl.rt.set_device(1))
    large = good(acl.rt.malloc(4 << 20, 0))

    assert location(small + 63) == (0, DEVICE)
    assert location(large + 5) == (1, DEVICE)
    pages = [good(acl.rt.pointer_get_attributes(pointer))["pageSize"] for pointer in (small, large)]
    assert pages == [4096, 2 << 20]
    ok(acl.rt.reset_device(1))


def test_memory_of_the_host(device: int) -> None:
    """malloc_host and registered memory is the host's, other memory not registered, mapped or not."""
    host, array = good(acl.rt.malloc_host(64)), np.zeros(8)
    memory = mmap.mmap(-1, 4096)
    pages = np.frombuffer(memory, np.uint8)

    assert location(host + 8) == (0, HOST)
    assert location(array.ctypes.data) == location(8) == (0, UNREGISTERED)
    assert location(pages.ctypes.data) == (0, UNREGISTERED)
    good(acl.rt.host_register(pages.ctypes.data, 4096, 0))
    assert location(pages.ctypes.data + 9) == (0, HOST)
    ok(acl.rt.host_unregister(pages.ctypes.data))
    ok(acl.rt.free_host(host))


def test_addresses_of_nothing(device: int) -> None:
    """Null is 100000, what was freed 107000, no context 107002, and what is no number a TypeError."""
    pointer = good(acl.rt.malloc(64, 0))
    ok(acl.rt.free(pointer))

    assert acl.rt.pointer_get_attributes(0) == ({}, 100000)
    assert acl.rt.pointer_get_attributes(pointer) == ({}, 107000)
    assert in_thread(lambda: acl.rt.pointer_get_attributes(64)) == ({}, 107002)
    with pytest.raises(TypeError):
        untyped.rt.pointer_get_attributes(None)
