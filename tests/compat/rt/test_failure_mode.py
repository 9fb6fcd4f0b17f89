"""Streams that stop at the first failure, and the others of their context with them."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import pytest

import acl
from tests.compat._programs import MakeGate, Reporter, good, ok, untyped

STOPPED = 500001
"""The code of the failure that stops streams here: a Python callback's own exception."""

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.fixture
def quiet(capfd: pytest.CaptureFixture[str]) -> None:
    """Keep what failing callbacks print away."""


@pytest.fixture
def fail(reporter: Reporter) -> Callable[[int], None]:
    """Submit a callback that fails to a stream."""

    def submit(stream: int) -> None:
        assert acl.rt.subscribe_report(reporter.thread, stream) in (0, 107011)
        ok(acl.rt.launch_callback(lambda _: 1 / 0, None, 1, stream))

    return submit


def filled(stream: int, value: int) -> int:
    """Return memory that a stream is asked to fill."""
    pointer: int = good(acl.rt.malloc(64, 0))
    ok(acl.rt.memset(pointer, 64, 0, 64))
    ok(acl.rt.memset_async(pointer, 64, value, 64, stream))
    return pointer


def first_byte(pointer: int) -> int:
    """Return the first byte of device memory."""
    return acl.util.ptr_to_bytes(pointer, 1)[0]


def test_streams_go_on_by_default(stream: int, fail: Callable[[int], None]) -> None:
    """Mode 0: what comes after a failed task runs, and the failure is told once."""
    fail(stream)
    pointer = filled(stream, 7)

    assert acl.rt.synchronize_stream(stream) == STOPPED
    assert acl.rt.synchronize_stream(stream) == 0
    assert first_byte(pointer) == 7


def test_a_stream_stops_at_the_first_failure(stream: int, fail: Callable[[int], None], gate: MakeGate) -> None:
    """Mode 1: what is queued behind the failure does not run, new tasks are refused, each synchronise says why."""
    ok(acl.rt.set_stream_failure_mode(stream, 1))
    held = gate(stream)
    fail(stream)
    pointer = filled(stream, 7)
    held.open()

    assert [acl.rt.synchronize_stream(stream) for _ in range(3)] == [STOPPED] * 3
    text = acl.get_recent_err_msg() or ""
    assert f"set_stream_failure_mode({stream}, 0)" in text
    assert "ZeroDivisionError" in text
    assert first_byte(pointer) == 0
    assert acl.rt.memset_async(pointer, 64, 8, 64, stream) == STOPPED
    assert acl.rt.launch_callback(print, None, 1, stream) == STOPPED
    event = good(acl.rt.create_event())
    assert acl.rt.record_event(event, stream) == STOPPED
    assert acl.rt.stream_query(stream) == (0, 0)
    assert first_byte(pointer) == 0


def test_the_other_streams_of_the_context_stop_too(stream: int, fail: Callable[[int], None], gate: MakeGate) -> None:
    """Their queued work is dropped, what runs there goes on, and they say the same failure; other contexts go on."""
    other = good(acl.rt.create_stream())
    home = good(acl.rt.get_context())
    away_context = good(acl.rt.create_context(0))
    away = good(acl.rt.create_stream())
    ok(acl.rt.set_context(home))
    held = gate(other)
    assert held.reached.wait(5)
    dropped, done = filled(other, 7), filled(0, 7)
    ok(acl.rt.synchronize_stream(0))
    ok(acl.rt.set_stream_failure_mode(stream, 1))
    ok(acl.rt.unsubscribe_report(_reporting(other), other))
    fail_here(stream)

    assert acl.rt.synchronize_stream(stream) == STOPPED
    assert acl.rt.stream_query(other) == (1, 0)
    held.open()
    for each in (other, 0):
        assert acl.rt.synchronize_stream(each) == STOPPED
        assert acl.rt.memset_async(done, 64, 9, 64, each) == STOPPED
    assert acl.rt.synchronize_device() == STOPPED
    assert (first_byte(dropped), first_byte(done)) == (0, 7)
    ok(acl.rt.set_context(away_context))
    assert first_byte(filled(away, 5)) == 5
    ok(acl.rt.synchronize_stream(away))
    ok(acl.rt.destroy_context(away_context))
    ok(acl.rt.set_context(home))


def _reporting(stream: int) -> int:
    from acl._streams import streams

    return streams.get(stream).reporter


def fail_here(stream: int) -> None:
    """Let a stream fail without a thread that reports: such a one may be held up."""
    ok(acl.rt.launch_host_func(stream, lambda _: 1 / 0, None))


@pytest.mark.parametrize("way", ["mode", "destroy", "force"])
def test_who_stopped_the_streams_lets_them_go_on(stream: int, way: str) -> None:
    """Mode 0 for the stream that failed, or its end, lets all of them take work again."""
    other = good(acl.rt.create_stream())
    ok(acl.rt.set_stream_failure_mode(stream, 1))
    fail_here(stream)
    assert acl.rt.synchronize_stream(stream) == STOPPED
    assert acl.rt.synchronize_stream(other) == STOPPED
    assert acl.rt.set_stream_failure_mode(stream, 1) == 0
    assert acl.rt.synchronize_stream(other) == STOPPED
    ends = {
        "mode": lambda: acl.rt.set_stream_failure_mode(stream, 0),
        "destroy": lambda: acl.rt.destroy_stream(stream),
        "force": lambda: acl.rt.destroy_stream_force(stream),
    }
    ok(ends[way]())

    for each in (other, 0) if way != "mode" else (stream, other, 0):
        pointer = filled(each, 3)
        ok(acl.rt.synchronize_stream(each))
        assert first_byte(pointer) == 3


def test_a_stream_that_was_stopped_can_go_on_alone(stream: int) -> None:
    """Mode 0 for one that another stream has stopped leaves that one, and the rest, stopped."""
    other = good(acl.rt.create_stream())
    ok(acl.rt.set_stream_failure_mode(stream, 1))
    fail_here(stream)
    assert acl.rt.synchronize_stream(stream) == STOPPED
    ok(acl.rt.set_stream_failure_mode(other, 0))

    assert acl.rt.synchronize_stream(other) == 0
    assert acl.rt.synchronize_stream(stream) == acl.rt.synchronize_stream(0) == STOPPED


def test_it_stops_again(stream: int) -> None:
    """After mode 0 and 1 again the next failure stops it as the first did."""
    for _ in range(3):
        ok(acl.rt.set_stream_failure_mode(stream, 1))
        fail_here(stream)
        assert acl.rt.synchronize_stream(stream) == STOPPED
        assert acl.rt.synchronize_stream(0) == STOPPED
        ok(acl.rt.set_stream_failure_mode(stream, 0))
        ok(acl.rt.synchronize_stream(stream))
        ok(acl.rt.synchronize_stream(0))


def test_the_default_stream_may_stop_the_others(stream: int) -> None:
    """Stream 0 takes the mode like any other."""
    ok(acl.rt.set_stream_failure_mode(0, 1))
    fail_here(0)

    assert acl.rt.synchronize_stream(stream) in (0, STOPPED)  # it may not have failed yet
    assert acl.rt.synchronize_stream(0) == STOPPED
    assert acl.rt.synchronize_stream(stream) == STOPPED


def test_modes_that_mean_nothing(stream: int) -> None:
    """Other modes are 107000 and change nothing; other streams than live ones are refused as everywhere."""
    for mode in (2, -1, 1 << 40):
        assert acl.rt.set_stream_failure_mode(stream, mode) == 107000
    assert "0 to 1" in (acl.get_recent_err_msg() or "")
    assert acl.rt.get_stream_attribute(stream, 1) == ({"failureMode": 0, "failure_mode": 0}, 0)
    assert acl.rt.set_stream_failure_mode(123456, 1) == 107017
    with pytest.raises(TypeError):
        untyped.rt.set_stream_failure_mode(stream, "1")


def test_many_threads_and_changing_modes(device: int) -> None:
    """Whatever threads submit, fail, wait for, drop and change meanwhile: in the end all streams take work again."""
    context, streams = good(acl.rt.get_context()), [good(acl.rt.create_stream()) for _ in range(3)]
    pointer = good(acl.rt.malloc(64, 0))
    codes: set[int] = set()

    def work(seed: int) -> None:
        choose = random.Random(seed)
        ok(acl.rt.set_context(context))
        event = good(acl.rt.create_event())
        acts: list[Callable[[int], int]] = [
            lambda stream: acl.rt.launch_host_func(stream, lambda _: 1 / 0, None),
            lambda stream: acl.rt.launch_host_func(stream, lambda _: None, None),
            lambda stream: acl.rt.memset_async(pointer, 64, 1, 64, stream),
            lambda stream: acl.rt.synchronize_stream_with_timeout(stream, 10_000),
            lambda stream: acl.rt.record_event(event, stream),
            lambda stream: acl.rt.stream_wait_event(stream, event),
            lambda stream: acl.rt.set_stream_failure_mode(stream, choose.randrange(2)),
            lambda stream: acl.rt.stream_query(stream)[1],
            acl.rt.stream_abort,
        ]
        for _ in range(1500):
            codes.add(choose.choice(acts)(choose.choice(streams)))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(15)
        assert not thread.is_alive()
    assert codes == {0, STOPPED}
    for stream in streams:
        ok(acl.rt.set_stream_failure_mode(stream, 0))
    for stream in streams:
        acl.rt.synchronize_stream_with_timeout(stream, 10_000)
        ok(acl.rt.synchronize_stream_with_timeout(stream, 10_000))
        pointer = filled(stream, 9)
        ok(acl.rt.synchronize_stream_with_timeout(stream, 10_000))
        assert first_byte(pointer) == 9
    ok(acl.rt.synchronize_stream(0))
