"""Aborting the work of a device, and choosing its scheduler."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import acl
from tests.compat._programs import Gate, MakeGate, Reporter, get, good, ok, put, untyped


def _marks(streams: list[int]) -> list[int]:
    """Queue a write to memory in each stream; return the addresses."""
    pointers = [put(np.zeros(64, np.uint8)) for _ in streams]
    for pointer, stream in zip(pointers, streams, strict=True):
        ok(acl.rt.memset_async(pointer, 64, 1, 64, stream))
    return pointers


def _written(pointer: int) -> bool:
    return bool(get(pointer, np.zeros(64, np.uint8)).all())


def test_abort_drops_what_has_not_started(stream: int, gate: MakeGate) -> None:
    """What is queued in any stream of any context of the device is dropped; the streams then go on."""
    context = good(acl.rt.get_context())
    good(acl.rt.create_context(0))
    other = good(acl.rt.create_stream())
    reporter = Reporter()  # a thread holds one stream at a time
    held = [Gate(reporter, other)]
    marks = _marks([other])
    ok(acl.rt.set_context(context))
    held.append(gate(stream))
    marks += _marks([stream])
    assert all(each.reached.wait(5) for each in held)

    assert acl.rt.device_task_abort(0, 0) == 507046
    for each in held:
        each.open()
    assert acl.rt.device_task_abort(0, -1) == 0
    assert acl.rt.synchronize_device() == 0
    reporter.stop()
    assert [_written(each) for each in marks] == [False, False]
    (again,) = _marks([stream])
    ok(acl.rt.synchronize_stream(stream))
    assert _written(again)


def test_abort_waits_for_what_runs(stream: int, reporter: Reporter) -> None:
    """Without a limit it returns once the work that had started is over."""
    order: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def work(_: object) -> None:
        begun.set()
        assert go_on.wait(10)
        order.append("over")

    def abort() -> None:
        ok(acl.rt.device_task_abort(0, -1))
        order.append("aborted")

    ok(acl.rt.subscribe_report(reporter.thread, stream))
    ok(acl.rt.launch_callback(work, None, 1, stream))
    assert begun.wait(5)
    aborter = threading.Thread(target=abort)
    aborter.start()
    go_on.set()
    aborter.join(10)

    assert order == ["over", "aborted"]


def test_abort_reports_that_something_still_runs(stream: int, gate: MakeGate) -> None:
    """When the time is over the code is that of a timeout: the queue is empty, and what runs goes on to its end."""
    held = gate(stream)
    assert held.reached.wait(5)
    (mark,) = _marks([stream])

    assert acl.rt.device_task_abort(0, 20) == 507046
    assert "goes on" in (acl.get_recent_err_msg() or "")
    assert acl.rt.device_task_abort(0, 0) == 507046
    held.open()
    ok(acl.rt.synchronize_stream(stream))
    assert not _written(mark)
    assert acl.rt.device_task_abort(0, 0) == 0


def test_abort_leaves_other_devices_alone(device: int, gate: MakeGate) -> None:
    """Work of another device is neither dropped nor waited for."""
    ok(acl.rt.set_device(1))
    stream = good(acl.rt.create_stream())
    held = gate(stream)
    (mark,) = _marks([stream])

    assert acl.rt.device_task_abort(0, 0) == 0
    held.open()
    ok(acl.rt.synchronize_stream(stream))
    assert _written(mark)


def test_a_blocking_callback_cannot_abort_its_own_device(stream: int, reporter: Reporter) -> None:
    """It would wait for itself: a code at once, and nothing is dropped."""
    codes: list[int] = []
    ok(acl.rt.subscribe_report(reporter.thread, stream))
    ok(acl.rt.launch_callback(lambda _: codes.append(acl.rt.device_task_abort(0, -1)), None, 1, stream))
    (mark,) = _marks([stream])
    ok(acl.rt.synchronize_stream(stream))

    assert codes == [507004]
    assert _written(mark)


def test_what_abort_refuses(device: int) -> None:
    """Devices that there are not or that nobody uses, and times below -1."""
    assert acl.rt.device_task_abort(2, 0) == acl.rt.device_task_abort(-1, 0) == 107001
    assert acl.rt.device_task_abort(1, 0) == 107002
    assert acl.rt.device_task_abort(0, -2) == 107000
    with pytest.raises(TypeError):
        untyped.rt.device_task_abort(0, 1.5)


def test_schedulers(device: int) -> None:
    """The schedulers of AI cores and vector cores can be chosen, and no other; a thread needs a context."""
    assert [acl.rt.set_ts_device(each) for each in (0, 1, 2, -1)] == [0, 0, 100000, 100000]
    ok(acl.finalize())
    assert acl.rt.set_ts_device(0) == 100001
