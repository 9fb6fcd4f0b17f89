"""Reserved addresses, and memory that is mapped there."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import numpy as np
import pytest

import aacl
import acl
from tests.compat._programs import (
    D2D,
    D2H,
    DEFAULT,
    H2D,
    MakeGate,
    add1,
    binary,
    compile_operators,
    get,
    good,
    in_thread,
    ok,
    put,
    run_program,
)

PAGE = 2 << 20
ND = 2
FLOAT = 0


class Mapped:
    """Eight pages of addresses with two pages mapped at the beginning."""

    def __init__(self) -> None:
        self.address = good(acl.rt.reserve_mem_address(8 * PAGE, 0, 0, 1))
        self.handle = good(acl.rt.malloc_physical(2 * PAGE, {}, 0))
        ok(acl.rt.map_mem(self.address, 2 * PAGE, 0, self.handle, 0))

    def end(self) -> None:
        """Give everything back."""
        ok(acl.rt.unmap_mem(self.address))
        ok(acl.rt.free_physical(self.handle))
        ok(acl.rt.release_mem_address(self.address))


@pytest.fixture
def mapped(device: int) -> Mapped:
    """Mapped memory of device 0."""
    return Mapped()


def test_the_whole_order(mapped: Mapped) -> None:
    """Reserve, allocate, map, use, unmap, free, release: each returns 0, and the memory is the device's again."""
    data = np.arange(PAGE, dtype=np.uint8)
    ok(acl.rt.memcpy(mapped.address + PAGE - 7, PAGE, acl.util.numpy_to_ptr(data), PAGE, H2D))
    other, back = good(acl.rt.malloc(PAGE, 0)), np.zeros_like(data)
    ok(acl.rt.memcpy(other, PAGE, mapped.address + PAGE - 7, PAGE, D2D))
    ok(acl.rt.memcpy(acl.util.numpy_to_ptr(back), PAGE, other, PAGE, D2H))

    np.testing.assert_array_equal(back, data)
    assert good(acl.rt.pointer_get_attributes(mapped.address + 5)) == {
        "location": {"id": 0, "type": 1}, "pageSize": PAGE, "rsv": [0, 0, 0, 0],
    }  # fmt: skip
    ok(acl.rt.free(other))
    mapped.end()
    assert acl.rt.get_mem_info(1)[0] == acl.rt.get_mem_info(1)[1]


def test_addresses_without_memory_are_codes(mapped: Mapped, stream: int) -> None:
    """Before it is mapped, after it is unmapped, and beyond its end: every call says 107000, none crashes."""
    host = good(acl.rt.malloc_host(PAGE))
    for start in (mapped.address + 2 * PAGE, mapped.address + 2 * PAGE - 8):
        assert acl.rt.memcpy(start, PAGE, host, 16, H2D) == acl.rt.memcpy(host, PAGE, start, 16, D2H) == 107000
        assert "mapped" in (acl.get_recent_err_msg() or "") or start < mapped.address + 2 * PAGE
        assert acl.rt.memset(start, PAGE, 1, 16) == acl.rt.memset_async(start, PAGE, 1, 16, stream) == 107000
        assert acl.rt.memcpy_async(start, PAGE, host, 16, H2D, stream) == 107000
    ok(acl.rt.unmap_mem(mapped.address))
    assert acl.rt.memset(mapped.address, PAGE, 1, 16) == 107000
    assert acl.rt.pointer_get_attributes(mapped.address) == ({}, 107000)
    with pytest.raises(ValueError, match="mapped"):
        acl.util.ptr_to_bytes(mapped.address, 8)


def test_pieces_side_by_side_are_one_span(mapped: Mapped) -> None:
    """A copy may run from one piece to the next, in whatever order they were mapped; not over a hole."""
    more = [good(acl.rt.malloc_physical(PAGE, {}, 0)) for _ in range(2)]
    ok(acl.rt.map_mem(mapped.address + 3 * PAGE, PAGE, 0, more[0], 0))
    assert acl.rt.memset(mapped.address, 8 * PAGE, 1, 3 * PAGE) == 107000
    ok(acl.rt.map_mem(mapped.address + 2 * PAGE, PAGE, 0, more[1], 0))

    ok(acl.rt.memset(mapped.address, 8 * PAGE, 9, 4 * PAGE))
    assert acl.util.ptr_to_bytes(mapped.address + 3 * PAGE - 2, 4) == b"\x09" * 4
    ok(acl.rt.unmap_mem(mapped.address + 2 * PAGE))
    assert acl.rt.memset(mapped.address, 8 * PAGE, 1, 3 * PAGE) == 107000
    assert acl.util.ptr_to_bytes(mapped.address + 3 * PAGE, 2) == b"\x09" * 2
    ok(acl.rt.map_mem(mapped.address + 2 * PAGE, PAGE, 0, more[1], 0))
    assert acl.util.ptr_to_bytes(mapped.address + 2 * PAGE, 2) == b"\x09" * 2
    for start in (2, 3):
        ok(acl.rt.unmap_mem(mapped.address + start * PAGE))
    for handle in more:
        ok(acl.rt.free_physical(handle))
    mapped.end()


def test_one_memory_at_two_addresses(mapped: Mapped) -> None:
    """What is written at one address is read at the other; a part may be mapped, from an offset on."""
    ok(acl.rt.map_mem(mapped.address + 4 * PAGE, PAGE, PAGE, mapped.handle, 0))
    ok(acl.rt.memset(mapped.address + PAGE, PAGE, 5, 100))

    assert acl.util.ptr_to_bytes(mapped.address + 4 * PAGE, 100) == b"\5" * 100
    ok(acl.rt.unmap_mem(mapped.address + 4 * PAGE))
    mapped.end()


def test_freed_memory_lasts_while_it_is_mapped(mapped: Mapped) -> None:
    """free_physical before unmap_mem ends the handle alone."""
    total = acl.rt.get_mem_info(1)[1]
    ok(acl.rt.free_physical(mapped.handle))
    ok(acl.rt.memset(mapped.address, PAGE, 5, 100))

    assert acl.rt.map_mem(mapped.address + 4 * PAGE, PAGE, 0, mapped.handle, 0) == 107017
    assert acl.rt.get_mem_info(1)[0] == total - 2 * PAGE
    ok(acl.rt.unmap_mem(mapped.address))
    assert acl.rt.get_mem_info(1)[0] == total


def test_maps_that_are_refused(mapped: Mapped) -> None:
    """Alignment of the address is 107008; sizes, offsets, foreign and taken addresses 107000; handles their own."""
    address, handle = mapped.address + 4 * PAGE, mapped.handle
    before = acl.util.ptr_to_bytes(mapped.address, 64)

    assert acl.rt.map_mem(address + 4096, PAGE, 0, handle, 0) == 107008
    for size, offset in ((PAGE - 1, 0), (0, 0), (-PAGE, 0), (PAGE, 8), (PAGE, -PAGE), (3 * PAGE, 0), (PAGE, 2 * PAGE)):
        assert acl.rt.map_mem(address, size, offset, handle, 0) == 107000
    assert acl.rt.map_mem(mapped.address + PAGE, PAGE, 0, handle, 0) == 107000
    assert "unmap" in (acl.get_recent_err_msg() or "")
    assert acl.rt.map_mem(mapped.address + 7 * PAGE, 2 * PAGE, 0, handle, 0) == 107000
    assert acl.rt.map_mem(good(acl.rt.malloc(PAGE, 0)), PAGE, 0, handle, 0) == 107000
    assert acl.rt.map_mem(0, PAGE, 0, handle, 0) == acl.rt.map_mem(address, PAGE, 0, 0, 0) == 100000
    assert acl.rt.map_mem(address, PAGE, 0, handle + 1, 0) == 107017
    assert acl.rt.map_mem(address, PAGE, 0, handle, 1) == 107000
    assert acl.rt.map_mem(1 << 80, PAGE, 0, handle, 0) == 107000
    assert acl.util.ptr_to_bytes(mapped.address, 64) == before


def test_ends_that_are_refused(mapped: Mapped) -> None:
    """Only the address that was mapped is unmapped, and only what has nothing mapped is released; never with free."""
    assert acl.rt.unmap_mem(mapped.address + PAGE) == 107000
    assert "inside" in (acl.get_recent_err_msg() or "")
    assert acl.rt.unmap_mem(mapped.address + 4 * PAGE) == acl.rt.unmap_mem(4096) == 107000
    assert acl.rt.unmap_mem(0) == acl.rt.release_mem_address(0) == 100000
    assert acl.rt.release_mem_address(mapped.address) == 107000
    assert acl.rt.release_mem_address(mapped.address + PAGE) == 107000
    assert acl.rt.free(mapped.address) == 100000
    assert "acl.rt.unmap_mem" in (acl.get_recent_err_msg() or "")
    ok(acl.rt.memset(mapped.address, PAGE, 0, PAGE))
    mapped.end()
    assert acl.rt.release_mem_address(mapped.address) == acl.rt.unmap_mem(mapped.address) == 107000


def test_reservations(device: int) -> None:
    """Addresses are aligned as asked, where asked if that is free; sizes and alignments that mean nothing are codes."""
    first = good(acl.rt.reserve_mem_address(1 << 40, 1 << 30, 0, 0))
    assert first % (1 << 30) == 0
    ok(acl.rt.release_mem_address(first))
    again = good(acl.rt.reserve_mem_address(4 * PAGE, 0, first, 1))
    taken = good(acl.rt.reserve_mem_address(4 * PAGE, 0, first + PAGE, 1))

    assert again == first
    assert taken % PAGE == 0
    assert not first - 4 * PAGE < taken < first + 4 * PAGE
    ok(acl.rt.release_mem_address(again))
    ok(acl.rt.release_mem_address(taken))
    assert acl.rt.reserve_mem_address(0, 0, 0, 0) == acl.rt.reserve_mem_address(-PAGE, 0, 0, 0) == (0, 100000)
    assert acl.rt.reserve_mem_address(PAGE + 1, 0, 0, 0) == (0, 107000)
    assert acl.rt.reserve_mem_address(PAGE, 3, 0, 0) == acl.rt.reserve_mem_address(PAGE, -2, 0, 0) == (0, 107000)
    assert acl.rt.reserve_mem_address(PAGE, 0, 0, 2) == (0, 107000)
    assert acl.rt.reserve_mem_address(1 << 60, 0, 0, 0) == (0, 207001)
    assert acl.rt.reserve_mem_address(1 << 80, 0, 0, 0) == (0, 107000)
    assert in_thread(lambda: acl.rt.reserve_mem_address(PAGE, 0, 0, 0)) == (0, 107002)


def test_an_operator_over_two_pieces(mapped: Mapped, stream: int, tmp_path: Path) -> None:
    """Inputs and outputs of an operator lie in mapped memory, one over the border of two pieces."""
    ok(acl.op.set_model_dir(str(compile_operators(tmp_path, binary("Add", "float32", [4, 256])))))
    more = good(acl.rt.malloc_physical(PAGE, {}, 0))
    ok(acl.rt.map_mem(mapped.address + 2 * PAGE, PAGE, 0, more, 0))
    x, out = mapped.address, mapped.address + 2 * PAGE - 1024
    values = np.arange(1024, dtype=np.float32)
    ok(acl.rt.memcpy(x, 4096, acl.util.numpy_to_ptr(values), 4096, H2D))
    desc = acl.create_tensor_desc(FLOAT, [4, 256], ND)
    buffers = [acl.create_data_buffer(pointer, 4096) for pointer in (x, x, out)]

    for turn in range(3):
        ok(acl.rt.memset(out, 4096, 0, 4096))
        ok(acl.op.execute_v2("Add", [desc, desc], buffers[:2], [desc], buffers[2:], 0, stream))
        ok(acl.rt.synchronize_stream(stream))
        np.testing.assert_array_equal(get(out, values), values * 2)
        if turn == 1:  # the memory is another one: what was prepared is not used again
            ok(acl.rt.unmap_mem(mapped.address + 2 * PAGE))
            ok(acl.rt.map_mem(mapped.address + 2 * PAGE, PAGE, 0, more, 0))
    for buffer in buffers:
        ok(acl.destroy_data_buffer(buffer))
    acl.destroy_tensor_desc(desc)


def test_a_model_on_mapped_memory(mapped: Mapped, tmp_path: Path) -> None:
    """A model reads its input from mapped memory and writes its output there."""
    model = good(acl.mdl.load_from_file(add1(tmp_path)))
    datasets = []
    for address in (mapped.address + 64, mapped.address + PAGE):
        dataset = acl.mdl.create_dataset()
        good(acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(address, 16)))
        datasets.append(dataset)
    values = np.arange(4, dtype=np.float32)
    ok(acl.rt.memcpy(mapped.address + 64, 16, acl.util.numpy_to_ptr(values), 16, H2D))
    ok(acl.mdl.execute(model, *datasets))

    np.testing.assert_array_equal(get(mapped.address + PAGE, values), values + 1)


def test_queued_work_finds_memory_that_was_unmapped(mapped: Mapped, stream: int, gate: MakeGate) -> None:
    """A copy that was submitted before unmap_mem, free_physical and release_mem_address copies what was there."""
    ok(acl.rt.memset(mapped.address, PAGE, 6, 4096))
    target = good(acl.rt.malloc(4096, 0))
    held = gate(stream)
    ok(acl.rt.memcpy_async(target, 4096, mapped.address, 4096, D2D, stream))
    mapped.end()
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    assert acl.util.ptr_to_bytes(target, 4096) == b"\6" * 4096


def test_arrays_outlive_the_mapping(mapped: Mapped) -> None:
    """C061: an array on mapped memory stays readable behind unmap, free and release, and keeps the memory used."""
    total = acl.rt.get_mem_info(1)[1]
    ok(acl.rt.memset(mapped.address, PAGE, 6, 4096))
    array = acl.util.ptr_to_numpy(mapped.address, (4096,), 2)
    mapped.end()

    assert array.tolist() == [6] * 4096
    assert acl.rt.get_mem_info(1)[0] == total - 2 * PAGE
    del array
    gc.collect()
    assert acl.rt.get_mem_info(1)[0] == total


def test_mapping_over_memory_that_is_still_used(mapped: Mapped) -> None:
    """Other memory can be mapped where an array still looks; when the array goes, what was mapped since stays."""
    array = acl.util.ptr_to_numpy(mapped.address, (16,), 2)
    ok(acl.rt.unmap_mem(mapped.address))
    other = good(acl.rt.malloc_physical(PAGE, {}, 0))
    ok(acl.rt.map_mem(mapped.address, PAGE, 0, other, 0))
    ok(acl.rt.memset(mapped.address, PAGE, 8, 16))
    del array
    ok(acl.rt.map_mem(mapped.address + 4 * PAGE, PAGE, 0, other, 0))  # tidies up

    assert acl.util.ptr_to_bytes(mapped.address, 16) == b"\x08" * 16


def test_devices_end_with_memory_mapped() -> None:
    """reset_device and finalize end what is mapped; the process leaves with status 0, also where nothing was ended."""
    for end in ("acl.rt.reset_device(0); acl.finalize()", "acl.finalize()", "pass", "import sys; sys.exit(0)"):
        out = run_program(
            f"""
            import acl
            acl.init(); acl.rt.set_device(0)
            address, _ = acl.rt.reserve_mem_address(8 << 20, 0, 0, 0)
            handle, _ = acl.rt.malloc_physical(2 << 20, {{}}, 0)
            print(acl.rt.map_mem(address, 2 << 20, 0, handle, 0), acl.rt.memset(address, 64, 1, 64))
            view = acl.util.ptr_to_numpy(address, (8,), 2)
            {end}
            """
        )
        assert out == "0 0\n"


def test_dead_devices_leave_nothing(mapped: Mapped) -> None:
    """After reset_device the addresses are unknown, and new ones can be mapped."""
    ok(acl.rt.reset_device(0))
    ok(acl.rt.set_device(0))

    assert acl.rt.unmap_mem(mapped.address) == acl.rt.release_mem_address(mapped.address) == 107000
    Mapped().end()


def test_copies_with_default_kind(mapped: Mapped) -> None:
    """ACL_MEMCPY_DEFAULT knows mapped memory as the device's."""
    pointer = put(np.full(64, 3, np.uint8))
    ok(acl.rt.memcpy(mapped.address + 64, 64, pointer, 64, DEFAULT))

    assert acl.util.ptr_to_bytes(mapped.address + 64, 64) == b"\3" * 64


def test_released_addresses_that_another_thread_gets_at_once(device: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are that one's, even if the thread that released them is not through the call yet."""
    wanted, found = good(acl.rt.reserve_mem_address(PAGE, 0, 0, 1)), []
    release = aacl.memory.AddressRange.release

    def reserve() -> None:
        ok(acl.rt.set_device(0))
        found.append(good(acl.rt.reserve_mem_address(PAGE, 0, wanted, 1)))

    other = threading.Thread(target=reserve)

    def release_and_let_reserve(self: aacl.memory.AddressRange) -> None:
        release(self)
        other.start()
        other.join(0.05)  # which it may, or has to wait for the end of the call

    with monkeypatch.context() as patch:
        patch.setattr(aacl.memory.AddressRange, "release", release_and_let_reserve)
        ok(acl.rt.release_mem_address(wanted))
    other.join()

    assert found == [wanted]
    ok(acl.rt.release_mem_address(wanted))
