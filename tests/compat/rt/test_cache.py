"""Caches, of which there are none to see."""

from __future__ import annotations

import pytest

import acl
from tests.compat._programs import MakeGate, good, ok


def test_caches_need_no_flush(device: int) -> None:
    """mem_flush and mem_invalidate answer 0 for the device's memory, 107000 for anything else."""
    pointer = good(acl.rt.malloc_cached(100, 0))

    assert (acl.rt.mem_flush(pointer, 100), acl.rt.mem_invalidate(pointer + 4, 8)) == (0, 0)
    assert acl.rt.mem_flush(pointer, 1 << 20) == 107000
    assert acl.rt.mem_invalidate(4096, 8) == 107000


@pytest.mark.parametrize("kind", range(4))
def test_cache_operations_change_nothing(stream: int, gate: MakeGate, kind: int) -> None:
    """cmo_async takes memory of the device, also while the stream is held up, and leaves its contents alone."""
    pointer = good(acl.rt.malloc(100, 0))
    ok(acl.rt.memset(pointer, 100, 7, 100))
    held = gate(stream)
    ok(acl.rt.cmo_async(pointer + 4, 96, kind, stream))
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    assert acl.util.ptr_to_bytes(pointer, 100) == b"\7" * 100


def test_cache_operations_that_are_refused(stream: int) -> None:
    """Null and unknown types are 100000, other memory and no bytes 107000, a dead stream 107017."""
    pointer, host = good(acl.rt.malloc(100, 0)), good(acl.rt.malloc_host(100))

    assert acl.rt.cmo_async(0, 8, 0, stream) == 100000
    assert acl.rt.cmo_async(pointer, 8, 4, stream) == acl.rt.cmo_async(pointer, 8, -1, stream) == 100000
    assert acl.rt.cmo_async(pointer, 0, 0, stream) == acl.rt.cmo_async(pointer, 1 << 20, 0, stream) == 107000
    assert acl.rt.cmo_async(host, 8, 0, stream) == 107000
    ok(acl.rt.destroy_stream(stream))
    assert acl.rt.cmo_async(pointer, 8, 0, stream) == 107017
