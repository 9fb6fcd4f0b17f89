"""Host functions in streams."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import acl
from tests.compat._programs import MakeGate, Reporter, good, ok, untyped


def test_a_host_function_needs_no_thread_of_the_programs(stream: int) -> None:
    """It gets the same object, runs in another thread that has no context, and what comes later waits for it."""
    data: list[int] = []
    seen: list[tuple[object, int, int]] = []
    entered, leave = threading.Event(), threading.Event()

    def run(argument: list[int]) -> None:
        entered.set()
        leave.wait(10)
        argument.append(1)
        seen.append((argument, threading.get_ident(), acl.rt.get_context()[1]))

    ok(acl.rt.launch_host_func(stream, run, data))
    assert entered.wait(5)
    assert acl.rt.stream_query(stream) == (1, 0)
    leave.set()
    ok(acl.rt.synchronize_stream(stream))

    ((argument, thread, code),) = seen
    assert argument is data == [1]
    assert thread != threading.get_ident()
    assert code == 107002


def test_a_context_does_not_stay_in_the_runtimes_thread(stream: int) -> None:
    """What one function makes current there is not the next one's."""
    context = good(acl.rt.get_context())
    codes: list[int] = []
    for _ in range(3):
        ok(acl.rt.launch_host_func(stream, lambda _: codes.append(acl.rt.get_context()[1]), None))
        ok(acl.rt.launch_host_func(stream, lambda _: acl.rt.set_context(context), None))
    ok(acl.rt.synchronize_stream(stream))

    assert codes == [107002] * 3


def test_host_functions_run_in_order_with_other_work(stream: int) -> None:
    """The one behind a copy sees what the copy has written."""
    target = good(acl.rt.malloc(64, 0))
    seen: list[bytes] = []
    for value in range(20):
        ok(acl.rt.memset_async(target, 64, value, 64, stream))
        ok(acl.rt.launch_host_func(stream, lambda _: seen.append(acl.util.ptr_to_bytes(target, 1)), None))
    ok(acl.rt.synchronize_stream(stream))

    assert seen == [bytes([value]) for value in range(20)]


def test_a_bound_thread_runs_them(stream: int) -> None:
    """After subscribe_host_func the functions run in that thread, in process_host_func; unsubscribing ends that."""
    context = good(acl.rt.get_context())
    codes: list[int] = []
    seen: list[int] = []
    stop: list[bool] = []

    def loop(_arguments: object) -> None:
        ok(acl.rt.set_context(context))
        while not stop:
            codes.append(acl.rt.process_host_func(20))

    thread = good(acl.util.start_thread(loop, []))
    ok(acl.rt.subscribe_host_func(thread, stream))
    assert acl.rt.subscribe_host_func(thread, stream) == 107011
    ok(acl.rt.launch_host_func(stream, lambda _: seen.append(threading.get_ident()), None))
    ok(acl.rt.synchronize_stream(stream))
    ok(acl.rt.unsubscribe_host_func(thread, stream))
    assert acl.rt.unsubscribe_host_func(thread, stream) == 107012
    ok(acl.rt.launch_host_func(stream, lambda _: seen.append(threading.get_ident()), None))
    ok(acl.rt.synchronize_stream(stream))
    stop.append(True)
    ok(acl.util.stop_thread(thread))

    assert seen[0] == thread != seen[1]
    assert 0 in codes
    assert set(codes) <= {0, 507012, 107012}


def test_both_families_are_one_binding(stream: int, reporter: Reporter) -> None:
    """A thread of subscribe_report runs host functions too, and a stream has one thread."""
    seen: list[int] = []
    ok(acl.rt.subscribe_report(reporter.thread, stream))
    assert acl.rt.subscribe_host_func(reporter.thread, stream) == 107011
    ok(acl.rt.launch_host_func(stream, lambda _: seen.append(threading.get_ident()), None))
    ok(acl.rt.synchronize_stream(stream))
    ok(acl.rt.unsubscribe_host_func(reporter.thread, stream))

    assert seen == [reporter.thread]
    assert acl.rt.launch_callback(print, None, 1, stream) == 107015


def test_a_failing_function_is_told(stream: int, capfd: pytest.CaptureFixture[str]) -> None:
    """Its exception is printed, and is 500001 at the next synchronise; the stream goes on."""
    ok(acl.rt.launch_host_func(stream, lambda empty: empty[0], []))

    assert acl.rt.synchronize_stream(stream) == 500001
    assert "IndexError" in (acl.get_recent_err_msg() or "")
    assert "IndexError" in capfd.readouterr().err
    assert acl.rt.synchronize_stream(stream) == 0


def test_a_function_cannot_wait_for_its_own_stream(stream: int) -> None:
    """507004 in it; another stream may be waited for."""
    context, other = good(acl.rt.get_context()), good(acl.rt.create_stream())
    codes: list[int] = []

    def run(_: object) -> None:
        ok(acl.rt.set_context(context))
        codes.extend(
            [acl.rt.synchronize_stream(stream), acl.rt.synchronize_stream(other), acl.rt.destroy_stream(stream)]
        )

    ok(acl.rt.launch_host_func(stream, run, None))
    ok(acl.rt.synchronize_stream(stream))

    assert codes == [507004, 0, 507004]


def test_function_and_data_live_until_the_call_and_no_longer(stream: int, gate: MakeGate) -> None:
    """The runtime holds both until the function has run, then lets go."""

    class Data:
        pass

    data, seen = Data(), []
    gone = weakref.ref(data)
    held = gate(stream)
    ok(acl.rt.unsubscribe_report(_thread_of(stream), stream))
    ok(acl.rt.launch_host_func(stream, lambda argument: seen.append(type(argument)), data))
    del data
    gc.collect()
    assert gone() is not None
    held.open()
    ok(acl.rt.synchronize_stream(stream))
    gc.collect()

    assert seen == [Data]
    assert gone() is None


def _thread_of(stream: int) -> int:
    from acl._streams import streams

    return streams.get(stream).reporter


def test_what_is_refused_is_not_queued(stream: int) -> None:
    """What is no function is a TypeError, what is no stream a code, and the stream stays idle."""
    with pytest.raises(TypeError, match="parameter must be callable"):
        untyped.rt.launch_host_func(stream, "print", None)
    assert acl.rt.launch_host_func(12345, print, None) == 107017
    assert acl.rt.process_host_func(0) == acl.rt.process_host_func(-2) == 107000
    assert acl.rt.subscribe_host_func(0, stream) == 107000

    assert acl.rt.stream_query(stream) == (0, 0)
