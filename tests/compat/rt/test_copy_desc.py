"""Copies that device memory describes, and copies that wait if they must."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

import acl
from tests.compat._programs import D2D, D2H, H2D, H2H, MakeGate, get, good, ok, put

INNER = 6


@pytest.fixture
def desc(device: int) -> int:
    """Device memory for a description."""
    return int(good(acl.rt.malloc(good(acl.rt.get_memcpy_desc_size(INNER)), 0)))


@pytest.fixture
def blocks(device: int) -> tuple[int, int]:
    """A block of twos, and one of zeros."""
    return put(np.full(256, 2, np.uint8)), put(np.zeros(256, np.uint8))


def test_a_described_copy(stream: int, desc: int, blocks: tuple[int, int]) -> None:
    """The stream copies what the description says, each time it is submitted."""
    source, target = blocks
    assert acl.rt.set_memcpy_desc(desc, INNER, source + 3, target + 5, 100, 0) == (desc, 0)
    for _ in range(2):
        ok(acl.rt.memcpy_async_with_desc(desc, INNER, stream))
        ok(acl.rt.synchronize_stream(stream))
        assert acl.util.ptr_to_bytes(target, 256) == bytes(5) + b"\2" * 100 + bytes(151)
        ok(acl.rt.memset(target, 256, 0, 256))


def test_the_description_counts_when_the_stream_comes_to_it(
    stream: int, gate: MakeGate, desc: int, blocks: tuple[int, int]
) -> None:
    """Work before it may replace the description: here by a copy of another one."""
    source, target = blocks
    other = good(acl.rt.malloc(64, 0))
    good(acl.rt.set_memcpy_desc(desc, INNER, source, target, 8, None))
    good(acl.rt.set_memcpy_desc(other, INNER, source, target, 16, None))
    held = gate(stream)
    ok(acl.rt.memcpy_async(desc, 64, other, 64, D2D, stream))
    ok(acl.rt.memcpy_async_with_desc(desc, INNER, stream))
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    assert acl.util.ptr_to_bytes(target, 32) == b"\2" * 16 + bytes(16)


def test_memory_that_is_no_description_fails_in_the_stream(stream: int, desc: int, blocks: tuple[int, int]) -> None:
    """Zeros, and a description whose memory was freed, are 107000 at the next synchronise; nothing is written."""
    source, target = blocks
    ok(acl.rt.memset(desc, 64, 0, 64))
    ok(acl.rt.memcpy_async_with_desc(desc, INNER, stream))
    assert acl.rt.synchronize_stream(stream) == 107000
    good(acl.rt.set_memcpy_desc(desc, INNER, source, target, 8, 0))
    ok(acl.rt.free(source))
    ok(acl.rt.memcpy_async_with_desc(desc, INNER, stream))

    assert acl.rt.synchronize_stream(stream) == 107000
    assert acl.util.ptr_to_bytes(target, 256) == bytes(256)


def test_descriptions_that_are_refused(stream: int, desc: int, blocks: tuple[int, int]) -> None:
    """Kinds, null addresses, counts, configs and memory that is not the device's; the description stays as it was."""
    source, target = blocks
    host = good(acl.rt.malloc_host(256))
    before = acl.util.ptr_to_bytes(desc, 64)

    assert acl.rt.get_memcpy_desc_size(8) == acl.rt.get_memcpy_desc_size(-1) == (0, 100000)
    assert [acl.rt.get_memcpy_desc_size(kind)[1] for kind in range(8)] == [207000] * 6 + [0, 207000]
    assert acl.rt.set_memcpy_desc(0, INNER, source, target, 8, 0) == (0, 100000)
    for wrong, code in (
        ((9, source, target, 8, 0), 100000), ((H2D, source, target, 8, 0), 207000),
        ((INNER, 0, target, 8, 0), 100000), ((INNER, source, 0, 8, 0), 100000),
        ((INNER, source, target, 0, 0), 100000), ((INNER, source, target, 8, 1), 100000),
        ((INNER, source, target, 1 << 20, 0), 107000), ((INNER, host, target, 8, 0), 107000),
        ((INNER, source, host, 8, 0), 107000),
    ):  # fmt: skip
        assert acl.rt.set_memcpy_desc(desc, *wrong) == (desc, code)
    assert acl.rt.set_memcpy_desc(host, INNER, source, target, 8, 0) == (host, 107000)
    assert acl.util.ptr_to_bytes(desc, 64) == before
    assert acl.rt.memcpy_async_with_desc(0, INNER, stream) == 100000
    assert acl.rt.memcpy_async_with_desc(desc, D2D, stream) == 207000
    assert acl.rt.memcpy_async_with_desc(host, INNER, stream) == 107000
    assert acl.rt.memcpy_async_with_desc(desc, INNER, 12345) == 107017


def test_a_copy_to_pageable_memory_is_waited_for(stream: int, blocks: tuple[int, int]) -> None:
    """The result can be read when the call returns: the work before it is over as well."""
    source, _ = blocks
    result = np.zeros(256, np.uint8)
    ok(acl.rt.memset_async(source, 256, 8, 256, stream))
    ok(acl.rt.memcpy_async_with_condition(result.ctypes.data, 256, source, 256, D2H, stream))

    assert result.tolist() == [8] * 256


def test_a_copy_between_locked_memories_is_not_waited_for(stream: int, gate: MakeGate, blocks: tuple[int, int]) -> None:
    """Memory of malloc_host, and registered memory, lets the call return while the stream is held up."""
    source, target = blocks
    host, memory = good(acl.rt.malloc_host(256)), mmap.mmap(-1, 4096)
    registered = np.frombuffer(memory, np.uint8)
    ok(acl.rt.host_register_v2(registered.ctypes.data, 4096, 2))
    held = gate(stream)
    ok(acl.rt.memcpy_async_with_condition(host, 256, source, 256, D2H, stream))
    ok(acl.rt.memcpy_async_with_condition(registered.ctypes.data, 256, source, 256, D2H, stream))
    ok(acl.rt.memcpy_async_with_condition(target, 256, source, 256, D2D, stream))
    assert not registered.any()
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    assert acl.util.ptr_to_bytes(host, 256) == registered[:256].tobytes() == b"\2" * 256
    assert get(target, np.zeros(256, np.uint8)).tolist() == [2] * 256
    ok(acl.rt.host_unregister(registered.ctypes.data))


def test_conditional_copies_that_are_refused(stream: int, blocks: tuple[int, int]) -> None:
    """The codes are those of memcpy_async; failures of the work that is waited for come too."""
    source, target = blocks
    array = np.zeros(256, np.uint8)
    copy, host = acl.rt.memcpy_async_with_condition, array.ctypes.data

    assert copy(host, 256, host, 256, H2H, stream) == 207000
    assert copy(0, 256, host, 256, H2D, stream) == copy(target, 256, host, 256, 77, stream) == 100000
    assert copy(target, 8, host, 256, H2D, stream) == copy(target, 1 << 20, host, 1 << 19, H2D, stream) == 107000
    assert copy(target + 8, 64, source, 64, D2D, stream) == 107008
    assert copy(0, 0, 0, 0, H2D, stream) == 0
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ)
    readonly = np.frombuffer(page, np.uint8).ctypes.data
    assert copy(readonly, 256, source, 256, D2H, stream) == 107000
    ok(acl.rt.synchronize_stream(stream))
