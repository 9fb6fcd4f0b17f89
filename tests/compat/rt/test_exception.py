"""The callback for tasks that fail."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import acl
from tests.compat._programs import Dataset, MakeGate, Reporter, gather, good, ok, untyped


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
