"""Many threads: on contexts of their own, on shared streams, on several devices, and waiting together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import numpy as np
import pytest

import aacl
import acl
from acl import _devices
from tests.compat._programs import D2H, H2D, MakeGate, Reporter, get, good, in_thread, ok, put

THREADS = 8


@pytest.fixture(autouse=True)
def two_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be two devices."""
    monkeypatch.setenv("AACL_DEVICES", "2")


@pytest.fixture
def pool(device: int) -> Iterator[ThreadPoolExecutor]:
    """Return threads, as many as begin together."""
    with ThreadPoolExecutor(THREADS) as pool:
        yield pool


def together(pool: ThreadPoolExecutor, function: Callable[[int], Any], count: int = THREADS) -> list[Any]:
    """Call ``function(number)`` in as many threads, which begin at the same time."""
    start = threading.Barrier(count)

    def call(number: int) -> Any:
        start.wait(10)
        return function(number)

    return [each.result(15) for each in [pool.submit(call, number) for number in range(count)]]


def round_trip(number: int, stream: int, size: int = 1000) -> None:
    """Copy to the device and back on a stream, and compare."""
    here, there = np.full(size, number, np.int32), np.zeros(size, np.int32)
    pointer = put(np.zeros_like(here))
    address, back = acl.util.numpy_to_ptr(here), acl.util.numpy_to_ptr(there)
    ok(acl.rt.memcpy_async(pointer, here.nbytes, address, here.nbytes, H2D, stream))
    ok(acl.rt.memcpy_async(back, there.nbytes, pointer, here.nbytes, D2H, stream))
    ok(acl.rt.synchronize_stream(stream))
    assert np.array_equal(there, here)
    ok(acl.rt.free(pointer))


def test_contexts_of_threads_do_not_meet(pool: ThreadPoolExecutor) -> None:
    """Each thread makes contexts and streams on both devices in turn; no data, handle or current context is mixed up."""

    def work(number: int) -> None:
        for turn in range(10):
            context = good(acl.rt.create_context((number + turn) % 2))
            assert acl.rt.get_device() == ((number + turn) % 2, 0)
            stream = good(acl.rt.create_stream())
            round_trip(number, stream)
            assert acl.rt.get_context() == (context, 0)
            ok(acl.rt.destroy_stream(stream))
            ok(acl.rt.destroy_context(context))
            assert acl.rt.get_context()[1] == 107002

    together(pool, work)
    assert acl.rt.get_device() == (0, 0)


def test_switching_between_devices(pool: ThreadPoolExecutor) -> None:
    """set_context moves a thread between devices: allocations and stream 0 go where it is now; freeing works anywhere."""
    contexts = [good(acl.rt.create_context(number)) for number in (0, 1)]

    def work(number: int) -> None:
        for turn in range(20):
            ok(acl.rt.set_context(contexts[(number + turn) % 2]))
            pointer = put(np.full(16, number, np.int32))
            ok(acl.rt.memset_async(pointer, 64, number, 64, 0))
            ok(acl.rt.synchronize_stream(0))
            ok(acl.rt.set_context(contexts[(number + turn + 1) % 2]))
            assert set(acl.util.ptr_to_bytes(pointer, 64)) == {number}
            ok(acl.rt.free(pointer))

    together(pool, work)


def test_a_stream_that_threads_share(stream: int, pool: ThreadPoolExecutor) -> None:
    """Each thread's commands keep their order on a stream that all submit to, and every one runs."""
    context, each = good(acl.rt.get_context()), 50
    pointers = [put(np.zeros(64, np.uint8)) for _ in range(THREADS)]

    def work(number: int) -> None:
        ok(acl.rt.set_context(context))
        for value in range(1, each + 1):
            ok(acl.rt.memset_async(pointers[number], 64, value, 64, stream))

    together(pool, work)
    ok(acl.rt.synchronize_stream(stream))

    assert [set(get(pointer, np.zeros(64, np.uint8))) for pointer in pointers] == [{each}] * THREADS


def test_a_stream_of_another_context_is_refused_in_every_thread(stream: int, pool: ThreadPoolExecutor) -> None:
    """A thread whose context is another one gets 107003, one without a context 107002; the stream is none the worse."""

    def work(number: int) -> int:
        if number % 2:
            good(acl.rt.create_context(0))
        return acl.rt.synchronize_stream(stream)

    assert sorted(together(pool, work)) == [107002] * (THREADS // 2) + [107003] * (THREADS // 2)
    ok(acl.rt.synchronize_stream(stream))


def test_synchronize_device_from_several_threads(stream: int, gate: MakeGate, pool: ThreadPoolExecutor) -> None:
    """All threads wait for the work of all streams of their device, none returns early, and all go on together."""
    context = good(acl.rt.get_context())
    held = gate(stream)
    pointer = put(np.zeros(64, np.uint8))
    ok(acl.rt.memset_async(pointer, 64, 9, 64, stream))
    waiting = threading.Semaphore(0)

    def work(number: int) -> tuple[int, int]:
        ok(acl.rt.set_context(context))
        early = acl.rt.synchronize_device_with_timeout(1)
        waiting.release()
        ok(acl.rt.synchronize_device())
        return early, acl.util.ptr_to_bytes(pointer, 1)[0]

    waits = [pool.submit(work, number) for number in range(4)]
    for _ in waits:
        assert waiting.acquire(timeout=10)
    held.open()

    assert [wait.result(10) for wait in waits] == [(507046, 9)] * 4


def test_synchronize_device_waits_for_its_own_device_only(stream: int, gate: MakeGate) -> None:
    """A stream that is held up on device 0 keeps nobody on device 1."""
    held = gate(stream)

    def elsewhere() -> int:
        ok(acl.rt.set_device(1))
        code: int = acl.rt.synchronize_device()
        ok(acl.rt.reset_device(1))
        return code

    assert in_thread(elsewhere) == 0
    held.open()


def test_a_failure_is_reported_to_one_of_the_threads_that_wait(
    stream: int, reporter: Reporter, pool: ThreadPoolExecutor, capsys: pytest.CaptureFixture[str]
) -> None:
    """A failed command is the code of one synchronise, whichever thread makes it; the others get 0."""
    context = good(acl.rt.get_context())
    ok(acl.rt.subscribe_report(reporter.thread, stream))
    ok(acl.rt.launch_callback(lambda _: 1 / 0, None, 1, stream))

    def work(number: int) -> int:
        ok(acl.rt.set_context(context))
        return acl.rt.synchronize_stream(stream)

    assert sorted(together(pool, work)) == [0] * (THREADS - 1) + [500001]
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_errors_stay_in_their_threads(pool: ThreadPoolExecutor) -> None:
    """Codes and texts of failures are a thread's own, also while many fail at once."""

    def work(number: int) -> bool:
        own = True
        for turn in range(50):
            address = (number << 40) + (turn << 8) + 1
            assert acl.rt.free(address) == 100000
            own = own and hex(address) in (acl.get_recent_err_msg() or "") and acl.rt.get_last_error(0) == 100000
        return own

    assert together(pool, work) == [True] * THREADS
    assert acl.get_recent_err_msg() is None


def test_allocations_of_threads_do_not_overlap(pool: ThreadPoolExecutor) -> None:
    """Blocks that threads allocate and free at the same time keep what each wrote to its own."""
    context = good(acl.rt.get_context())

    def work(number: int) -> None:
        ok(acl.rt.set_context(context))
        for turn in range(30):
            blocks = [(good(acl.rt.malloc(size, 0)), size) for size in (1, 64, 100 * turn + 1, 5000)]
            for place, (pointer, size) in enumerate(blocks):
                ok(acl.rt.memset(pointer, size, number * 16 + place, size))
            for place, (pointer, size) in enumerate(blocks):
                assert set(acl.util.ptr_to_bytes(pointer, size)) == {number * 16 + place}
                ok(acl.rt.free(pointer))

    before = acl.rt.get_mem_info(1)
    together(pool, work)
    assert acl.rt.get_mem_info(1) == before


def test_devices_are_set_and_reset_by_many_threads(pool: ThreadPoolExecutor) -> None:
    """Uses are counted over all threads: the device stays as long as one is left, and is closed by the last."""

    def work(number: int) -> list[int]:
        codes = []
        for _ in range(20):
            codes += [acl.rt.set_device(1), acl.rt.malloc(64, 0)[1], acl.rt.reset_device(1)]
        return codes

    ok(acl.rt.set_device(1))
    assert together(pool, work) == [[0] * 60] * THREADS
    assert acl.rt.get_primary_ctx_state(1) == (0, 1, 0)
    ok(acl.rt.reset_device(1))
    assert acl.rt.get_primary_ctx_state(1) == (0, 0, 0)


def test_a_reset_meets_threads_that_use_the_device(pool: ThreadPoolExecutor) -> None:
    """Calls of other threads while a device ends are codes, or work; nothing hangs, and nothing is left behind."""
    good(acl.rt.create_context(1))
    context = good(acl.rt.get_context())
    codes: set[int] = set()

    def work(number: int) -> None:
        if not number:
            codes.add(acl.rt.reset_device_force(1))
            return
        for _ in range(200):
            codes.add(acl.rt.set_context(context))
            pointer, code = acl.rt.malloc(64, 0)
            codes.update((code, acl.rt.memset_async(pointer, 64, 1, 64, 0), acl.rt.synchronize_stream(0)))
            acl.rt.free(pointer)

    together(pool, work)
    assert codes <= {0, 107002, 107017}
    assert acl.rt.set_context(context) == 107017
    ok(acl.rt.set_device(0))
    round_trip(1, 0)


def test_memory_that_a_thread_allocates_while_its_device_ends(device: int) -> None:
    """An allocation that was under way is listed in the middle of the reset, which frees it too and goes through."""
    blocks = _devices.devices[device].blocks
    pointer = good(acl.rt.malloc(64, 0))
    freed: list[str] = []

    class Late:
        def free(self) -> None:
            freed.append("late")

    class First:
        def free(self) -> None:
            freed.append("first")
            blocks[2] = cast("aacl.Buffer", Late())

    blocks[1] = cast("aacl.Buffer", First())

    assert acl.rt.reset_device(device) == 0
    assert freed == ["first", "late"]
    assert acl.rt.free(pointer) == 100000
    assert not blocks
