"""Running models: the place of a run among the work of streams, and its callbacks."""

from __future__ import annotations

import numpy as np

import acl
from tests.compat._programs import D2H, H2D, Dataset, MakeGate, Reporter, good, ok

X = np.arange(4, dtype=np.float32).reshape(1, 4)


def test_runs_take_their_place_in_the_stream(model: int, gate: MakeGate) -> None:
    """execute_async runs behind what is queued, with what is in the memory then."""
    stream, given, wanted = good(acl.rt.create_stream()), Dataset(X), Dataset(np.zeros_like(X))
    held = gate(stream)
    later = (X * 10).tobytes()
    ok(acl.rt.memcpy_async(given.pointers[0], 16, acl.util.bytes_to_ptr(later), 16, H2D, stream))
    ok(acl.mdl.execute_async(model, given.handle, wanted.handle, stream))
    assert not wanted.read().any()
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    np.testing.assert_array_equal(wanted.read(), X * 10 + 1)


def test_a_run_waits_for_nothing_else(model: int, gate: MakeGate) -> None:
    """The blocking execute runs at once, though another stream, and the default one, are held up."""
    stream, given, wanted = good(acl.rt.create_stream()), Dataset(X), Dataset(np.zeros_like(X))
    for each in (stream, 0):
        gate(each)

    assert acl.mdl.execute(model, given.handle, wanted.handle) == 0
    np.testing.assert_array_equal(wanted.read(), X + 1)


def test_callbacks_after_runs(model: int, reporter: Reporter) -> None:
    """A callback that was launched behind a run sees its result; five of them come in order."""
    stream = good(acl.rt.create_stream())
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))
    host = good(acl.rt.malloc_host(16))
    seen: list[tuple[int, float]] = []
    ok(acl.rt.subscribe_report(reporter.thread, stream))
    for number in range(5):
        data = (X + number).tobytes()
        ok(acl.rt.memcpy_async(given.pointers[0], 16, acl.util.bytes_to_ptr(data), 16, H2D, stream))
        ok(acl.mdl.execute_async(model, given.handle, wanted.handle, stream))
        ok(acl.rt.memcpy_async(host, 16, wanted.pointers[0], 16, D2H, stream))
        ok(
            acl.rt.launch_callback(
                lambda user: seen.append((user[0], float(acl.util.ptr_to_numpy(host, (4,), 11)[0]))),
                [number],
                1,
                stream,
            )
        )
    ok(acl.rt.synchronize_stream(stream))

    assert seen == [(number, number + 1.0) for number in range(5)]


def test_unloading_in_a_callback_that_a_run_comes_after(model: int, gate: MakeGate, reporter: Reporter) -> None:
    """Unload in a blocking callback is 507004 while a run is queued behind it; the model stays, and the run succeeds."""
    stream, context = good(acl.rt.create_stream()), good(acl.rt.get_context())
    given, wanted = Dataset(X), Dataset(np.zeros_like(X))
    codes: list[int] = []
    held = gate(stream)

    def unload(_data: object) -> None:
        ok(acl.rt.set_context(context))
        codes.append(acl.mdl.unload(model))

    ok(acl.rt.launch_callback(unload, None, 1, stream))
    ok(acl.mdl.execute_async(model, given.handle, wanted.handle, stream))
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    assert codes == [507004]
    np.testing.assert_array_equal(wanted.read(), X + 1)
    ok(acl.mdl.unload(model))
