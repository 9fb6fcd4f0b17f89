"""Address ranges and physical memory, natively."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import aacl
from aacl.backends.cpu import _pages
from aacl.errors import (
    ClosedResource,
    InvalidArgument,
    InvalidMemoryRange,
    NotPermitted,
    OutOfMemory,
    UnalignedAddress,
)
from aacl.memory import AddressRange, PhysicalMemory, mapped_buffer

PAGE = 2 << 20


@pytest.fixture
def device() -> Iterator[aacl.Device]:
    """An open device whose memory is all free."""
    device = aacl.blocking.open_resource(aacl.Device(0))
    yield device
    aacl.blocking.close(device)


def test_they_are_made_by_devices_only() -> None:
    """Their constructors name the right call."""
    with pytest.raises(TypeError, match=r"Device\.allocate_physical"):
        PhysicalMemory()
    with pytest.raises(TypeError, match=r"Device\.reserve_addresses"):
        AddressRange()


def test_a_mapping_is_a_buffer_of_the_device(device: aacl.Device) -> None:
    """What map returns is used as what allocate returns; the buffer found at an address of it is the same one."""
    memory, addresses = device.allocate_physical(2 * PAGE), device.reserve_addresses(4 * PAGE)
    buffer = addresses.map(memory)
    buffer.view((4,), np.float32, PAGE)[:] = 3

    assert (buffer.address, buffer.nbytes, buffer.device_index) == (addresses.address, 2 * PAGE, 0)
    assert mapped_buffer(addresses.address + PAGE + 7) is buffer
    assert mapped_buffer(addresses.address + 2 * PAGE) is None
    assert addresses.mapped == ((addresses.address, 2 * PAGE),)
    assert aacl.memory.allocation_at(addresses.address + 9) == addresses.address
    assert aacl.memory.is_device_address(addresses.address + 3 * PAGE)
    assert np.frombuffer(aacl.memory.read_bytes(addresses.address + PAGE, 16), np.float32).tolist() == [3] * 4


async def test_operators_work_on_mapped_memory() -> None:
    """A tensor on a mapping is an operator's input and output."""
    async with aacl.Device() as device, aacl.Stream() as stream:
        buffer = device.reserve_addresses(PAGE).map(device.allocate_physical(PAGE))
        x, y = (aacl.Tensor(aacl.TensorDesc.of("float32", (8,)), buffer, offset) for offset in (0, 64))
        buffer.view((8,), np.float32)[:] = np.arange(8)
        await stream.execute(aacl.Operation("Add", [x, x], out=y))

        assert (await stream.to_host(y)).tolist() == list(range(0, 16, 2))
        assert buffer.view((8,), np.float32, 64).tolist() == list(range(0, 16, 2))


def test_unmapping_frees_the_buffers(device: aacl.Device) -> None:
    """Buffers on a run, those of before it grew included, are freed when one of its pieces is unmapped."""
    memory, addresses = device.allocate_physical(2 * PAGE), device.reserve_addresses(4 * PAGE)
    first = addresses.map(memory, nbytes=PAGE)
    both = addresses.map(memory, addresses.address + PAGE, offset=PAGE, nbytes=PAGE)
    assert (first.freed, both.nbytes) == (False, 2 * PAGE)
    addresses.unmap(addresses.address + PAGE)

    assert (first.freed, both.freed) == (True, True)
    left = mapped_buffer(addresses.address)
    assert left is not None
    assert (left.nbytes, left.freed) == (PAGE, False)
    left.free()  # of no consequence for the mapping
    again = mapped_buffer(addresses.address)
    assert again is not None
    assert not again.freed


def test_what_cannot_be_mapped(device: aacl.Device) -> None:
    """Each wrong request is an error of its own, and changes nothing."""
    memory, addresses = device.allocate_physical(2 * PAGE), device.reserve_addresses(2 * PAGE)
    start = addresses.address
    with pytest.raises(UnalignedAddress, match="multiples of"):
        addresses.map(memory, start + 64)
    for arguments in (
        {"nbytes": PAGE + 1},
        {"nbytes": 0},
        {"offset": 1, "nbytes": PAGE},
        {"offset": PAGE, "nbytes": 2 * PAGE},
    ):
        with pytest.raises(InvalidMemoryRange):
            addresses.map(memory, start, **arguments)
    with pytest.raises(InvalidMemoryRange, match="not within"):
        addresses.map(memory, start + PAGE)
    with pytest.raises(InvalidArgument, match="whole number"):
        addresses.map(memory, "there")  # type: ignore[arg-type]
    memory.free()
    with pytest.raises(ClosedResource, match="cannot map"):
        addresses.map(memory)
    assert addresses.mapped == ()


def test_what_cannot_be_made(device: aacl.Device) -> None:
    """Sizes that are no pages, alignments that are no powers of two, and more than there is."""
    for nbytes in (0, -PAGE, PAGE - 1):
        with pytest.raises(InvalidArgument, match="pages"):
            device.allocate_physical(nbytes)
        with pytest.raises(InvalidArgument, match="pages"):
            device.reserve_addresses(nbytes)
    with pytest.raises(InvalidArgument, match="power of two"):
        device.reserve_addresses(PAGE, alignment=3)
    with pytest.raises(OutOfMemory):
        device.allocate_physical(device.properties.memory + PAGE)
    with pytest.raises(OutOfMemory):
        device.reserve_addresses(1 << 60)
    assert device.memory().used == 0


def test_ends(device: aacl.Device) -> None:
    """A range with a mapping is not released; what has ended says so."""
    memory, addresses = device.allocate_physical(PAGE), device.reserve_addresses(PAGE)
    addresses.map(memory)
    with pytest.raises(InvalidMemoryRange, match="is mapped"):
        addresses.release()
    addresses.unmap(addresses.address)
    addresses.release()
    memory.free()

    assert "released" in repr(addresses)
    assert "freed" in repr(memory)
    for act in (addresses.release, memory.free, memory.share, lambda: addresses.unmap(addresses.address)):
        with pytest.raises(ClosedResource):
            act()
    assert device.memory().used == 0


def test_the_device_ends_them() -> None:
    """Closing the device closes its ranges and memory, mapped or not; its addresses are the host's again."""
    device = aacl.blocking.open_resource(aacl.Device(1))
    memory, addresses = device.allocate_physical(PAGE), device.reserve_addresses(PAGE)
    array = addresses.map(memory).view((8,), np.uint8)
    array[:] = 5
    aacl.blocking.close(device)

    assert (memory.closed, addresses.closed) == (True, True)
    assert mapped_buffer(addresses.address) is None
    assert not aacl.memory.is_device_address(addresses.address)
    assert array.tolist() == [5] * 8


def test_views_hold_the_memory(device: aacl.Device) -> None:
    """A view keeps the bytes in place and used behind unmap and free; they are free when it is gone."""
    memory, addresses = device.allocate_physical(PAGE), device.reserve_addresses(PAGE)
    view = addresses.map(memory).view((8,), np.uint8)
    view[:] = 3
    addresses.unmap(addresses.address)
    memory.free()
    addresses.release()

    assert device.memory().pinned == PAGE
    assert view.tolist() == [3] * 8
    del view
    assert device.memory().used == 0


def test_sharing_within_a_process(device: aacl.Device) -> None:
    """Imported memory is the same bytes, counts nothing, and is refused once its owner has freed it."""
    memory, addresses = device.allocate_physical(PAGE), device.reserve_addresses(2 * PAGE)
    handle = memory.share()
    other = device.import_physical(handle)
    addresses.map(memory)
    run = addresses.map(other, addresses.address + PAGE)
    run.view((4,), np.uint8)[:] = 9

    assert run.view((4,), np.uint8, PAGE).tolist() == [9] * 4
    assert (other.is_imported, device.memory().used) == (True, PAGE)
    addresses.unmap(addresses.address)
    memory.free()
    with pytest.raises(InvalidArgument, match="no process exports"):
        device.import_physical(handle)


def test_who_may_import(device: aacl.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is not named is refused; named, or where anybody may, it is not."""
    memory = device.allocate_physical(PAGE)
    handle, owner = memory.share(), os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: owner + 1)
    with pytest.raises(NotPermitted, match=f"not by this one, {owner + 1}"):
        device.import_physical(handle)
    memory.allow([owner + 1])
    device.import_physical(handle).free()
    monkeypatch.setattr(os, "getpid", lambda: owner + 2)
    with pytest.raises(NotPermitted, match=str(owner + 1)):
        device.import_physical(handle)
    monkeypatch.setattr(os, "getpid", lambda: owner)
    assert memory.share(anybody=True) == handle
    monkeypatch.setattr(os, "getpid", lambda: owner + 2)
    device.import_physical(handle).free()


STEPS = st.lists(
    st.tuples(st.sampled_from(["map", "map", "unmap", "fill", "fill"]), st.integers(0, 5), st.integers(1, 3))
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_runs_are_what_is_mapped_side_by_side(device: aacl.Device, steps: list[tuple[str, int, int]]) -> None:
    """Whatever is mapped and unmapped: fills reach exactly over pages that are mapped, and the pages keep their bytes."""
    memory, addresses = device.allocate_physical(6 * PAGE), device.reserve_addresses(6 * PAGE)
    starts: dict[int, int] = {}  # page of the range -> pages of the mapping that begins there
    contents = [0] * 6  # of the memory's pages; page n is mapped at page n
    for act, first, count in steps:
        pages = set(range(first, first + count))
        taken = {page for start, length in starts.items() for page in range(start, start + length)}
        place = addresses.address + first * PAGE
        if act == "map" and max(pages) < 6 and not pages & taken:
            addresses.map(memory, place, offset=first * PAGE, nbytes=count * PAGE)
            starts[first] = count
        elif act == "map":
            with pytest.raises(InvalidMemoryRange):
                addresses.map(memory, place, offset=first * PAGE if max(pages) < 6 else 0, nbytes=count * PAGE)
        elif act == "unmap" and first in starts:
            addresses.unmap(place)
            del starts[first]
        elif act == "unmap":
            with pytest.raises(InvalidMemoryRange):
                addresses.unmap(place)
        elif pages <= taken:
            value = (first * 7 + count) % 255 + 1
            aacl.memory.fill(place, value, count * PAGE)
            for page in pages:
                contents[page] = value
        else:
            with pytest.raises(InvalidMemoryRange):
                aacl.memory.fill(place, 1, count * PAGE)
        for page in {page for start, length in starts.items() for page in range(start, start + length)}:
            assert aacl.memory.read_bytes(addresses.address + page * PAGE + PAGE - 1, 1)[0] == contents[page]
    for start in list(starts):
        addresses.unmap(addresses.address + start * PAGE)
    addresses.release()
    memory.free()
    assert device.memory().used == 0


def test_pages_that_could_not_be_mapped_anew(device: aacl.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a mapping fails, the memory that somebody still uses there goes away with its last user nevertheless."""
    memory, addresses = device.allocate_physical(PAGE), device.reserve_addresses(PAGE)
    view = addresses.map(memory).view((8,), np.uint8)
    addresses.unmap(addresses.address)
    with monkeypatch.context() as patch:
        patch.setattr(_pages, "_map", lambda *_: 0)
        with pytest.raises(OutOfMemory):
            addresses.map(memory)
    del view
    hidden = []
    monkeypatch.setattr(_pages, "hide", lambda address, nbytes: hidden.append((address, nbytes)))
    addresses.unmap(addresses.map(memory).address)

    assert hidden == [(addresses.address, PAGE)] * 2
