"""Ends and waits that meet callbacks: in a callback itself, in the thread that reports, with one that is over."""

from __future__ import annotations

import gc
import sys
import threading
import time
from _thread import interrupt_main
from collections.abc import Callable

import pytest

import acl
from acl import _threads
from acl._handles import open_handles
from tests.compat._programs import MakeGate, Reporter, good, ok, run_program

ENDS: dict[str, Callable[[int, int], object]] = {
    "destroy_stream": lambda stream, _: acl.rt.destroy_stream(stream),
    "destroy_context": lambda _, context: acl.rt.destroy_context(context),
    "reset_device": lambda *_: acl.rt.reset_device(0),
    "reset_device_force": lambda *_: acl.rt.reset_device_force(0),
    "finalize": lambda *_: acl.finalize(),
    "finalize_reference": lambda *_: acl.finalize_reference()[1],
}


@pytest.mark.parametrize("block", [0, 1])
@pytest.mark.parametrize("end", [*ENDS])
def test_a_callback_cannot_end_what_it_runs_in(device: int, reporter: Reporter, end: str, block: int) -> None:
    """C037: 507004 at once, nothing has ended, and the same call in another thread succeeds afterwards."""
    context = good(acl.rt.create_context(0))
    stream = good(acl.rt.create_stream())
    codes: list[object] = []
    done = threading.Event()

    def work(_data: object) -> None:
        ok(acl.rt.set_context(context))
        before = open_handles()
        codes.append(ENDS[end](stream, context))
        codes.append(acl.get_recent_err_msg())
        codes.append(open_handles() == before)
        done.set()

    ok(acl.rt.subscribe_report(reporter.thread, stream))
    ok(acl.rt.launch_callback(work, None, block, stream))
    assert done.wait(5)
    ok(acl.rt.synchronize_stream(stream))

    assert codes[0] == 507004
    assert "wait for itself" in str(codes[1])
    assert codes[2] is True
    pointer = good(acl.rt.malloc(64, 0))
    ok(acl.rt.memset_async(pointer, 64, 1, 64, stream))
    assert ENDS[end](stream, context) == 0


def test_a_callback_may_force_the_end_of_its_own_stream(stream: int, reporter: Reporter) -> None:
    """destroy_stream_force does not wait for what runs, so a callback may call it."""
    context, codes = good(acl.rt.get_context()), []
    done = threading.Event()

    def work(_data: object) -> None:
        ok(acl.rt.set_context(context))
        codes.append(acl.rt.destroy_stream_force(stream))
        done.set()

    ok(acl.rt.subscribe_report(reporter.thread, stream))
    ok(acl.rt.launch_callback(work, None, 1, stream))
    assert done.wait(5)

    assert codes == [0]
    assert acl.rt.synchronize_stream(stream) == 107017
    assert acl.rt.reset_device(0) == 0


def test_a_callback_may_use_a_device_once_less(stream: int, reporter: Reporter) -> None:
    """reset_device in a callback only counts while others use the device."""
    ok(acl.rt.set_device(0))
    context, codes = good(acl.rt.get_context()), []

    def work(_data: object) -> None:
        ok(acl.rt.set_context(context))
        codes.extend([acl.rt.reset_device(0), acl.rt.reset_device(0)])

    ok(acl.rt.subscribe_report(reporter.thread, stream))
    ok(acl.rt.launch_callback(work, None, 1, stream))
    ok(acl.rt.synchronize_stream(stream))

    assert codes == [0, 507004]
    assert acl.rt.reset_device(0) == 0


def test_waiting_in_a_callback_for_an_event_behind_it(stream: int, reporter: Reporter, gate: MakeGate) -> None:
    """synchronize_event answers 507004 as synchronize_stream does; an event before the callback is reached."""
    context, codes = good(acl.rt.get_context()), []
    before, behind = good(acl.rt.create_event()), good(acl.rt.create_event())
    held = gate(stream)

    def work(_data: object) -> None:
        ok(acl.rt.set_context(context))
        codes.extend([acl.rt.synchronize_event(before), acl.rt.synchronize_event(behind)])
        codes.append(acl.rt.synchronize_event_with_timeout(behind, -1))

    ok(acl.rt.record_event(before, stream))
    ok(acl.rt.launch_callback(work, None, 1, stream))
    ok(acl.rt.record_event(behind, stream))
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    assert codes == [0, 507004, 507004]
    assert acl.rt.synchronize_event(behind) == 0


@pytest.mark.parametrize("wait", ["stream", "timeout", "device", "event"])
def test_a_thread_that_waits_reports_its_own_callbacks(stream: int, wait: str) -> None:
    """A thread that is subscribed itself and waits runs the callbacks in the wait: nobody else would."""
    ran: list[tuple[int, int]] = []
    ok(acl.rt.subscribe_report(threading.get_ident(), stream))
    event = good(acl.rt.create_event())
    for number in range(3):
        ok(acl.rt.launch_callback(lambda number: ran.append((number, threading.get_ident())), number, 1, stream))
    ok(acl.rt.record_event(event, stream))
    waits: dict[str, Callable[[], int]] = {
        "stream": lambda: acl.rt.synchronize_stream(stream),
        "timeout": lambda: acl.rt.synchronize_stream_with_timeout(stream, 5000),
        "device": acl.rt.synchronize_device,
        "event": lambda: acl.rt.synchronize_event(event),
    }

    assert waits[wait]() == 0
    assert ran == [(number, threading.get_ident()) for number in range(3)]


def test_a_timeout_holds_for_a_thread_that_reports(stream: int, gate: MakeGate) -> None:
    """A wait with a timeout ends in time also in a thread that reports other streams' callbacks."""
    other = good(acl.rt.create_stream())
    ok(acl.rt.subscribe_report(threading.get_ident(), other))
    held = gate(stream)

    began = time.perf_counter()
    assert acl.rt.synchronize_stream_with_timeout(stream, 30) == 507046
    assert 0.03 <= time.perf_counter() - began < 5
    held.open()
    assert acl.rt.synchronize_stream(stream) == 0


@pytest.mark.parametrize("when", ["before", "after", "meanwhile"])
@pytest.mark.parametrize("wait", ["synchronize_stream", "destroy_stream"])
def test_callbacks_of_a_plain_thread_that_ended_fail(stream: int, wait: str, when: str) -> None:
    """A plain thread that is over when it is subscribed, ends later, or during the wait: 107012, never a hang."""
    leave = threading.Event()
    thread = threading.Thread(target=leave.wait, args=(5,))
    thread.start()
    assert thread.ident is not None
    if when == "before":
        leave.set()
        thread.join()
    ok(acl.rt.subscribe_report(thread.ident, stream))
    ok(acl.rt.launch_callback(print, "never", 1, stream))
    if when == "after":
        leave.set()
        thread.join()
    elif when == "meanwhile":
        threading.Timer(0.1, leave.set).start()

    assert getattr(acl.rt, wait)(stream) == 107012
    thread.join()


def test_numbers_that_are_no_threads(stream: int) -> None:
    """subscribe_report refuses numbers that no thread can have; unsubscribing any keeps nothing."""
    known = len(_threads._queues)
    for number in (0, -5, 1 << 64, 1 << 70):
        assert acl.rt.subscribe_report(number, stream) == 107000
    for number in range(10**9, 10**9 + 100):
        assert acl.rt.unsubscribe_report(number, stream) == 107012

    assert len(_threads._queues) == known


def test_threads_that_polled_and_ended_leave_nothing(stream: int) -> None:
    """The queues of plain threads that are over are dropped when another thread gets one."""
    together = threading.Barrier(20)

    def poll() -> None:
        acl.rt.process_report(1)
        together.wait(5)  # all live at once, so that each has an identifier of its own

    threads = [threading.Thread(target=poll) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ok(acl.rt.subscribe_report(10**9, stream))

    assert _threads._queues.keys() - sys._current_frames().keys() == {10**9}


def test_128_threads_report_at_most(device: int) -> None:
    """Semantics section 7: with 128 threads subscribed another one is 107012; one may serve more streams."""
    first = 10**9
    for number in range(128):
        ok(acl.rt.subscribe_report(first + number, good(acl.rt.create_stream())))
    more = good(acl.rt.create_stream())

    assert acl.rt.subscribe_report(first + 128, more) == 107012
    assert "128 threads" in (acl.get_recent_err_msg() or "")
    assert acl.rt.subscribe_report(first, more) == 0


def test_more_threads_report_on_products_beyond_the_310_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """Semantics section 7: the bound of 128 threads is the 310 family's; elsewhere it is 1024."""
    monkeypatch.setenv("AACL_SOC", "Ascend910B3")
    ok(acl.init())
    ok(acl.rt.set_device(0))
    first = 10**9
    for number in range(1024):
        ok(acl.rt.subscribe_report(first + number, good(acl.rt.create_stream())))
    stream = good(acl.rt.create_stream())

    assert acl.rt.subscribe_report(first + 1024, stream) == 107012
    assert "1024 threads" in (acl.get_recent_err_msg() or "")


@pytest.mark.parametrize("end", ["acl.finalize()", "acl.rt.reset_device(0)", "acl.rt.destroy_stream(stream)"])
def test_an_interrupt_leaves_an_end_that_waits_for_a_callback(end: str) -> None:
    """Ctrl-C while an end waits for a callback gets out, nothing has ended, and the same call succeeds later."""
    out = run_program(
        f"""
        import os, signal, threading, acl
        acl.init(); acl.rt.set_device(0); stream, _ = acl.rt.create_stream()
        entered, leave, stop = threading.Event(), threading.Event(), []
        def report(_):
            while not stop:
                acl.rt.process_report(20)
        thread, _ = acl.util.start_thread(report, [])
        acl.rt.subscribe_report(thread, stream)
        acl.rt.launch_callback(lambda _: (entered.set(), leave.wait(10)), None, 1, stream)
        entered.wait(5)
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            {end}
        except KeyboardInterrupt:
            print("interrupted", acl.rt.synchronize_stream_with_timeout(stream, 0), acl.rt.malloc(64, 0)[1])
        leave.set()
        print({end})
        stop.append(1)
        print(acl.util.stop_thread(thread))
        """
    )

    assert out.splitlines() == ["interrupted 507046 0", "0", "0"]


def test_no_collection_runs_while_the_threads_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finalizer in there could wait for a thread that cannot start; and the collector is left as it was."""
    found: list[bool] = []
    look = sys._current_frames

    def frames() -> object:
        found.append(gc.isenabled())
        return look()

    monkeypatch.setattr(sys, "_current_frames", frames)
    assert _threads.is_alive(threading.get_ident())
    assert gc.isenabled()
    gc.disable()
    try:
        assert not _threads.is_alive(1)
        assert not gc.isenabled()
    finally:
        gc.enable()

    assert found == [False, False]


def interrupted(_: object) -> None:
    """Be struck by Ctrl-C."""
    interrupt_main()
    time.sleep(0)


# A synchronise does not wait for a callback that does not block its stream.
@pytest.mark.parametrize(("wait", "block"), [("process_report", 0), ("process_report", 1), ("synchronize_stream", 1)])
def test_an_interrupt_in_a_callback_reaches_the_program(device: int, wait: str, block: int) -> None:
    """Ctrl-C in a callback that the main thread runs leaves the call that ran it; the stream fails with it too."""
    stream = good(acl.rt.create_stream())
    ok(acl.rt.subscribe_report(threading.get_ident(), stream))
    ok(acl.rt.launch_callback(interrupted, None, block, stream))

    with pytest.raises(KeyboardInterrupt):
        acl.rt.process_report(5000) if wait == "process_report" else acl.rt.synchronize_stream(stream)
    assert acl.rt.synchronize_stream(stream) == 500001
    ok(acl.rt.synchronize_stream(stream))


def test_an_interrupt_in_the_exception_callback_reaches_the_program(
    device: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Ctrl-C there leaves the call that waits on the main thread, which is logged as the callback's failure too."""
    stream = good(acl.rt.create_stream())
    ok(acl.rt.subscribe_report(threading.get_ident(), stream))
    ok(acl.rt.set_exception_info_callback(interrupted))
    ok(acl.rt.launch_callback(lambda _: 1 / 0, None, 1, stream))

    with pytest.raises(KeyboardInterrupt):
        acl.rt.process_report(5000)
    ok(acl.rt.set_exception_info_callback(None))
    assert acl.rt.synchronize_stream(stream) == 500001
    assert "KeyboardInterrupt" in caplog.text


def test_an_interrupt_that_a_callback_of_another_thread_raises_is_its_failure(device: int, reporter: Reporter) -> None:
    """Only the main thread gets Ctrl-C: the thread that reports goes on."""
    stream = good(acl.rt.create_stream())
    ok(acl.rt.subscribe_report(reporter.thread, stream))

    def work(_: object) -> None:
        raise KeyboardInterrupt

    for _ in range(2):
        ok(acl.rt.launch_callback(work, None, 1, stream))
        assert acl.rt.synchronize_stream(stream) == 500001
