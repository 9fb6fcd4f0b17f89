"""The callback for tasks that fail."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import acl
from tests.compat._programs import Dataset, MakeGate, Reporter, gather, good, in_thread, ok, untyped


def test_the_callback_sees_every_late_failure(
    stream: int, reporter: Reporter, capfd: pytest.CaptureFixture[str]
) -> None:
    """A failing task is told with its stream, thread, device and code, and synchronise reports it all the same."""
    seen: list[dict[str, int]] = []
    handles: list[int] = []

    def told(info: int) -> None:
        handles.append(info)
        seen.append(
            {
                "stream": acl.rt.get_stream_id_from_exception_info(info),
                "thread": acl.rt.get_thread_id_from_exception_info(info),
                "device": acl.rt.get_device_id_from_exception_info(info),
                "code": acl.rt.get_error_code_from_exception_info(info),
            }
        )
        assert acl.rt.get_task_id_from_exception_info(info) > 0

    ok(acl.rt.set_exception_info_callback(told))
    ok(acl.rt.subscribe_report(reporter.thread, stream))
    ok(acl.rt.launch_callback(lambda _: None, None, 1, stream))
    ok(acl.rt.launch_callback(lambda empty: empty[0], [], 1, stream))

    assert acl.rt.synchronize_stream(stream) == 500001
    number = good(acl.rt.stream_get_id(stream))
    assert seen == [{"stream": number, "thread": threading.get_ident(), "device": 0, "code": 500001}]
    assert acl.rt.get_error_code_from_exception_info(handles[0]) == 0xFFFFFFFF
    assert "IndexError" in capfd.readouterr().err


def test_the_last_callback_counts_and_none_ends_it(
    stream: int, reporter: Reporter, capfd: pytest.CaptureFixture[str]
) -> None:
    """Setting another replaces the first; None, or nothing, clears."""
    first: list[int] = []
    second: list[int] = []
    ok(acl.rt.subscribe_report(reporter.thread, stream))
    ok(acl.rt.set_exception_info_callback(first.append))
    ok(acl.rt.set_exception_info_callback(second.append))
    ok(acl.rt.launch_callback(lambda _: 1 / 0, None, 1, stream))
    assert acl.rt.synchronize_stream(stream) == 500001
    for clear in ((), (None,)):
        ok(acl.rt.set_exception_info_callback(*clear))
        ok(acl.rt.launch_callback(lambda _: 1 / 0, None, 1, stream))
        assert acl.rt.synchronize_stream(stream) == 500001

    assert (len(first), len(second)) == (0, 1)
    with pytest.raises(TypeError, match="parameter must be callable"):
        untyped.rt.set_exception_info_callback("print")
    assert capfd.readouterr().err.count("ZeroDivisionError") == 3


@pytest.mark.parametrize("call", ["synchronize_stream", "synchronize_device", "reset_device", "finalize", "unload"])
def test_the_exception_callback_cannot_wait_for_its_own_stream(
    device: int, gate: MakeGate, tmp_path: Path, call: str
) -> None:
    """What would wait for the failing task is 507004 in the callback that tells of it, and nothing has ended."""
    model, context = good(acl.mdl.load_from_file(gather(tmp_path))), good(acl.rt.get_context())
    bad = Dataset(np.arange(4, dtype=np.float32), np.array([9]))
    out = Dataset(np.zeros(1, np.float32))
    codes: list[int] = []
    calls: dict[str, Callable[[], int]] = {
        "synchronize_stream": lambda: acl.rt.synchronize_stream(0),
        "synchronize_device": acl.rt.synchronize_device,
        "reset_device": lambda: acl.rt.reset_device(0),
        "finalize": acl.finalize,
        "unload": lambda: acl.mdl.unload(model),
    }

    def told(_info: int) -> None:
        ok(acl.rt.set_context(context))
        codes.append(calls[call]())

    ok(acl.rt.set_exception_info_callback(told))
    held = gate(0)
    for _ in range(2):
        ok(acl.mdl.execute_async(model, bad.handle, out.handle, 0))
    held.open()

    assert acl.rt.synchronize_stream(0) == 507011
    assert codes[0] == 507004


def test_tasks_are_numbered_by_thread(stream: int, reporter: Reporter) -> None:
    """Each task of a thread has a new, higher number; what is no task, and other threads' tasks, leave it alone."""
    target = good(acl.rt.malloc(64, 0))
    ok(acl.rt.subscribe_report(reporter.thread, stream))
    submits: list[Callable[[], int]] = [
        lambda: acl.rt.memset_async(target, 64, 1, 64, stream),
        lambda: acl.rt.memcpy_async(target, 64, target, 64, 3, 0),
        lambda: acl.rt.launch_callback(lambda _: None, None, 1, stream),
        lambda: acl.rt.launch_host_func(stream, lambda _: None, None),
    ]
    numbers = []
    for submit in submits:
        ok(submit())
        numbers.append(good(acl.rt.get_thread_last_task_id()))
    ok(acl.rt.synchronize_stream(stream))
    assert acl.rt.memset_async(target, 64, 1, 65, stream) != 0

    def elsewhere() -> tuple[int, int]:
        none: int = good(acl.rt.get_thread_last_task_id())
        ok(acl.rt.set_device(0))
        ok(acl.rt.memset_async(target, 64, 1, 64, stream))
        return none, good(acl.rt.get_thread_last_task_id())

    none, other = in_thread(elsewhere)

    assert numbers == sorted(set(numbers))
    assert none == 0 < numbers[0]
    assert other > numbers[-1] == good(acl.rt.get_thread_last_task_id())
    ok(acl.rt.reset_device(0))


def test_the_number_of_a_task_is_that_of_its_failure(stream: int, capfd: pytest.CaptureFixture[str]) -> None:
    """What get_thread_last_task_id gave is what the exception callback is told, and what it gives in there."""
    seen: list[int] = []
    ok(acl.rt.set_exception_info_callback(lambda info: seen.append(acl.rt.get_task_id_from_exception_info(info))))
    ok(acl.rt.launch_host_func(stream, lambda _: 1 / 0, None))
    task = good(acl.rt.get_thread_last_task_id())

    assert acl.rt.synchronize_stream(stream) == 500001
    assert seen == [task]
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_what_the_exception_callback_raises_disturbs_nobody(
    stream: int, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged; the stream, its synchronise and the next failure are as without it."""
    calls: list[int] = []

    def told(info: int) -> None:
        calls.append(info)
        raise LookupError("a bug of the program's")

    ok(acl.rt.set_exception_info_callback(told))
    for _ in range(2):
        ok(acl.rt.launch_host_func(stream, lambda _: 1 / 0, None))
        assert acl.rt.synchronize_stream(stream) == 500001

    assert len(set(calls)) == 2
    assert "a bug of the program's" in caplog.text
