"""Callbacks: who runs them, in which order, and what goes wrong with them."""

from __future__ import annotations

import ctypes
import gc
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import acl
from tests.compat._programs import Gate, MakeGate, Reporter, good, ok, untyped


@pytest.mark.parametrize("block", [0, 1])
@pytest.mark.parametrize("number", [0, 1])
def test_a_callback_needs_a_subscriber(device: int, reporter: Reporter, block: int, number: int) -> None:
    """C026: 107015 without one, whatever the flag and the device; subscribing cures it, unsubscribing brings it back."""
    ok(acl.rt.set_device(number))
    stream, fired = good(acl.rt.create_stream()), threading.Event()
    assert acl.rt.launch_callback(lambda _: fired.set(), None, block, stream) == 107015

    ok(acl.rt.subscribe_report(reporter.thread, stream))
    assert acl.rt.launch_callback(lambda _: fired.set(), None, block, stream) == 0
    assert fired.wait(5)
    ok(acl.rt.unsubscribe_report(reporter.thread, stream))
    assert acl.rt.launch_callback(lambda _: fired.set(), None, block, stream) == 107015
    ok(acl.rt.synchronize_stream(stream))


def test_codes_of_subscribing_and_reporting(stream: int, reporter: Reporter) -> None:
    """C027: double subscription 107011, unsubscribed thread 107012, nothing in time 507012, timeout 0 or -2 107000."""
    assert acl.rt.process_report(1) == 107012
    assert acl.rt.process_report(-1) == 107012
    ok(acl.rt.subscribe_report(threading.get_ident(), stream))
    assert acl.rt.subscribe_report(threading.get_ident(), stream) == 107011
    assert acl.rt.subscribe_report(reporter.thread, stream) == 107011
    assert acl.rt.process_report(1) == 507012
    assert (acl.rt.process_report(0), acl.rt.process_report(-2)) == (107000, 107000)
    seen: list[int] = []
    ok(acl.rt.launch_callback(seen.append, 7, 1, stream))

    assert acl.rt.process_report(5000) == 0
    assert seen == [7]
    assert acl.rt.process_report(1) == 507012
    assert acl.rt.unsubscribe_report(reporter.thread, stream) == 107012
    other = good(acl.rt.create_stream())
    assert acl.rt.unsubscribe_report(threading.get_ident(), other) == 107011
    ok(acl.rt.unsubscribe_report(threading.get_ident(), stream))


def test_one_thread_serves_one_device(stream: int, reporter: Reporter) -> None:
    """A thread that serves streams of one device cannot serve another device too, until it is free."""
    ok(acl.rt.subscribe_report(reporter.thread, stream))
    ok(acl.rt.set_device(1))
    there = good(acl.rt.create_stream())

    assert acl.rt.subscribe_report(reporter.thread, there) == 107012
    ok(acl.rt.set_device(0))
    ok(acl.rt.unsubscribe_report(reporter.thread, stream))
    ok(acl.rt.set_device(1))
    assert acl.rt.subscribe_report(reporter.thread, there) == 0


@pytest.mark.parametrize("kind", ["start_thread", "threading", "default stream"])
def test_who_may_report(device: int, kind: str) -> None:
    """C028: threads of both kinds, and for the default stream; the callback runs in the thread that reports."""
    target = 0 if kind == "default stream" else good(acl.rt.create_stream())
    idents: list[int] = []
    stop = threading.Event()

    def loop(_arguments: object = None) -> None:
        while not stop.is_set():
            acl.rt.process_report(20)

    plain = threading.Thread(target=loop)
    if kind == "threading":
        plain.start()
        assert plain.ident is not None
        ident = plain.ident
    else:
        ident = good(acl.util.start_thread(loop, []))
    ok(acl.rt.subscribe_report(ident, target))
    ok(acl.rt.launch_callback(lambda data: data.append(threading.get_ident()), idents, 1, target))
    ok(acl.rt.synchronize_stream(target))
    ok(acl.rt.unsubscribe_report(ident, target))
    stop.set()
    plain.join() if kind == "threading" else ok(acl.util.stop_thread(ident))

    assert idents == [ident]


def test_the_list_itself_is_passed(stream: int, reporter: Reporter) -> None:
    """The function gets the very object that was launched with, as its one argument."""
    data: list[int] = [1, 2]
    got: list[object] = []
    ok(acl.rt.subscribe_report(reporter.thread, stream))
    ok(acl.rt.launch_callback(got.append, data, 1, stream))
    ok(acl.rt.synchronize_stream(stream))

    assert got[0] is data


def _ticks_during(call: Callable[[], object], seconds: float) -> int:
    """Count how often another thread gets to run during a call."""
    ticks, stop = 0, threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.wait(0.002):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        before, began = ticks, time.perf_counter()
        call()
        assert time.perf_counter() - began >= seconds
        return ticks - before
    finally:
        stop.set()
        thread.join()


def test_waits_let_other_threads_run(stream: int, reporter: Reporter) -> None:
    """C030: while a thread waits for a stream, an event, a device, a report or a thread's end, Python goes on."""
    ok(acl.rt.subscribe_report(reporter.thread, stream))
    event = good(acl.rt.create_event())

    def pending() -> None:
        ok(acl.rt.launch_callback(time.sleep, 0.2, 1, stream))
        ok(acl.rt.record_event(event, stream))

    for wait in (
        lambda: acl.rt.synchronize_stream(stream),
        lambda: acl.rt.synchronize_event(event),
        lambda: acl.rt.synchronize_device(),
        lambda: acl.rt.synchronize_stream_with_timeout(stream, 5000),
    ):
        pending()
        assert _ticks_during(wait, 0.15) >= 20
    ok(acl.rt.synchronize_stream(stream))
    sleeper = good(acl.util.start_thread(time.sleep, 0.2))
    assert _ticks_during(lambda: acl.util.stop_thread(sleeper), 0.15) >= 20
    assert _ticks_during(lambda: acl.rt.process_report(200), 0.15) >= 20


def test_a_callback_may_use_the_runtime_while_main_waits(stream: int, reporter: Reporter) -> None:
    """A blocking callback allocates, copies and frees while the main thread sits in synchronize_stream."""
    context = good(acl.rt.get_context())
    results: list[Any] = []
    ok(acl.rt.subscribe_report(reporter.thread, stream))

    def work(data: list[Any]) -> None:
        data.append(acl.rt.set_context(context))
        pointer, ret = acl.rt.malloc(64, 0)
        data += [ret, acl.rt.memset(pointer, 64, 1, 64), acl.rt.free(pointer)]

    ok(acl.rt.launch_callback(work, results, 1, stream))
    ok(acl.rt.synchronize_stream(stream))

    assert results == [0, 0, 0, 0]


def test_what_is_refused_is_not_queued(stream: int, reporter: Reporter) -> None:
    """C034: three arguments, no callable, no stream, a bad flag: refused at once; ctypes functions are taken."""
    ok(acl.rt.subscribe_report(reporter.thread, stream))
    with pytest.raises(TypeError, match=r"function takes exactly 4 arguments \(3 given\)"):
        untyped.rt.launch_callback(print, [], stream)
    with pytest.raises(TypeError, match="parameter must be callable"):
        untyped.rt.launch_callback("print", [], 1, stream)
    with pytest.raises(TypeError):
        untyped.rt.launch_callback(print, [], 1, None)
    assert acl.rt.launch_callback(print, [], 2, stream) == 107000
    assert acl.rt.synchronize_stream_with_timeout(stream, 0) == 0

    seen: list[object] = []
    function = ctypes.CFUNCTYPE(None, ctypes.py_object)(seen.append)
    ok(acl.rt.launch_callback(function, [1], 1, stream))
    ok(acl.rt.launch_callback(seen.append, None, 1, stream))
    ok(acl.rt.synchronize_stream(stream))
    assert seen == [[1], None]


class _Data:
    def __init__(self) -> None:
        self.numbers = list(range(1000))


def test_function_and_data_live_until_the_call(stream: int, gate: MakeGate) -> None:
    """C035: a lambda and its data survive the program's own references, and nothing keeps them afterwards."""
    sums: list[int] = []
    held = gate(stream)
    data = _Data()
    alive = weakref.ref(data)
    ok(acl.rt.launch_callback(lambda given: sums.append(sum(given.numbers)), data, 1, stream))
    del data
    gc.collect()
    assert alive() is not None

    held.open()
    ok(acl.rt.synchronize_stream(stream))
    gc.collect()

    assert sums == [499500]
    assert alive() is None


def test_blocking_callbacks_hold_the_stream_in_order(stream: int, reporter: Reporter) -> None:
    """C036: five blocking callbacks of 20 ms run in order, and synchronise waits for them all."""
    ok(acl.rt.subscribe_report(reporter.thread, stream))
    order: list[int] = []

    def work(number: int) -> None:
        time.sleep(0.02)
        order.append(number)

    began = time.perf_counter()
    for number in range(5):
        ok(acl.rt.launch_callback(work, number, 1, stream))
    ok(acl.rt.synchronize_stream(stream))

    assert time.perf_counter() - began >= 0.1
    assert order == [0, 1, 2, 3, 4]


def test_callbacks_that_do_not_block_are_not_waited_for(stream: int, reporter: Reporter) -> None:
    """C036: with flag 0 the stream goes on and synchronise returns; the calls run in order all the same."""
    ok(acl.rt.subscribe_report(reporter.thread, stream))
    release, done, order = threading.Event(), threading.Event(), []

    def work(number: int) -> None:
        release.wait(5)
        order.append(number)
        if number == 4:
            done.set()

    for number in range(5):
        ok(acl.rt.launch_callback(work, number, 0, stream))
    assert acl.rt.synchronize_stream_with_timeout(stream, 2000) == 0
    assert order == []
    release.set()

    assert done.wait(5)
    assert order == [0, 1, 2, 3, 4]


def test_waiting_for_ones_own_stream_in_a_callback_is_a_code(stream: int, reporter: Reporter) -> None:
    """C037: a blocking callback that synchronises its own stream gets 507004 at once; another stream is allowed."""
    other, codes = good(acl.rt.create_stream()), []
    context = good(acl.rt.get_context())
    ok(acl.rt.subscribe_report(reporter.thread, stream))

    def work(_data: object) -> None:
        ok(acl.rt.set_context(context))
        codes.append(acl.rt.synchronize_stream(stream))
        codes.append(acl.rt.synchronize_stream(other))

    ok(acl.rt.launch_callback(work, None, 1, stream))
    assert acl.rt.synchronize_stream_with_timeout(stream, 5000) == 0

    assert codes == [507004, 0]


def test_a_reporting_thread_can_be_stopped_while_it_waits_for_ever(stream: int) -> None:
    """C038: stop_thread ends an endless wait for reports, also of a thread that is subscribed still."""
    context, state = good(acl.rt.get_context()), {"stop": False, "loops": 0}

    def loop(_arguments: object) -> None:
        acl.rt.set_context(context)
        while not state["stop"]:
            acl.rt.process_report(-1)
            state["loops"] += 1

    thread = good(acl.util.start_thread(loop, []))
    ok(acl.rt.subscribe_report(thread, stream))
    ok(acl.rt.launch_callback(lambda _: None, None, 1, stream))
    ok(acl.rt.synchronize_stream(stream))
    state["stop"] = True

    assert acl.util.stop_thread(thread) == 0
    assert 1 <= state["loops"] <= 25


def test_a_wait_for_reports_ends_with_the_subscription(stream: int) -> None:
    """A thread that waits for ever is woken when its stream is unsubscribed, so that it can be stopped."""
    entered, codes = threading.Event(), []

    def loop(_arguments: object) -> None:
        entered.wait(5)
        codes.append(acl.rt.process_report(-1))

    thread = good(acl.util.start_thread(loop, []))
    ok(acl.rt.subscribe_report(thread, stream))
    entered.set()
    ok(acl.rt.unsubscribe_report(thread, stream))
    ok(acl.util.stop_thread(thread))

    assert codes == [107012]


def test_callbacks_of_a_thread_that_ended_fail(stream: int, capfd: pytest.CaptureFixture[str]) -> None:
    """A call whose thread ended fails with 107012 at the next synchronise, instead of holding the stream for ever."""
    leave = threading.Event()
    thread = good(acl.util.start_thread(lambda _: leave.wait(5), []))
    ok(acl.rt.subscribe_report(thread, stream))
    ok(acl.rt.launch_callback(print, "never", 1, stream))
    leave.set()
    ok(acl.util.stop_thread(thread))

    assert acl.rt.synchronize_stream(stream) == 107012
    assert acl.rt.launch_callback(print, "never", 1, stream) == 107015
    assert "never" not in capfd.readouterr().out


def test_destroying_a_stream_whose_callbacks_this_thread_reports(stream: int) -> None:
    """A thread that reports its own stream's callbacks may destroy the stream: they are run, and nothing hangs."""
    seen: list[int] = []
    ok(acl.rt.subscribe_report(threading.get_ident(), stream))
    for number in range(3):
        ok(acl.rt.launch_callback(seen.append, number, 1, stream))

    assert acl.rt.destroy_stream(stream) == 0
    assert seen == [0, 1, 2]


def test_resetting_with_callbacks_of_a_dead_thread(stream: int) -> None:
    """A plain thread that ended without unsubscribing does not hold up the end of the device."""
    thread = threading.Thread(target=lambda: None)
    thread.start()
    assert thread.ident is not None
    ok(acl.rt.subscribe_report(thread.ident, stream))
    thread.join()
    ok(acl.rt.launch_callback(print, "never", 1, stream))

    assert acl.rt.reset_device(0) == 107012
    assert acl.rt.malloc(64, 0) == (0, 107002)


def test_order_with_other_work(stream: int, gate: MakeGate, reporter: Reporter) -> None:
    """A callback sees the work before it done, and blocking work after it not yet."""
    pointer = good(acl.rt.malloc(64, 0))
    seen: list[bytes] = []
    held: Gate = gate(stream)
    ok(acl.rt.memset_async(pointer, 64, 1, 64, stream))
    ok(acl.rt.launch_callback(lambda _: seen.append(acl.util.ptr_to_bytes(pointer, 1)), None, 1, stream))
    ok(acl.rt.memset_async(pointer, 64, 2, 64, stream))
    held.open()
    ok(acl.rt.synchronize_stream(stream))

    assert seen == [b"\1"]
    assert acl.util.ptr_to_bytes(pointer, 1) == b"\2"
