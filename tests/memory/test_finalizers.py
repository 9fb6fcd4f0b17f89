"""What ends with its last reference, and Ctrl-C at that moment."""

from __future__ import annotations

import operator
from _thread import interrupt_main
from collections import deque
from collections.abc import Callable, Iterator

import pytest

import aacl
from aacl.memory import mapped_buffer
from tests.helpers import interrupted_everywhere

PAGE = 2 << 20


@pytest.fixture
def device() -> Iterator[aacl.Device]:
    """An open device whose memory is all free."""
    device = aacl.blocking.open_resource(aacl.Device(0))
    yield device
    aacl.blocking.close(device)


def physical(device: aacl.Device) -> object:
    """Return memory without an address."""
    return device.allocate_physical(PAGE)


def released(device: aacl.Device) -> object:
    """Return an array of memory that was unmapped, at addresses that were given up."""
    addresses, memory = device.reserve_addresses(PAGE), device.allocate_physical(PAGE)
    array = addresses.map(memory).view((4,), "float32")
    addresses.unmap(addresses.address)
    addresses.release()
    memory.free()
    return array


def on_host(_: aacl.Device) -> object:
    """Return host memory."""
    return aacl.HostBuffer(64)


@pytest.mark.parametrize("make", [physical, released, on_host])
def test_an_interrupt_at_the_end_of_memory_arrives(device: aacl.Device, make: Callable[[aacl.Device], object]) -> None:
    """Ctrl-C reaches the program: no finalizer, in which Python would lose it, is the first to look for it."""
    last = [make(device)]
    with pytest.raises(KeyboardInterrupt):
        # Within one call, Python looks for signals where code of Python's begins, and nowhere else.
        deque(map(operator.call, (interrupt_main, last.clear)), maxlen=0)
    assert not last
    assert device.memory().used == 0


def test_an_interrupt_anywhere_keeps_the_account_of_mapped_memory(device: aacl.Device) -> None:
    """Ctrl-C at any place of allocating, mapping and what undoes it leaves memory that is used and freed as ever."""

    def act(_: object) -> None:
        addresses = device.reserve_addresses(2 * PAGE)
        memory = device.allocate_physical(PAGE)
        addresses.map(memory)
        addresses.map(memory, addresses.address + PAGE)
        addresses.unmap(addresses.address)
        memory.free()
        addresses.unmap(addresses.address + PAGE)
        addresses.release()

    kept = device.reserve_addresses(PAGE)
    wrong: dict[str, str] = {}
    for _, place in interrupted_everywhere(lambda: None, act):
        memory = device.allocate_physical(PAGE)
        buffer = kept.map(memory)
        found = mapped_buffer(kept.address)
        kept.unmap(kept.address)
        memory.free()
        if found is not buffer or kept.mapped:
            wrong[place] = repr(found)
    assert wrong == {}
