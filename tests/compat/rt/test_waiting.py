"""Blocking waits: other threads run meanwhile, Ctrl-C gets out, and they wake soon."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable

import pytest

import acl
from tests.compat._programs import good, ok, run_program

WAITS = {
    "synchronize_stream": "acl.rt.synchronize_stream(stream)",
    "synchronize_stream_with_timeout": "acl.rt.synchronize_stream_with_timeout(stream, -1)",
    "synchronize_event": "acl.rt.synchronize_event(event)",
    "synchronize_event_with_timeout": "acl.rt.synchronize_event_with_timeout(event, 60000)",
    "synchronize_device": "acl.rt.synchronize_device()",
    "synchronize_device_with_timeout": "acl.rt.synchronize_device_with_timeout(-1)",
    "process_report": "acl.rt.process_report(-1)",
    "process_report, limited": "acl.rt.process_report(60000)",
    "process_host_func": "acl.rt.process_host_func(-1)",
    "stop_thread": "acl.util.stop_thread(thread)",
}


@pytest.mark.parametrize("wait", WAITS)
def test_an_interrupt_ends_a_wait(wait: str) -> None:
    """C030: a real SIGINT raises KeyboardInterrupt out of each wait, at once, and the work goes on and ends well."""
    out = run_program(
        f"""
        import os, signal, threading, time, acl
        acl.init(); acl.rt.set_device(0)
        stream, _ = acl.rt.create_stream(); event, _ = acl.rt.create_event(); served, _ = acl.rt.create_stream()
        entered, leave = threading.Event(), threading.Event()
        thread, _ = acl.util.start_thread(lambda _: leave.wait(10), [])
        acl.rt.subscribe_report(threading.get_ident(), served)
        acl.rt.launch_host_func(stream, lambda _: (entered.set(), leave.wait(10)), None)
        acl.rt.record_event(event, stream)
        entered.wait(5)
        sent = []
        threading.Timer(0.1, lambda: (sent.append(time.monotonic()), os.kill(os.getpid(), signal.SIGINT))).start()
        try:
            print("not interrupted:", {WAITS[wait]})
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - sent[0] < 1)
        leave.set()
        print(acl.rt.synchronize_event(event), acl.rt.synchronize_stream(stream), acl.util.stop_thread(thread))
        print(acl.finalize())
        """
    )

    assert out.splitlines() == ["interrupted True", "0 0 0", "0"]


def _median_wake(hold: Callable[[threading.Event], object], wait: Callable[[], object], rounds: int = 40) -> float:
    """Return the median seconds from the end of a wait's work to the end of the wait."""
    times = []
    for _ in range(rounds):
        ended: list[float] = []
        waits = threading.Event()

        def work(_: object, ended: list[float] = ended, waits: threading.Event = waits) -> None:
            waits.wait(5)
            time.sleep(0.001)  # the waiting thread is asleep by then
            ended.append(time.perf_counter())

        hold(work)  # type: ignore[arg-type]
        waits.set()
        wait()
        times.append(time.perf_counter() - ended[0])
    return statistics.median(times)


@pytest.mark.parametrize("what", ["stream", "event", "device"])
@pytest.mark.parametrize("reports", [False, True], ids=["", "beside a thread that reports"])
def test_a_wait_ends_soon_after_its_work(stream: int, what: str, reports: bool) -> None:
    """Half of the waits end within a millisecond (they take some 50 µs on an idle machine); the bar is the benchmark's."""
    event = good(acl.rt.create_event())
    stop: list[int] = []

    def report(_: object) -> None:
        while not stop:
            acl.rt.process_report(20)

    thread = good(acl.util.start_thread(report, [])) if reports else 0
    if reports:
        ok(acl.rt.subscribe_report(thread, good(acl.rt.create_stream())))
    waits: dict[str, Callable[[], int]] = {
        "stream": lambda: acl.rt.synchronize_stream(stream),
        "event": lambda: acl.rt.synchronize_event(event),
        "device": acl.rt.synchronize_device,
    }

    def hold(work: object) -> None:
        ok(acl.rt.launch_host_func(stream, work, None))  # type: ignore[arg-type]
        ok(acl.rt.record_event(event, stream))

    median = _median_wake(hold, waits[what])
    stop.append(1)
    if reports:
        ok(acl.util.stop_thread(thread))

    print(f"{what}{' (reporting)' if reports else ''}: {median * 1e6:.0f} us")
    assert median < 0.001


def test_a_thread_that_reports_wakes_soon_for_an_event_too(stream: int) -> None:
    """It looks often at first: a wait of a millisecond is not rounded up to the 50 ms between later looks."""
    event = good(acl.rt.create_event())
    ok(acl.rt.subscribe_report(threading.get_ident(), good(acl.rt.create_stream())))

    def hold(work: object) -> None:
        ok(acl.rt.launch_host_func(stream, work, None))  # type: ignore[arg-type]
        ok(acl.rt.record_event(event, stream))

    assert _median_wake(hold, lambda: acl.rt.synchronize_event(event), rounds=10) < 0.01
