"""Several devices, and many threads on many contexts."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import acl
from tests.compat._programs import D2D, MakeGate, get, good, ok, put, untyped


def test_contexts_of_two_devices_take_turns_in_one_thread(device: int) -> None:
    """set_context switches the device too: memory, streams and get_device follow it, and neither loses anything."""
    contexts = [good(acl.rt.create_context(number)) for number in (0, 1)]
    made = []
    for number, context in enumerate(contexts):
        ok(acl.rt.set_context(context))
        assert acl.rt.get_device() == (number, 0)
        made.append((good(acl.rt.create_stream()), good(acl.rt.malloc(64, 0))))
    for _ in range(3):
        for context, (stream, pointer) in zip(contexts, made, strict=True):
            ok(acl.rt.set_context(context))
            ok(acl.rt.memset_async(pointer, 64, 3, 64, stream))
            ok(acl.rt.synchronize_stream(stream))
            assert acl.util.ptr_to_bytes(pointer, 64) == b"\3" * 64

    assert acl.rt.synchronize_stream(made[0][0]) == 107003
    ok(acl.rt.destroy_context(contexts[1]))
    ok(acl.rt.set_context(contexts[0]))
    assert acl.rt.synchronize_stream(made[0][0]) == 0
    ok(acl.rt.reset_device(1))


def test_the_last_one_set_wins(device: int) -> None:
    """Of set_device, set_context and create_context the last one in a thread decides what is current."""
    default = good(acl.rt.get_context())
    explicit = good(acl.rt.create_context(1))
    assert (acl.rt.get_device(), acl.rt.get_context()) == ((1, 0), (explicit, 0))
    ok(acl.rt.set_device(0))
    assert acl.rt.get_context() == (default, 0)
    ok(acl.rt.set_context(explicit))
    assert acl.rt.get_device() == (1, 0)
    ok(acl.rt.set_device(1))
    assert acl.rt.get_context()[0] not in (default, explicit)


def test_synchronize_device_waits_for_all_its_streams_and_no_other(device: int, gate: MakeGate) -> None:
    """It covers streams of every context of the device, and another device's are not waited for."""
    explicit = good(acl.rt.create_context(0))
    held = gate(good(acl.rt.create_stream()))
    ok(acl.rt.set_device(0))

    assert acl.rt.synchronize_device_with_timeout(20) == 507046
    held.open()
    assert acl.rt.synchronize_device() == 0
    ok(acl.rt.destroy_context(explicit))
    ok(acl.rt.set_device(1))
    assert acl.rt.synchronize_device() == 0


def test_another_devices_work_is_not_waited_for(device: int, gate: MakeGate) -> None:
    """synchronize_device of one device returns while work of another goes on."""
    ok(acl.rt.set_device(1))
    held = gate(good(acl.rt.create_stream()))
    ok(acl.rt.set_device(0))

    assert acl.rt.synchronize_device_with_timeout(0) == 0
    ok(acl.rt.set_device(1))
    assert acl.rt.synchronize_device_with_timeout(0) == 507046
    held.open()
    assert acl.rt.synchronize_device() == 0


def test_many_threads_on_many_contexts(device: int) -> None:
    """Eight threads, each with contexts of its own on both devices, work at once; results and counts are right."""

    def work(seed: int) -> bool:
        x = np.random.default_rng(seed).integers(0, 255, 4096, np.uint8)
        right = True
        for turn in range(6):
            context = good(acl.rt.create_context((seed + turn) % 2))
            stream = good(acl.rt.create_stream())
            source, target = put(x), good(acl.rt.malloc(x.nbytes, 0))
            ok(acl.rt.memcpy_async(target, x.nbytes, source, x.nbytes, D2D, stream))
            ok(acl.rt.synchronize_device())
            right &= bool((get(target, x) == x).all()) and acl.rt.get_device() == ((seed + turn) % 2, 0)
            ok(acl.rt.free(source))
            ok(acl.rt.free(target))
            ok(acl.rt.destroy_stream(stream))
            ok(acl.rt.destroy_context(context))
        return right and acl.rt.get_context() == (0, 107002)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [True] * 8
    ok(acl.rt.set_device(1))
    free, total, _ = acl.rt.get_mem_info(1)
    assert free == total


def test_one_context_shared_by_threads(device: int) -> None:
    """Threads that make the same context current share its streams; one that switches away leaves the others there."""
    context = good(acl.rt.create_context(0))
    stream = good(acl.rt.create_stream())
    ready, gone = threading.Barrier(4, timeout=10), threading.Event()

    def work(number: int) -> tuple[int, int]:
        ok(acl.rt.set_context(context))
        ready.wait()
        if number == 0:
            ok(acl.rt.set_device(1))
            gone.set()
        assert gone.wait(10)
        return acl.rt.synchronize_stream(stream), acl.rt.get_device()[0]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [(107003, 1), (0, 0), (0, 0), (0, 0)]


def test_streams_come_and_go_while_another_thread_synchronizes(device: int) -> None:
    """synchronize_device while other threads make and destroy streams of the device is 0 every time."""
    context, over = good(acl.rt.get_context()), threading.Event()

    def churn() -> int:
        ok(acl.rt.set_context(context))
        rounds = 0
        while not over.is_set():
            stream = good(acl.rt.create_stream())
            ok(acl.rt.memset_async(pointer, 64, 1, 64, stream))
            ok(acl.rt.destroy_stream(stream))
            rounds += 1
        return rounds

    pointer = good(acl.rt.malloc(64, 0))
    with ThreadPoolExecutor(3) as pool:
        churns = [pool.submit(churn) for _ in range(3)]
        codes = {acl.rt.synchronize_device() for _ in range(300)}
        over.set()
        assert all(each.result(10) for each in churns)
    assert codes == {0}


@pytest.mark.parametrize("stray", [(), (0,), (0, "x"), (None,)])
def test_stray_arguments_of_calls_that_take_none(device: int, stray: tuple[object, ...]) -> None:
    """C012: calls that take no argument ignore those that programs give them; all of them do."""
    assert untyped.rt.get_device(*stray) == (0, 0)
    assert untyped.rt.synchronize_device(*stray) == 0
    assert untyped.rt.get_context(*stray) == acl.rt.get_context()
    assert untyped.rt.get_device_count(*stray) == (2, 0)
    assert untyped.rt.get_run_mode(*stray) == (1, 0)
    assert untyped.rt.get_device_sat_mode(*stray) == (1, 0)
    assert untyped.rt.get_group_count(*stray) == (1, 0)
    assert untyped.rt.ctx_get_current_default_stream(*stray) == acl.rt.ctx_get_current_default_stream()
    assert untyped.get_cann_attribute_list(*stray)[2] == 0
    assert untyped.get_version(*stray) == (1, 4, 0, 0)
