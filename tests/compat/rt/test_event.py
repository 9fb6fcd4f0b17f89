"""Events: order, time, flags, states."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import acl
from acl.rt import _event
from tests.compat._programs import MakeGate, Reporter, good, ok

SYNC, PROGRESS, TIME_LINE = 1, 2, 8


def test_time_is_that_of_the_work(stream: int, reporter: Reporter) -> None:
    """C040: two events around 120 ms of device work are about as far apart, not as far as the two calls."""
    start, end = good(acl.rt.create_event()), good(acl.rt.create_event())
    ok(acl.rt.subscribe_report(reporter.thread, stream))
    began = time.perf_counter()
    ok(acl.rt.record_event(start, stream))
    ok(acl.rt.launch_callback(lambda _: time.sleep(0.12), None, 1, stream))
    ok(acl.rt.record_event(end, stream))
    ok(acl.rt.synchronize_stream(stream))
    around = (time.perf_counter() - began) * 1000

    elapsed = good(acl.rt.event_elapsed_time(start, end))

    assert isinstance(elapsed, float)
    assert 0.8 * 120 <= elapsed <= around


def test_time_between_the_hosts_calls_counts(stream: int) -> None:
    """Records on an idle stream happen at once: 20 ms of the host's own between them show."""
    start, end = good(acl.rt.create_event()), good(acl.rt.create_event())
    began = time.perf_counter()
    ok(acl.rt.record_event(start, stream))
    time.sleep(0.02)
    ok(acl.rt.record_event(end, stream))
    ok(acl.rt.synchronize_event(end))
    around = (time.perf_counter() - began) * 1000

    assert 19 <= good(acl.rt.event_elapsed_time(start, end)) <= around


def test_back_to_back_records_are_not_negative(stream: int) -> None:
    """C040: two records right after one another are 0 or more apart."""
    start, end = good(acl.rt.create_event()), good(acl.rt.create_event())
    ok(acl.rt.record_event(start, stream))
    ok(acl.rt.record_event(end, stream))
    ok(acl.rt.synchronize_stream(stream))

    assert good(acl.rt.event_elapsed_time(start, end)) >= 0
    assert acl.rt.event_elapsed_time(end, start) == (0.0, 107007)
    assert good(acl.rt.event_get_timestamp(end)) >= good(acl.rt.event_get_timestamp(start)) > 0


def test_time_of_events_that_have_none(stream: int) -> None:
    """C040: an event that was never recorded, or made without the time flag, has no time: 107006."""
    plain, untimed = good(acl.rt.create_event()), good(acl.rt.create_event_with_flag(SYNC))
    recorded = good(acl.rt.create_event())
    ok(acl.rt.record_event(recorded, stream))
    ok(acl.rt.record_event(untimed, stream))
    ok(acl.rt.synchronize_stream(stream))

    assert acl.rt.event_elapsed_time(plain, recorded) == (0.0, 107006)
    assert acl.rt.event_elapsed_time(recorded, plain) == (0.0, 107006)
    assert acl.rt.event_elapsed_time(untimed, recorded) == (0.0, 107006)
    assert acl.rt.event_get_timestamp(untimed) == (0, 107006)


def test_states_of_an_event(stream: int, gate: MakeGate) -> None:
    """C041: complete before any record, pending while the stream has not reached it, complete after."""
    event = good(acl.rt.create_event())
    assert (acl.rt.query_event(event), acl.rt.query_event_status(event)) == ((0, 0), (1, 0))

    held = gate(stream)
    ok(acl.rt.record_event(event, stream))
    assert (acl.rt.query_event(event), acl.rt.query_event_status(event)) == ((1, 0), (0, 0))
    assert acl.rt.synchronize_event_with_timeout(event, 10) == 507047
    assert acl.rt.synchronize_event_with_timeout(event, 0) == 507047
    assert acl.rt.synchronize_event_with_timeout(event, -2) == 107000
    held.open()

    assert acl.rt.synchronize_event(event) == 0
    assert (acl.rt.query_event(event), acl.rt.query_event_status(event)) == ((0, 0), (1, 0))
    assert acl.rt.synchronize_event_with_timeout(event, -1) == 0


def test_a_wait_takes_the_latest_record(stream: int, gate: MakeGate) -> None:
    """C041: recording again overwrites; a wait is for the record that was the latest when it was submitted."""
    other, target = good(acl.rt.create_stream()), good(acl.rt.malloc(64, 0))
    event = good(acl.rt.create_event())
    ok(acl.rt.memset(target, 64, 0, 64))
    ok(acl.rt.record_event(event, other))  # reached at once
    held = gate(stream)
    ok(acl.rt.record_event(event, stream))

    ok(acl.rt.stream_wait_event(other, event))
    ok(acl.rt.memset_async(target, 64, 4, 64, other))

    assert acl.rt.synchronize_stream_with_timeout(other, 30) == 507046
    assert acl.util.ptr_to_bytes(target, 64) == bytes(64)
    held.open()
    ok(acl.rt.synchronize_stream(other))
    assert acl.util.ptr_to_bytes(target, 64) == b"\4" * 64


def test_waiting_for_an_event_never_recorded_does_not_wait(stream: int) -> None:
    """A wait for an event without a record lets the stream go on."""
    event = good(acl.rt.create_event())
    ok(acl.rt.stream_wait_event(stream, event))

    assert acl.rt.synchronize_stream(stream) == 0


def test_waits_are_known_until_they_are_over(stream: int, gate: MakeGate) -> None:
    """query_event_wait_status tells whether streams still wait."""
    event, other = good(acl.rt.create_event_with_flag(SYNC)), good(acl.rt.create_stream())
    assert acl.rt.query_event_wait_status(event) == (0, 0)
    held = gate(stream)
    ok(acl.rt.record_event(event, stream))
    ok(acl.rt.stream_wait_event(other, event))
    assert acl.rt.query_event_wait_status(event) == (1, 0)
    held.open()
    ok(acl.rt.synchronize_stream(other))

    assert acl.rt.query_event_wait_status(event) == (0, 0)


def test_what_flags_allow(stream: int) -> None:
    """C041: a plain event cannot be reset; one without the sync flag cannot be waited for; ex events take neither."""
    plain, timed = good(acl.rt.create_event()), good(acl.rt.create_event_with_flag(TIME_LINE))
    sync, ex = good(acl.rt.create_event_with_flag(SYNC | TIME_LINE)), good(acl.rt.create_event_ex_with_flag(SYNC))
    for event in (plain, timed, sync, ex):
        ok(acl.rt.record_event(event, stream))

    assert [acl.rt.stream_wait_event(stream, event) for event in (plain, timed, sync, ex)] == [0, 107000, 0, 0]
    assert [acl.rt.reset_event(event, stream) for event in (plain, timed, ex)] == [107000] * 3
    assert [acl.rt.query_event(event)[1] for event in (plain, timed, sync, ex)] == [0, 0, 0, 107000]
    assert [acl.rt.query_event_status(event)[1] for event in (plain, timed, sync, ex)] == [0] * 4
    assert [acl.rt.query_event_wait_status(event)[1] for event in (plain, timed, sync, ex)] == [0, 107000, 0, 107000]
    assert acl.rt.reset_event(sync, stream) == 0
    assert acl.rt.query_event_status(sync) == (0, 0)
    assert acl.rt.event_elapsed_time(sync, plain) == (0.0, 107006)
    ok(acl.rt.record_event(sync, stream))
    assert acl.rt.query_event_status(sync) == (1, 0)


@pytest.mark.parametrize("flag", [0, 0x4, 0x20, -1])
def test_flags_that_mean_nothing(device: int, flag: int) -> None:
    """An event is for something: no flags, or unknown ones, are 107000."""
    assert acl.rt.create_event_with_flag(flag) == (0, 107000)
    assert acl.rt.create_event_ex_with_flag(flag) == (0, 107000)


def test_events_of_another_device(stream: int) -> None:
    """C019: recording, waiting and timing across devices is 107003 at once, never a hang."""
    event, other = good(acl.rt.create_event()), good(acl.rt.create_event())
    ok(acl.rt.record_event(event, stream))
    ok(acl.rt.record_event(other, stream))
    ok(acl.rt.set_device(1))
    there, foreign = good(acl.rt.create_stream()), good(acl.rt.create_event())

    assert acl.rt.stream_wait_event(there, event) == 107003
    assert acl.rt.record_event(event, there) == 107003
    ok(acl.rt.record_event(foreign, there))
    assert acl.rt.event_elapsed_time(event, foreign) == (0.0, 107003)
    ok(acl.rt.reset_device(1))


def test_events_of_another_context(stream: int) -> None:
    """Semantics section 4: an event serves the streams of the context it was made in; elsewhere it is 107003 and unchanged."""
    home, event = good(acl.rt.get_context()), good(acl.rt.create_event_with_flag(0x9))
    ok(acl.rt.record_event(event, stream))
    ok(acl.rt.synchronize_stream(stream))
    away = good(acl.rt.create_context(0))

    assert acl.rt.record_event(event, 0) == 107003
    assert "two contexts" in (acl.get_recent_err_msg() or "")
    assert acl.rt.stream_wait_event(0, event) == 107003
    assert acl.rt.reset_event(event, 0) == 107003
    assert acl.rt.query_event(event) == (0, 0)
    assert acl.rt.synchronize_event(event) == 0
    ok(acl.rt.destroy_context(away))
    ok(acl.rt.set_context(home))
    assert acl.rt.event_elapsed_time(event, event) == (0.0, 0)
    assert acl.rt.stream_wait_event(0, event) == 0
    assert acl.rt.destroy_event(event) == 0


def test_destroying_a_pending_event_disturbs_nobody(stream: int, gate: MakeGate) -> None:
    """C043: destroy_event returns at once, and the stream that waits for it goes on when it is reached."""
    event, other, target = good(acl.rt.create_event()), good(acl.rt.create_stream()), good(acl.rt.malloc(64, 0))
    held = gate(stream)
    ok(acl.rt.record_event(event, stream))
    ok(acl.rt.stream_wait_event(other, event))
    ok(acl.rt.memset_async(target, 64, 8, 64, other))

    assert acl.rt.destroy_event(event) == 0
    assert acl.rt.destroy_event(event) == 107017
    held.open()
    ok(acl.rt.synchronize_stream(other))
    assert acl.util.ptr_to_bytes(target, 64) == b"\x08" * 64


def test_null_and_dead_events(stream: int) -> None:
    """0 is 100000, other numbers that are no event 107017, in every call."""
    for event, code in ((0, 100000), (stream, 107017), (987654, 107017)):
        assert acl.rt.record_event(event, stream) == code
        assert acl.rt.stream_wait_event(stream, event) == code
        assert acl.rt.synchronize_event(event) == code
        assert acl.rt.destroy_event(event) == code
        assert acl.rt.query_event(event) == (1, code)
        assert acl.rt.query_event_status(event) == (0, code)


def test_numbers_of_events(device: int) -> None:
    """Events have numbers of their own, and how many more there could be goes down."""
    left = good(acl.rt.get_event_avail_num())
    one, two = good(acl.rt.create_event()), good(acl.rt.create_event())

    assert good(acl.rt.get_event_id(one)) != good(acl.rt.get_event_id(two))
    assert good(acl.rt.get_event_avail_num()) == left - 2


@pytest.mark.parametrize("timeout", [None, -1, 50])
def test_waiting_for_an_event_that_was_reset_is_refused(stream: int, timeout: int | None) -> None:
    """A reset event is not complete until it is recorded again: a wait for it is 107000, not 0 and not for ever."""
    event = good(acl.rt.create_event_with_flag(SYNC))
    ok(acl.rt.record_event(event, stream))
    ok(acl.rt.reset_event(event, stream))

    def wait() -> int:
        code: int
        if timeout is None:
            code = acl.rt.synchronize_event(event)
        else:
            code = acl.rt.synchronize_event_with_timeout(event, timeout)
        return code

    assert (acl.rt.query_event(event), wait()) == ((1, 0), 107000)
    assert "record it first" in (acl.get_recent_err_msg() or "")
    ok(acl.rt.record_event(event, stream))
    assert wait() == 0


def test_no_wait_is_lost_between_threads(stream: int, gate: MakeGate, nervous: None) -> None:
    """Threads that let their streams wait for one event at the same time are all waited for, and none twice."""
    event = good(acl.rt.create_event())
    held = gate(stream)
    ok(acl.rt.record_event(event, stream))

    def wait(_: int) -> None:
        ok(acl.rt.set_device(0))
        other = good(acl.rt.create_stream())
        for _ in range(50):
            ok(acl.rt.stream_wait_event(other, event))

    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(wait, range(4))] == [None] * 4
    assert len({*map(id, _event._events.get(event).waits)}) == 200
    held.open()
    ok(acl.rt.synchronize_device())
