"""Running models: what a program may do while a run is under way."""

from __future__ import annotations

import threading
import time

import numpy as np

import acl
from tests.compat._programs import Array, Dataset, good, ok

X = np.arange(4, dtype=np.float32).reshape(1, 4)


def test_a_time_limit_does_not_end_the_run(long: tuple[int, Dataset, Dataset, Array]) -> None:
    """C039: 507046 after 1 ms of a long run; the run goes on, a plain synchronise gives 0 and the outputs are right."""
    model, given, wanted, x = long
    stream = good(acl.rt.create_stream())
    ok(acl.mdl.execute_async(model, given.handle, wanted.handle, stream))

    assert acl.rt.synchronize_stream_with_timeout(stream, 1) == 507046
    assert "model" not in (acl.get_recent_err_msg() or "")
    ok(acl.rt.synchronize_stream(stream))
    np.testing.assert_allclose(wanted.read(), x, rtol=1e-4)


def test_other_threads_run_during_a_model(long: tuple[int, Dataset, Dataset, Array]) -> None:
    """C030: a blocking execute releases the GIL: another thread counts on meanwhile."""
    model, given, wanted, _ = long
    ticks, stop = 0, threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.wait(0.002):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        began, before = time.perf_counter(), ticks
        ok(acl.mdl.execute(model, given.handle, wanted.handle))
        elapsed, counted = time.perf_counter() - began, ticks - before
    finally:
        stop.set()
        thread.join()

    assert counted >= elapsed / 0.002 / 10


def test_unloading_waits_for_queued_runs(long: tuple[int, Dataset, Dataset, Array]) -> None:
    """Unload right after execute_async waits for the run, whose result is complete."""
    model, given, wanted, x = long
    ok(acl.mdl.execute_async(model, given.handle, wanted.handle, 0))

    assert acl.mdl.unload(model) == 0
    ok(acl.rt.synchronize_stream(0))
    np.testing.assert_allclose(wanted.read(), x, rtol=1e-4)


def test_resetting_with_a_run_under_way(long: tuple[int, Dataset, Dataset, Array]) -> None:
    """C174: a reset in another thread while a run is under way ends within seconds, and so does the waiting thread."""
    model, given, wanted, _ = long
    ok(acl.mdl.execute_async(model, given.handle, wanted.handle, 0))
    codes: list[int] = []
    resetter = threading.Thread(target=lambda: codes.append(acl.rt.reset_device_force(0)))
    resetter.start()
    code = acl.rt.synchronize_stream(0)
    resetter.join(5)

    assert not resetter.is_alive()
    assert codes == [0]
    assert code in (0, 107002, 107017)
    assert acl.mdl.execute(model, given.handle, wanted.handle) in (107002, 145003)


def test_one_model_on_several_threads(model: int) -> None:
    """Four threads that run one model on memory of their own all get their own results."""
    context, failures = good(acl.rt.get_context()), []

    def work(seed: int) -> None:
        ok(acl.rt.set_context(context))
        given, wanted = Dataset(X * seed), Dataset(np.zeros_like(X))
        for _ in range(50):
            ok(acl.rt.memset(wanted.pointers[0], 16, 0, 16))
            ok(acl.mdl.execute(model, given.handle, wanted.handle))
            if (wanted.read() != X * seed + 1).any():
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
