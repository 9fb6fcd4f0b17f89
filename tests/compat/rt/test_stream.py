"""Streams: waiting, time limits, late errors, destroying with work pending."""

from __future__ import annotations

import threading

import pytest

import acl
from tests.compat._programs import MakeGate, Reporter, good, in_thread, ok, untyped


def test_timeouts_are_no_failures(stream: int, gate: MakeGate) -> None:
    """C039: a wait that runs out is 507046, the work goes on, and a later plain wait gives 0."""
    held = gate(stream)

    assert acl.rt.synchronize_stream_with_timeout(stream, 10) == 507046
    assert "goes on" in (acl.get_recent_err_msg() or "")
    assert acl.rt.synchronize_stream_with_timeout(stream, 0) == 507046
    assert acl.rt.synchronize_stream_with_timeout(stream, -2) == 107000
    held.open()
    assert acl.rt.synchronize_stream_with_timeout(stream, -1) == 0
    assert acl.rt.synchronize_stream(stream) == 0


def test_query_tells_pending_from_complete(stream: int, gate: MakeGate) -> None:
    """stream_query gives 1 while work is pending, 0 when it is over."""
    assert acl.rt.stream_query(stream) == (0, 0)
    held = gate(stream)
    assert acl.rt.stream_query(stream) == (1, 0)
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    assert acl.rt.stream_query(stream) == (0, 0)


def test_destroy_waits_for_pending_work(stream: int, gate: MakeGate) -> None:
    """C043: destroy_stream waits for what is queued; the result is complete, the code 0."""
    source, target = good(acl.rt.malloc(4096, 0)), good(acl.rt.malloc(4096, 0))
    ok(acl.rt.memset(source, 4096, 9, 4096))
    held = gate(stream)
    ok(acl.rt.memcpy_async(target, 4096, source, 4096, 3, stream))
    threading.Timer(0.05, held.open).start()

    assert acl.rt.destroy_stream(stream) == 0
    assert acl.util.ptr_to_bytes(target, 4096) == b"\x09" * 4096
    assert acl.rt.destroy_stream(stream) == 107017


def test_forced_destroy_drops_what_has_not_started(stream: int, gate: MakeGate) -> None:
    """destroy_stream_force neither waits for what runs nor runs what is queued."""
    target = good(acl.rt.malloc(64, 0))
    ok(acl.rt.memset(target, 64, 1, 64))
    held = gate(stream)
    assert held.reached.wait(5)
    ok(acl.rt.memset_async(target, 64, 2, 64, stream))

    assert acl.rt.destroy_stream_force(stream) == 0  # the gate is shut: waiting would never end
    assert acl.rt.synchronize_stream(stream) == 107017
    held.open()
    ok(acl.rt.synchronize_device())
    assert acl.util.ptr_to_bytes(target, 64) == b"\1" * 64


def test_abort_drops_what_has_not_started(stream: int, gate: MakeGate) -> None:
    """stream_abort drops queued work and leaves the stream usable."""
    target = good(acl.rt.malloc(64, 0))
    ok(acl.rt.memset(target, 64, 1, 64))
    held = gate(stream)
    assert held.reached.wait(5)
    ok(acl.rt.memset_async(target, 64, 2, 64, stream))

    ok(acl.rt.stream_abort(stream))
    held.open()
    ok(acl.rt.synchronize_stream(stream))
    assert acl.util.ptr_to_bytes(target, 64) == b"\1" * 64
    ok(acl.rt.memset_async(target, 64, 3, 64, stream))
    ok(acl.rt.synchronize_stream(stream))
    assert acl.util.ptr_to_bytes(target, 64) == b"\3" * 64


def test_late_errors_belong_to_their_stream(stream: int, reporter: Reporter, capfd: pytest.CaptureFixture[str]) -> None:
    """C044: what fails in a stream surfaces at its next synchronise, once; other streams are not touched."""
    other = good(acl.rt.create_stream())
    for each in (stream, other):
        ok(acl.rt.subscribe_report(reporter.thread, each))

    def fail(_data: object) -> None:
        raise ValueError("no such frame")

    assert acl.rt.launch_callback(fail, None, 1, stream) == 0
    assert acl.rt.launch_callback(lambda _: None, None, 1, other) == 0
    assert acl.rt.synchronize_stream(other) == 0
    assert acl.rt.synchronize_stream(stream) == 500001
    assert acl.rt.peek_at_last_error(0) == 500001
    text = acl.get_recent_err_msg() or ""
    assert "ValueError: no such frame" in text
    assert "test_stream.py" in text  # where it was launched
    assert acl.rt.synchronize_stream(stream) == 0
    assert "no such frame" in capfd.readouterr().err


def test_a_late_error_reaches_the_thread_that_synchronises(
    stream: int, reporter: Reporter, capfd: pytest.CaptureFixture[str]
) -> None:
    """The text of a late error is the synchronising thread's, wherever the work was launched."""
    ok(acl.rt.subscribe_report(reporter.thread, stream))
    ok(acl.rt.launch_callback(lambda _: 1 / 0, None, 1, stream))

    def work() -> tuple[int, str | None]:
        acl.rt.set_device(0)
        return acl.rt.synchronize_stream(stream), acl.get_recent_err_msg()

    ret, text = in_thread(work)

    assert ret == 500001
    assert "ZeroDivisionError" in (text or "")
    assert acl.get_recent_err_msg() is None
    ok(acl.rt.reset_device(0))
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_streams_with_a_configuration(device: int) -> None:
    """Priority and flags of any value make an ordinary stream."""
    for priority, flag in ((0, 0), (7, 3), (99, 0x10)):
        assert acl.rt.destroy_stream(good(acl.rt.create_stream_with_config(priority, flag))) == 0
    with pytest.raises(TypeError):
        untyped.rt.create_stream_with_config("0", 0)


def test_numbers_of_streams(stream: int) -> None:
    """Streams are counted, and how many more there could be goes down."""
    left = good(acl.rt.get_stream_available_num())
    other = good(acl.rt.create_stream())

    assert good(acl.rt.get_stream_available_num()) == left - 1
    assert good(acl.rt.stream_get_id(other)) > good(acl.rt.stream_get_id(stream))


def test_null_and_dead_streams(device: int) -> None:
    """Stream 0 cannot be destroyed; numbers that are no stream are 107017 everywhere."""
    assert acl.rt.destroy_stream(0) == acl.rt.destroy_stream_force(0) == 100000
    for call in (acl.rt.destroy_stream, acl.rt.synchronize_stream, acl.rt.stream_abort):
        assert call(123456) == 107017
    assert acl.rt.stream_query(123456) == (1, 107017)
    assert "no live stream" in (acl.get_recent_err_msg() or "")


async def test_waiting_works_on_the_thread_of_a_running_loop(stream: int, gate: MakeGate) -> None:
    """A script that runs in a notebook, on a loop's own thread, may wait for its streams."""
    held = gate(stream)
    threading.Timer(0.05, held.open).start()

    assert acl.rt.synchronize_stream(stream) == 0
