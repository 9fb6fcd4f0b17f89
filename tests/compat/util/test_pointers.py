"""Addresses of Python objects, and objects from addresses."""

from __future__ import annotations

import ctypes
import gc
import io
import os
import weakref
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acl
from tests.compat._programs import D2H, H2D, Array, good, ok, put, run_program, untyped


def test_bytes_are_addressed_in_place(device: int) -> None:
    """bytes_to_ptr gives the object's own storage: copying into it changes the object."""
    data = bytes(bytearray(range(64)))
    address = acl.util.bytes_to_ptr(data)
    assert ctypes.string_at(address, 64) == data

    pointer = put(np.arange(64, 128, dtype=np.uint8))
    ok(acl.rt.memcpy(address, 64, pointer, 64, D2H))
    assert data == bytes(range(64, 128))


def test_addresses_of_temporaries_stay_good(device: int) -> None:
    """A temporary whose address was taken is kept for a while: the bytes are there when they are used."""
    addresses = [acl.util.bytes_to_ptr(bytes([index]) * 4096) for index in range(100)]
    arrays = [acl.util.numpy_to_ptr(np.full(4096, index, np.uint8)) for index in range(100)]
    gc.collect()
    junk = [bytes([0xEE]) * 4096 for _ in range(500)]
    pointer = good(acl.rt.malloc(4096, 0))

    for index, address in enumerate((*addresses, *arrays)):
        ok(acl.rt.memcpy(pointer, 4096, address, 4096, H2D))
        assert acl.util.ptr_to_bytes(pointer, 4096) == bytes([index % 100]) * 4096
    assert len(junk) == 500


@pytest.mark.parametrize("thing", [[1], bytearray(4), memoryview(b"ab"), "text", None, 5, np.zeros(2)])
def test_what_is_no_bytes_object(thing: object) -> None:
    """C067: bytes_to_ptr takes bytes, and says so."""
    with pytest.raises(TypeError, match="a bytes object is required"):
        untyped.util.bytes_to_ptr(thing)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("transpose", np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)),
        ("reversed", np.arange(24).reshape(4, 6)[:, ::-1]),
        ("fortran", np.asfortranarray(np.arange(24).reshape(4, 6))),
        ("strided", np.arange(24)[::3]),
    ],
)
def test_discontiguous_arrays_are_warned_about(name: str, array: Array, capfd: pytest.CaptureFixture[str]) -> None:
    """C060: the warning comes each time, and the address is that of the first element."""
    for _ in range(2):
        assert acl.util.numpy_to_ptr(array) == array.ctypes.data
        assert "discontiguous" in capfd.readouterr().err


@pytest.mark.parametrize("array", [np.arange(24).reshape(4, 6), np.arange(5), np.array(3.0), np.zeros((0, 3))])
def test_contiguous_arrays_are_not(array: Array, capfd: pytest.CaptureFixture[str]) -> None:
    """C060: contiguous arrays, 0-d and empty ones included, give their address silently."""
    assert acl.util.numpy_to_ptr(array) == array.ctypes.data
    assert capfd.readouterr().err == ""


def test_contiguous_copies_are_handed_back() -> None:
    """numpy_contiguous_to_ptr returns the array itself, or a contiguous copy of it, and its address."""
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert acl.util.numpy_contiguous_to_ptr(array) == (array.ctypes.data, array)
    scalar = np.array(2.5)
    assert acl.util.numpy_contiguous_to_ptr(scalar)[1] is scalar

    pointer, copy = acl.util.numpy_contiguous_to_ptr(array.T)

    assert copy.flags.c_contiguous
    assert pointer == copy.ctypes.data
    np.testing.assert_array_equal(copy, array.T)


@pytest.mark.parametrize("thing", [[1, 2], b"ab", "text", None, 5, np.float32(1)])
def test_what_is_no_array(thing: object) -> None:
    """C067: the array functions take arrays, and say so."""
    for function in (untyped.util.numpy_to_ptr, untyped.util.numpy_contiguous_to_ptr):
        with pytest.raises(TypeError, match=r"numpy\.ndarray"):
            function(thing)


_TYPES = {
    0: "?", 1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "i8", 8: "u8", 11: "f4", 12: "f8", 23: "f2"
}  # fmt: skip


@pytest.mark.parametrize("number", _TYPES)
def test_numpy_type_numbers(device: int, number: int) -> None:
    """C065: each type number views device memory as its dtype, without a copy."""
    array = np.arange(6).astype(_TYPES[number]).reshape(2, 3)
    pointer = put(array)
    view = acl.util.ptr_to_numpy(pointer, (2, 3), number)

    assert view.dtype == array.dtype
    np.testing.assert_array_equal(view, array)
    ok(acl.rt.memset(pointer, array.nbytes, 0, array.nbytes))
    assert not view.any()


def test_shapes_of_views(device: int) -> None:
    """C065: a scalar, an empty and a list shape work; unknown numbers, negative dims and null are errors."""
    pointer = put(np.arange(8, dtype=np.float32))

    assert acl.util.ptr_to_numpy(pointer, (), 11).shape == ()
    assert acl.util.ptr_to_numpy(pointer + 8, (), 11) == 2
    assert acl.util.ptr_to_numpy(pointer, (0,), 11).shape == (0,)
    assert acl.util.ptr_to_numpy(pointer, [2, 4], 11).shape == (2, 4)
    for wrong in ((pointer, (8,), 99), (pointer, (-1,), 11), (0, (8,), 11), (8, (8,), 11), (pointer, (10**6,), 11)):
        with pytest.raises(ValueError, match=r"."):
            acl.util.ptr_to_numpy(*wrong)
    with pytest.raises(TypeError):
        untyped.util.ptr_to_numpy(pointer, ("8",), 11)


def test_views_outlive_the_memory(device: int) -> None:
    """C061: a view keeps device and malloc_host memory in place after it was freed; copies stay what they were."""
    host = good(acl.rt.malloc_host(4096))
    pointer = good(acl.rt.malloc(4096, 0))
    ok(acl.rt.memset(host, 4096, 3, 4096))
    ok(acl.rt.memset(pointer, 4096, 4, 4096))
    views = acl.util.ptr_to_numpy(host, (4096,), 2), acl.util.ptr_to_numpy(pointer, (4096,), 2)
    copies = [view.copy() for view in views]
    ok(acl.rt.free_host(host))
    ok(acl.rt.free(pointer))
    gc.collect()
    again = [good(acl.rt.malloc(4096, 0)) for _ in range(3)]
    for other in again:
        ok(acl.rt.memset(other, 4096, 9, 4096))

    for view, copy, value in zip(views, copies, (3, 4), strict=True):
        assert (copy == value).all()
        assert (view == value).all()


def test_views_in_a_process_that_has_ended_the_runtime() -> None:
    """C061: reading views after reset and finalize does not crash."""
    out = run_program(
        """
        import acl, gc
        acl.init(); acl.rt.set_device(0)
        host, _ = acl.rt.malloc_host(1 << 20)
        device, _ = acl.rt.malloc(1 << 20, 0)
        views = [acl.util.ptr_to_numpy(p, (1 << 20,), 2) for p in (host, device)]
        for p in (host, device): acl.rt.memset(p, 1 << 20, 1, 1 << 20)
        acl.rt.free_host(host); acl.rt.reset_device(0); acl.finalize(); gc.collect()
        print([int(view.sum()) for view in views])
        """
    )

    assert out == "[1048576, 1048576]\n"


def test_views_alias_and_copies_do_not(device: int) -> None:
    """C062: the next result overwrites a view by design; what ptr_to_bytes gave stays."""
    pointer = good(acl.rt.malloc(64, 0))
    view = acl.util.ptr_to_numpy(pointer, (64,), 2)
    results = []
    for value in (1, 2, 3):
        ok(acl.rt.memset(pointer, 64, value, 64))
        results.append(acl.util.ptr_to_bytes(pointer, 64))

    assert [result[0] for result in results] == [1, 2, 3]
    assert view[0] == 3


def test_bytes_are_copies(device: int) -> None:
    """C066: ptr_to_bytes copies: later writes do not show, arrays of it are read-only; nothing is b""."""
    pointer = put(np.full(64, 5, np.uint8))
    data = acl.util.ptr_to_bytes(pointer, 64)
    ok(acl.rt.memset(pointer, 64, 6, 64))

    assert data == b"\5" * 64
    assert not np.frombuffer(data, np.uint8).flags.writeable
    assert acl.util.ptr_to_bytes(pointer, 0) == b""


def test_bytes_of_bad_addresses(device: int) -> None:
    """C066: null, unmapped, freed memory and negative sizes raise ValueError, with a text for get_recent_err_msg."""
    pointer = good(acl.rt.malloc(64, 0))
    ok(acl.rt.free(pointer))

    with pytest.raises(ValueError, match="freed"):
        acl.util.ptr_to_numpy(pointer, (4,), 2)
    for address, size in ((0, 4), (8, 4), (pointer, 4), (-8, 4), (pointer, -1), (0, 0)):
        with pytest.raises(ValueError, match=r"."):
            acl.util.ptr_to_bytes(address, size)
    with pytest.raises(TypeError):
        untyped.util.ptr_to_bytes("0", 4)


def test_spans_that_leave_malloc_host_memory(device: int) -> None:
    """A view or copy that begins in a malloc_host block and ends outside raises ValueError, wherever it begins."""
    host = good(acl.rt.malloc_host(16))

    for offset in (0, 8):
        with pytest.raises(ValueError, match="reach beyond"):
            acl.util.ptr_to_numpy(host + offset, (17 - offset,), 2)
        with pytest.raises(ValueError, match="reach beyond"):
            acl.util.ptr_to_bytes(host + offset, 17 - offset)
        assert len(acl.util.ptr_to_bytes(host + offset, 16 - offset)) == 16 - offset
    assert acl.op.load(host + 8, 16) == 107000
    assert acl.mdl.load_from_mem(host + 8, 16) == (0, 107000)


def test_odd_arrays_in_a_process_of_their_own() -> None:
    """C067: 0-d, empty, big-endian, structured, object and read-only arrays give an address, never a crash."""
    out = run_program(
        """
        import acl, tempfile, numpy as np
        arrays = [np.array(1), np.zeros((3, 0)), np.arange(3, dtype=">i4"), np.zeros(2, [("a", "i4"), ("b", "f8")]),
                  np.array([None, "x"], object), np.frombuffer(b"abcd", np.uint8), np.zeros((1 << 20,)),
                  np.ma.masked_array([1, 2], [0, 1]),
                  np.memmap(tempfile.TemporaryFile(), np.uint8, "w+", shape=(64,))]
        print([acl.util.numpy_to_ptr(array) == array.ctypes.data for array in arrays])
        """
    )

    assert out.strip() == str([True] * 9)


_ODD_ADDRESSES = (0, 1, -1, 1 << 47, 1 << 63, (1 << 64) - 1, 1 << 64, 1 << 70, None, "1", 1.5, b"a")
_ODD_SIZES = (-1, 97, 1 << 31, 1 << 62, 1 << 63, 1 << 64, 1 << 70, None, 1.0, "3")
_ODD_SHAPES = ((-1,), (65,), (1 << 62,), (1 << 40, 1 << 40), (1 << 64,), (1,) * 70, None, 5, "8", (1.0,), (None,))
_ODD_NUMBERS = (-1, 17, 99, 1 << 70, None, "f4", np.float32)


def test_odd_numbers(device: int) -> None:
    """Null, wild, huge and negative addresses, sizes, shapes and type numbers are TypeError or ValueError with a text."""
    pointer = good(acl.rt.malloc(64, 0))
    calls: list[tuple[Any, tuple[Any, ...]]] = [(untyped.util.ptr_to_bytes, (pointer, size)) for size in _ODD_SIZES]
    calls += [(untyped.util.ptr_to_bytes, (address, 8)) for address in _ODD_ADDRESSES]
    calls += [(untyped.util.ptr_to_numpy, (address, (8,), 2)) for address in _ODD_ADDRESSES]
    calls += [(untyped.util.ptr_to_numpy, (pointer, shape, 13)) for shape in _ODD_SHAPES]
    calls += [(untyped.util.ptr_to_numpy, (pointer, (1,), number)) for number in _ODD_NUMBERS]

    for function, arguments in calls:
        acl.get_recent_err_msg()
        with pytest.raises((TypeError, ValueError)) as caught:
            function(*arguments)
        assert caught.type is TypeError or str(caught.value) in (acl.get_recent_err_msg() or ""), arguments


def test_mapped_files_are_checked(device: int, tmp_path: Path) -> None:
    """An array on a mapped file is not relied on: one that is read-only, or was cut off, is a code and no crash."""
    path = tmp_path / "data"
    path.write_bytes(bytes([7]) * 8192)
    pointer = good(acl.rt.malloc(4096, 0))
    locked = np.memmap(path, np.uint8, "r")
    address = acl.util.numpy_to_ptr(locked)
    ok(acl.rt.memcpy(pointer, 4096, address, 4096, H2D))
    assert acl.util.ptr_to_bytes(pointer, 4096) == bytes([7]) * 4096

    assert acl.rt.memcpy(address, 4096, pointer, 4096, D2H) == 107000
    assert acl.rt.memset(address, 4096, 0, 4096) == 107000
    open_one = np.memmap(path, np.uint8, "r+")
    address = acl.util.numpy_to_ptr(open_one)
    os.truncate(path, 0)
    assert acl.rt.memcpy(pointer, 4096, address, 4096, H2D) == 107000


def test_shared_memory_can_be_closed() -> None:
    """Asking for the address of an array on shared memory does not keep the program from closing it."""
    shared = SharedMemory(create=True, size=4096)
    try:
        array = np.frombuffer(shared.buf or b"", np.uint8)
        assert acl.util.numpy_to_ptr(array) == array.ctypes.data
        assert acl.util.numpy_contiguous_to_ptr(array[::2])[1].sum() == 0
        del array
        shared.close()
    finally:
        shared.unlink()


def test_temporaries_on_bytes_stay_good(device: int) -> None:
    """An array on a bytes or bytearray object that was a temporary is kept too, with what it lies on."""
    addresses = [acl.util.numpy_to_ptr(np.frombuffer(kind([5]) * 4096, np.uint8)) for kind in (bytes, bytearray)]
    gc.collect()
    junk = [kind([0xEE]) * 4096 for kind in (bytes, bytearray) for _ in range(100)]

    assert [acl.util.ptr_to_bytes(address, 4096) for address in addresses] == [bytes([5]) * 4096] * 2
    assert len(junk) == 200


def test_discontiguous_arrays_count_in_what_is_kept(capfd: pytest.CaptureFixture[str]) -> None:
    """What is kept is bounded by bytes, whatever the layout: large transposed arrays push each other out."""
    watched = []
    for _ in range(40):
        array = np.zeros((4096, 4096), np.uint8)
        watched.append(weakref.ref(array))
        acl.util.numpy_to_ptr(array.T)
        del array
    gc.collect()

    assert sum(each() is not None for each in watched) * (16 << 20) <= 256 << 20
    assert capfd.readouterr().err.count("discontiguous") == 40


def test_a_closed_stderr_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that run without a standard error get their address, and no exception."""
    array = np.arange(24).reshape(4, 6).T
    closed = io.StringIO()
    closed.close()
    for stream in (closed, None):
        monkeypatch.setattr("sys.stderr", stream)
        assert acl.util.numpy_to_ptr(array) == array.ctypes.data
