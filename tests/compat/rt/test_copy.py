"""Copies and fills: arguments, directions, and when pageable memory is read."""

from __future__ import annotations

import gc
import mmap

import numpy as np
import pytest

import acl
from tests.compat._programs import (
    D2D,
    D2H,
    DEFAULT,
    H2D,
    H2H,
    Array,
    MakeGate,
    get,
    good,
    ok,
    put,
    run_program,
    untyped,
)


@pytest.fixture
def target(device: int) -> int:
    """256 bytes of the device, all 1."""
    pointer: int = good(acl.rt.malloc(256, 0))
    ok(acl.rt.memset(pointer, 256, 1, 256))
    return pointer


def test_wrong_arguments_change_nothing(target: int) -> None:
    """C046: null addresses and unknown kinds are 100000, too many bytes 107000; the target is what it was."""
    source = acl.util.bytes_to_ptr(b"\2" * 256)

    assert acl.rt.memcpy(0, 256, source, 256, H2D) == 100000
    assert acl.rt.memcpy(target, 256, 0, 256, H2D) == 100000
    assert acl.rt.memcpy(target, 128, source, 256, H2D) == 107000
    assert "256 bytes do not go into a target of 128" in (acl.get_recent_err_msg() or "")
    assert acl.rt.memcpy(target, 256, source, -1, H2D) == 107000
    assert acl.rt.memcpy(target, -1, source, 1, H2D) == 107000
    for kind in (-1, 8, 99):
        assert acl.rt.memcpy(target, 256, source, 256, kind) == 100000
        assert acl.rt.memcpy(target, 256, source, 0, kind) == 100000
    assert acl.rt.memcpy(target, 1 << 30, source, 100_000, H2D) == 107000
    assert acl.rt.memcpy(target, 1 << 40, target, 1 << 33, D2D) == 107000
    assert acl.util.ptr_to_bytes(target, 256) == b"\1" * 256
    for wrong in (None, "0", 0.0):
        with pytest.raises(TypeError):
            untyped.rt.memcpy(target, 256, wrong, 256, H2D)
        with pytest.raises(TypeError):
            untyped.rt.memcpy(target, 256, source, 256, wrong)


@pytest.mark.parametrize("where", ["device", "host"])
@pytest.mark.parametrize("shift", [1, 7, 64, -1, -64])
def test_copies_that_overlap(device: int, where: str, shift: int) -> None:
    """Source and target may overlap, either way: the target holds what the source held before."""
    block = good(acl.rt.malloc(1024, 0) if where == "device" else acl.rt.malloc_host(1024))
    data = np.arange(1024).astype(np.uint8)
    ok(acl.rt.memcpy(block, 1024, acl.util.numpy_to_ptr(data), 1024, DEFAULT))
    ok(acl.rt.memcpy(block + 100 + shift, 800, block + 100, 800, DEFAULT))

    data[100 + shift : 900 + shift] = data[100:900].copy()
    np.testing.assert_array_equal(get(block, data), data)


def test_copies_between_devices(device: int) -> None:
    """Memory of one device is copied to another's, at once and by a stream of either."""
    one = put(np.arange(64, dtype=np.int32))
    ok(acl.rt.set_device(1))
    two = good(acl.rt.malloc(256, 0))
    ok(acl.rt.memcpy(two, 256, one, 256, D2D))
    assert get(two, np.zeros(64, np.int32)).tolist() == list(range(64))
    ok(acl.rt.memset(one, 256, 1, 256))
    ok(acl.rt.memcpy_async(two, 256, one, 256, 7, 0))
    ok(acl.rt.synchronize_stream(0))

    assert acl.util.ptr_to_bytes(two, 256) == b"\1" * 256
    ok(acl.rt.reset_device(1))


def test_pointers_into_allocations(target: int) -> None:
    """A batch is put together at offsets, dest_max being the whole buffer's size each time."""
    for index in range(4):
        row = bytes([index]) * 64
        ok(acl.rt.memcpy(target + 64 * index, 256, acl.util.bytes_to_ptr(row), 64, H2D))

    assert acl.util.ptr_to_bytes(target, 256) == b"".join(bytes([index]) * 64 for index in range(4))
    assert acl.util.ptr_to_bytes(target + 100, 2) == b"\1\1"


def test_bad_host_addresses_in_a_process_of_their_own() -> None:
    """Host memory that is not mapped, or not writable, is a code in every call that takes an address."""
    out = run_program(
        """
        import acl, mmap, ctypes
        import numpy as np
        acl.init(); acl.rt.set_device(0)
        device, _ = acl.rt.malloc(8192, 0)
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ)
        readonly = np.frombuffer(page, np.uint8).ctypes.data
        bad = [8, 4096, (1 << 47) - 4096, -64, 1 << 63, 1 << 70]
        codes = set()
        for address in bad:
            codes |= {acl.rt.memcpy(device, 64, address, 64, 1), acl.rt.memcpy(address, 64, device, 64, 2),
                      acl.rt.memset(address, 64, 0, 64), acl.rt.memcpy(address, 64, address, 64, 0)}
            codes |= {acl.rt.memcpy_async(device, 64, address, 64, 1, 0) or acl.rt.synchronize_stream(0),
                      acl.rt.memcpy_async(address, 64, device, 64, 2, 0) or acl.rt.synchronize_stream(0),
                      acl.rt.memset_async(address, 64, 0, 64, 0) or acl.rt.synchronize_stream(0)}
        print(sorted(codes))
        print(acl.rt.memcpy(readonly, 64, device, 64, 2), acl.rt.memcpy(device, 64, readonly, 64, 1),
              acl.rt.memset(readonly, 64, 1, 64))
        print(acl.rt.memcpy_async(readonly, 64, device, 64, 2, 0) or acl.rt.synchronize_stream(0))
        print(acl.finalize())
        """
    )

    assert out.splitlines() == ["[107000]", "107000 0 107000", "107000", "0"]


def test_memset_takes_a_byte(target: int) -> None:
    """C057: the value is cut to a byte, more than max is 107000, host pointers work, 0 bytes are nothing."""
    assert acl.rt.memset(target, 256, 0x107, 256) == 0
    assert acl.util.ptr_to_bytes(target, 256) == b"\7" * 256
    assert acl.rt.memset(target, 128, 1, 256) == 107000
    assert acl.rt.memset(target, 256, 1, -1) == 107000
    assert acl.rt.memset(target, 256, 1, 0) == 0
    assert acl.rt.memset(0, 256, 1, 1) == 100000
    assert acl.rt.memset(target, 1 << 30, 1, 100_000) == 107000
    assert acl.util.ptr_to_bytes(target, 256) == b"\7" * 256
    array = np.zeros(8, np.uint8)
    assert acl.rt.memset(array.ctypes.data, 8, -1, 8) == 0
    assert array.tolist() == [255] * 8


@pytest.mark.parametrize(("kind", "code"), [(H2D, 0), (D2H, 0), (D2D, 0), (DEFAULT, 0)])
def test_asynchronous_directions(stream: int, kind: int, code: int) -> None:
    """C051: three directions are submitted and done at the next synchronise."""
    array, back = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    one, two = put(array), good(acl.rt.malloc(256, 0))
    to, of = {H2D: (two, array.ctypes.data), D2H: (back.ctypes.data, one)}.get(kind, (two, one))

    assert acl.rt.memcpy_async(to, 256, of, 256, kind, stream) == code
    ok(acl.rt.synchronize_stream(stream))
    np.testing.assert_array_equal(back if kind == D2H else get(two, array), array)


def test_asynchronous_copies_that_are_refused(stream: int, target: int) -> None:
    """C051: host to host is 207000 for kind 0; unaligned device to device 107008; a dead stream 107017."""
    array, other = np.arange(64, dtype=np.int32), good(acl.rt.malloc(512, 0))
    host = array.ctypes.data

    assert acl.rt.memcpy_async(host, 256, host, 256, H2H, stream) == 207000
    assert acl.rt.memcpy_async(other + 8, 256, target, 128, D2D, stream) == 107008
    assert acl.rt.memcpy_async(other, 256, target + 32, 128, DEFAULT, stream) == 107008
    assert acl.rt.memcpy_async(0, 256, host, 256, H2D, stream) == 100000
    assert acl.rt.memcpy_async(target, 8, host, 256, H2D, stream) == 107000
    assert acl.rt.memcpy_async(target, 256, host, 256, 99, stream) == 100000
    assert acl.rt.memcpy_async(0, 0, 0, 0, H2D, stream) == 0
    ok(acl.rt.synchronize_stream(stream))
    ok(acl.rt.destroy_stream(stream))
    assert acl.rt.memcpy_async(target, 256, host, 256, H2D, stream) == 107017


def test_the_default_kind_copies_between_host_addresses_too(stream: int) -> None:
    """Calling conventions, decisions: 207000 answers only programs that said kind 0; kind 4 copies what it is given."""
    array, back = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)

    assert acl.rt.memcpy_async(back.ctypes.data, 256, array.ctypes.data, 256, DEFAULT, stream) == 0
    ok(acl.rt.synchronize_stream(stream))
    np.testing.assert_array_equal(back, array)


def test_pageable_memory_is_read_before_the_call_returns(stream: int, gate: MakeGate, target: int) -> None:
    """C050: a temporary that is gone, and whose memory is overwritten, before the copy runs: the data is right."""
    held = gate(stream)
    for index in range(4):
        rows: Array | None = np.full(64, index + 10, np.uint8)
        assert rows is not None
        ok(acl.rt.memcpy_async(target + 64 * index, 64, rows.ctypes.data, 64, H2D, stream))
        rows[:] = 0
        rows = None
    gc.collect()
    junk = [np.full(64, 0xEE, np.uint8) for _ in range(1000)]
    assert acl.util.ptr_to_bytes(target, 256) == b"\1" * 256  # the stream is held up
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    assert len(junk) == 1000
    assert acl.util.ptr_to_bytes(target, 256) == b"".join(bytes([index + 10]) * 64 for index in range(4))


def test_malloc_host_memory_is_read_in_the_streams_time(stream: int, gate: MakeGate, target: int) -> None:
    """C050: memory of malloc_host is asynchronous: what it holds when the copy runs counts, and it may be freed."""
    host = good(acl.rt.malloc_host(256))
    ok(acl.rt.memset(host, 256, 5, 256))
    held = gate(stream)
    ok(acl.rt.memcpy_async(target, 256, host, 256, H2D, stream))
    ok(acl.rt.memset(host, 256, 6, 256))
    ok(acl.rt.free_host(host))
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    assert acl.util.ptr_to_bytes(target, 256) == b"\6" * 256


def test_results_in_malloc_host_memory(stream: int, gate: MakeGate, target: int) -> None:
    """A copy to malloc_host memory takes its place behind the work before it."""
    host = good(acl.rt.malloc_host(256))
    ok(acl.rt.memset(host, 256, 0, 256))
    held = gate(stream)
    ok(acl.rt.memset_async(target, 256, 9, 256, stream))
    ok(acl.rt.memcpy_async(host, 256, target, 256, D2H, stream))
    assert acl.util.ptr_to_bytes(host, 256) == bytes(256)
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    assert acl.util.ptr_to_bytes(host, 256) == b"\x09" * 256


def test_freed_device_memory_stays_for_queued_copies(stream: int, gate: MakeGate, target: int) -> None:
    """A block that is freed while a queued copy reads it is not handed out before the copy is over."""
    source = good(acl.rt.malloc(256, 0))
    ok(acl.rt.memset(source, 256, 3, 256))
    held = gate(stream)
    ok(acl.rt.memcpy_async(target, 256, source, 256, D2D, stream))
    ok(acl.rt.free(source))
    again = good(acl.rt.malloc(256, 0))
    ok(acl.rt.memset(again, 256, 4, 256))
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    assert acl.util.ptr_to_bytes(target, 256) == b"\3" * 256


def test_asynchronous_memset(stream: int, gate: MakeGate, target: int) -> None:
    """memset_async sets a part of a block, or host memory, in the stream's own time; wrong spans are refused at once."""
    array = np.zeros(16, np.uint8)
    held = gate(stream)
    ok(acl.rt.memset_async(target + 16, 240, 0x1FF, 32, stream))
    ok(acl.rt.memset_async(array.ctypes.data, 16, 7, 16, stream))
    assert acl.rt.memset_async(target, 256, 0, 100_000, stream) == 107000
    assert acl.rt.memset_async(target + 200, 1 << 20, 0, 1000, stream) == 107000
    assert acl.rt.memset_async(0, 256, 0, 1, stream) == 100000
    assert acl.rt.memset_async(0, 0, 0, 0, stream) == 0
    gone = good(acl.rt.malloc(64, 0))
    ok(acl.rt.free(gone))
    assert acl.rt.memset_async(gone, 64, 0, 64, stream) == 107000
    assert acl.util.ptr_to_bytes(target, 256) == b"\1" * 256
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    assert acl.util.ptr_to_bytes(target, 256) == b"\1" * 16 + b"\xff" * 32 + b"\1" * 208
    assert array.tolist() == [7] * 16


def test_a_copy_of_host_memory_that_is_unmapped_before_it_runs(stream: int, gate: MakeGate) -> None:
    """A pageable target that is gone when the copy runs is a late code, 107000, not a crash."""
    source = put(np.ones(4096, np.uint8))
    page = mmap.mmap(-1, 1 << 20)
    address = np.frombuffer(page, np.uint8).ctypes.data
    held = gate(stream)
    ok(acl.rt.memcpy_async(address, 4096, source, 4096, D2H, stream))
    page.close()
    held.open()

    assert acl.rt.synchronize_stream(stream) == 107000


def test_windows_of_an_image(device: int) -> None:
    """C052: a window of 3 rows of 5 bytes goes out of, and into, an image of 8 rows of 16 bytes."""
    image = np.arange(128, dtype=np.uint8).reshape(8, 16)
    pointer = put(image)
    window = np.zeros((3, 5), np.uint8)
    ok(acl.rt.memcpy2d(window.ctypes.data, 5, pointer + 2 * 16 + 4, 16, 5, 3, D2H))
    np.testing.assert_array_equal(window, image[2:5, 4:9])

    patch = np.full((3, 5), 200, np.uint8)
    ok(acl.rt.memcpy_2d(pointer + 16 + 1, 16, patch.ctypes.data, 5, 5, 3, H2D))
    expected = image.copy()
    expected[1:4, 1:6] = 200
    np.testing.assert_array_equal(get(pointer, image), expected)


@pytest.mark.parametrize("pitches", [(7, 7), (7, 16), (16, 7), (9, 16), (7, 4000), (4000, 7), (4000, 4000)])
@pytest.mark.parametrize("height", [1, 2, 700])
def test_many_rows(stream: int, pitches: tuple[int, int], height: int) -> None:
    """Rows of 7 bytes arrive wherever they lie, dense or far apart, and what lies between them stays as it is."""
    device_pitch, host_pitch = pitches
    host = np.arange(height * host_pitch).astype(np.uint8)
    pointer = put(np.full(height * device_pitch, 200, np.uint8))
    back = np.full(height * host_pitch, 100, np.uint8)
    ok(acl.rt.memcpy2d(pointer, device_pitch, host.ctypes.data, host_pitch, 7, height, H2D))
    ok(acl.rt.memcpy2d_async(back.ctypes.data, host_pitch, pointer, device_pitch, 7, height, D2H, stream))
    ok(acl.rt.synchronize_stream(stream))

    rows, expected = host.reshape(height, host_pitch), np.full((height, device_pitch), 200, np.uint8)
    expected[:, :7] = rows[:, :7]
    np.testing.assert_array_equal(get(pointer, expected), expected)
    again = np.full((height, host_pitch), 100, np.uint8)
    again[:, :7] = rows[:, :7]
    np.testing.assert_array_equal(back.reshape(again.shape), again)


def test_windows_that_are_refused(device: int) -> None:
    """C052: a width beyond a pitch, other kinds, null and short memory are codes; no rows are nothing."""
    image = np.zeros((8, 16), np.uint8)
    pointer, host = put(image), np.ones((8, 16), np.uint8).ctypes.data

    assert acl.rt.memcpy2d(pointer, 4, host, 16, 5, 3, H2D) == 100000
    assert acl.rt.memcpy2d(pointer, 16, host, 4, 5, 3, H2D) == 100000
    for kind in (H2H, D2D, DEFAULT, 9):
        assert acl.rt.memcpy2d(pointer, 16, host, 16, 5, 3, kind) == 100000
    assert acl.rt.memcpy2d(0, 16, host, 16, 5, 3, H2D) == 100000
    assert acl.rt.memcpy2d(pointer, 16, host, 16, 16, 100, H2D) == 107000
    assert acl.rt.memcpy2d(pointer, 16, 8, 16, 16, 2, H2D) == 107000
    assert acl.rt.memcpy2d(pointer, 16, host, 16, 5, 0, H2D) == 0
    assert acl.rt.memcpy2d(pointer, 16, host, 16, 0, 1 << 46, H2D) == 0
    assert acl.rt.memcpy2d(pointer, 16, host, 16, 5, -1, H2D) == 100000
    np.testing.assert_array_equal(get(pointer, image), image)


def test_windows_in_a_streams_time(stream: int, gate: MakeGate) -> None:
    """An asynchronous window reads pageable memory at once, and writes in its place in the stream."""
    pointer, patch = put(np.zeros((4, 8), np.uint8)), np.full((2, 3), 7, np.uint8)
    window = np.zeros((2, 3), np.uint8)
    held = gate(stream)
    ok(acl.rt.memcpy2d_async(pointer + 9, 8, patch.ctypes.data, 3, 3, 2, H2D, stream))
    ok(acl.rt.memcpy_2d_async(window.ctypes.data, 3, pointer + 9, 8, 3, 2, D2H, stream))
    assert acl.rt.memcpy2d_async(pointer, 8, patch.ctypes.data, 3, 9, 2, H2D, stream) == 100000
    patch[:] = 0
    assert get(pointer, np.zeros(32, np.uint8)).any() == np.False_
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    expected = np.zeros((4, 8), np.uint8)
    expected[1:3, 1:4] = 7
    np.testing.assert_array_equal(get(pointer, expected), expected)
    np.testing.assert_array_equal(window, np.full((2, 3), 7, np.uint8))


def test_spans_that_leave_malloc_host_memory(stream: int, target: int) -> None:
    """A span that begins in a malloc_host block and ends outside is 107000, though what lies behind is mapped too."""
    host, big = good(acl.rt.malloc_host(256)), good(acl.rt.malloc(1 << 20, 0))

    assert acl.rt.memcpy(host, 1 << 40, big, 257, D2H) == 107000
    assert acl.rt.memcpy(big, 1 << 20, host, 1 << 17, H2D) == 107000
    assert acl.rt.memcpy(big, 1 << 20, host + 8, 1 << 17, H2D) == 107000
    assert acl.rt.memset(host, 1 << 40, 1, 1 << 33) == 107000
    assert acl.rt.memset(host + 255, 1 << 40, 1, 2) == 107000
    assert acl.rt.memset_async(host, 1 << 40, 1, 300, stream) == 107000
    assert acl.rt.memcpy_async(host + 8, 1 << 40, big, 256, D2H, stream) == 107000
    assert acl.rt.memcpy2d(host, 16, big, 16, 16, 17, D2H) == 107000
    assert acl.rt.memcpy(host + 8, 248, target, 248, D2H) == 0
    ok(acl.rt.memcpy2d(host, 16, big, 16, 16, 16, D2H))
