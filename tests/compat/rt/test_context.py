"""Contexts: thread by thread, made and ended."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import acl
from tests.compat._programs import MakeGate, good, in_thread, ok, untyped


def test_a_worker_thread_begins_without_context(device: int) -> None:
    """C014: in a thread that set nothing every call is 107002; after set_context all of them work."""
    context = good(acl.rt.create_context(0))

    def calls() -> list[int]:
        pointer, malloc = acl.rt.malloc(64, 0)
        stream, create = acl.rt.create_stream()
        data = bytes(64)
        return [
            malloc,
            create,
            acl.rt.memcpy(pointer or 4096, 64, acl.util.bytes_to_ptr(data), 64, 1),
            acl.rt.memset(pointer or 4096, 64, 0, 64),
            acl.rt.malloc_host(64)[1],
            acl.rt.create_event()[1],
            acl.rt.synchronize_stream(stream),
            acl.rt.synchronize_device(),
            acl.rt.get_context()[1],
            acl.rt.get_mem_info(1)[2],
            acl.media.dvpp_malloc(64)[1],
            acl.himpi.dvpp_malloc(0, 64)[1],
            acl.mdl.load_from_file("any.om")[1] if not pointer else 0,
            acl.rt.ctx_get_current_default_stream()[1],
        ]

    def work() -> tuple[list[int], int, list[int]]:
        return calls(), acl.rt.set_context(context), calls()

    without, ret, within = in_thread(work)

    assert set(without) == {107002}
    assert (ret, set(within)) == (0, {0})


def test_set_context_changes_one_thread_only(device: int) -> None:
    """C017: a library that switches contexts in one thread does not disturb another; switching back restores all."""
    first = good(acl.rt.create_context(0))
    stream = good(acl.rt.create_stream())
    second = good(acl.rt.create_context(0))
    assert acl.rt.synchronize_stream(stream) == 107003

    assert in_thread(lambda: (acl.rt.set_context(second), acl.rt.get_context())) == (0, (second, 0))
    ok(acl.rt.set_context(first))

    assert acl.rt.get_context() == (first, 0)
    assert acl.rt.synchronize_stream(stream) == 0


async def test_awaiting_leaves_the_context_alone(device: int) -> None:
    """C017: after any await the context of the loop's thread is what it was."""
    context = good(acl.rt.create_context(0))
    await asyncio.sleep(0)
    await asyncio.to_thread(acl.rt.set_device, 1)

    assert acl.rt.get_context() == (context, 0)


def test_streams_of_another_context(device: int) -> None:
    """C018: using or destroying one is 107003, and it stays good for its own context."""
    first = good(acl.rt.create_context(0))
    stream = good(acl.rt.create_stream())
    good(acl.rt.create_context(0))

    assert acl.rt.synchronize_stream(stream) == 107003
    assert "call acl.rt.set_context with the one that was current" in (acl.get_recent_err_msg() or "")
    assert acl.rt.destroy_stream(stream) == 107003
    assert acl.rt.stream_query(stream) == (1, 107003)
    assert acl.rt.subscribe_report(1, stream) == 107003
    ok(acl.rt.set_context(first))
    assert acl.rt.destroy_stream(stream) == 0


def test_making_and_destroying_contexts(device: int) -> None:
    """C020: a new context is current; 0 and the default one cannot be destroyed; the thread then has none."""
    default = good(acl.rt.get_context())
    context = good(acl.rt.create_context(0))
    assert acl.rt.get_context() == (context, 0)

    assert acl.rt.set_context(0) == 100000
    assert acl.rt.destroy_context(0) == 100000
    assert acl.rt.destroy_context(default) == 100000
    assert acl.rt.destroy_context(context) == 0
    assert acl.rt.get_context() == (0, 107002)
    assert acl.rt.malloc(64, 0) == (0, 107002)
    assert acl.rt.destroy_context(context) == 107017
    assert acl.rt.set_context(context) == 107017
    ok(acl.rt.set_context(default))


def test_a_context_destroyed_elsewhere_is_gone_here(device: int) -> None:
    """A thread whose context another thread destroyed gets 107002, not a crash."""
    context = good(acl.rt.create_context(0))

    assert in_thread(lambda: acl.rt.destroy_context(context)) == 0
    assert acl.rt.create_stream() == (0, 107002)
    ok(acl.rt.set_device(0))


def test_memory_survives_contexts(device: int) -> None:
    """Memory belongs to the device: what a context's thread allocated is good after the context is gone."""
    good(acl.rt.create_context(0))
    pointer = good(acl.rt.malloc(64, 0))
    ok(acl.rt.memset(pointer, 64, 5, 64))
    ok(acl.rt.destroy_context(good(acl.rt.get_context())))
    ok(acl.rt.set_device(0))

    assert acl.util.ptr_to_bytes(pointer, 64) == b"\5" * 64
    ok(acl.rt.free(pointer))


def test_a_context_takes_its_streams_along(device: int) -> None:
    """Streams end with their context; their handles are dead, and no stream of the same number comes back."""
    context = good(acl.rt.create_context(0))
    stream = good(acl.rt.create_stream())
    ok(acl.rt.destroy_context(context))
    ok(acl.rt.set_device(0))

    assert acl.rt.synchronize_stream(stream) == 107017
    assert acl.rt.destroy_stream(stream) == 107017
    assert good(acl.rt.create_stream()) != stream


def test_each_context_has_a_default_stream(device: int) -> None:
    """Stream 0 is the default stream of the current context, which has a handle of its own."""
    first = good(acl.rt.ctx_get_current_default_stream())
    good(acl.rt.create_context(0))
    second = good(acl.rt.ctx_get_current_default_stream())

    assert first != second
    assert acl.rt.synchronize_stream(second) == acl.rt.synchronize_stream(0) == 0
    assert acl.rt.synchronize_stream(first) == 107003
    assert acl.rt.destroy_stream(second) == 100000
    assert acl.rt.destroy_stream(0) == 100000


@pytest.mark.parametrize("thing", ["1", None, 1.5])
def test_handles_are_whole_numbers(device: int, thing: object) -> None:
    """A handle that is no whole number is a TypeError."""
    with pytest.raises(TypeError):
        untyped.rt.set_context(thing)
    with pytest.raises(TypeError):
        untyped.rt.synchronize_stream(thing)


def test_two_threads_that_end_one_context(device: int, gate: MakeGate) -> None:
    """Both wait for its work; one of them ends it, and the other is told that it is gone."""
    context = good(acl.rt.create_context(0))
    held = gate(good(acl.rt.create_stream()))
    before = threading.active_count()
    with ThreadPoolExecutor(2) as pool:
        codes = [pool.submit(acl.rt.destroy_context, context) for _ in range(2)]
        while threading.active_count() < before + 2:
            threading.Event().wait(0.001)
        held.open()

        assert sorted(each.result() for each in codes) == [0, 107017]
