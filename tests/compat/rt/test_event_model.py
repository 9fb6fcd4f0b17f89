"""Any order of recording, waiting, resetting and asking, against a model of what events are."""

from __future__ import annotations

import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import acl
from tests.compat._programs import good, ok

SYNC, TIME_LINE = 1, 8
ACTS = ("hold", "open", "record", "wait", "reset", "record other", "wait other")


class Model:
    """One event, a stream that can be held up, and another one; what is known of them beside the runtime."""

    def __init__(self) -> None:
        self.streams = [good(acl.rt.create_stream()), good(acl.rt.create_stream())]
        self.event = good(acl.rt.create_event_with_flag(SYNC | TIME_LINE))
        self.gate: threading.Event | None = None
        self.pending = self.was_reset = self.waited = False

    def act(self, name: str) -> None:
        """Do something, in the runtime and in the model."""
        getattr(self, name.replace(" ", "_"))()

    def hold(self) -> None:
        if self.gate is None:
            self.gate = gate = threading.Event()
            ok(acl.rt.launch_host_func(self.streams[0], lambda _: gate.wait(10), None))

    def open(self) -> None:
        if self.gate is not None:
            self.gate.set()
            self.gate = None
        for stream in self.streams:
            ok(acl.rt.synchronize_stream(stream))
        self.pending = self.waited = False

    def record(self) -> None:
        ok(acl.rt.record_event(self.event, self.streams[0]))
        self.pending, self.was_reset = self.gate is not None, False

    def record_other(self) -> None:
        ok(acl.rt.record_event(self.event, self.streams[1]))
        self.pending, self.was_reset = self.waited, False

    def wait(self) -> None:
        """Let the stream that is held up wait: it comes to that only when it is open."""
        ok(acl.rt.stream_wait_event(self.streams[0], self.event))

    def wait_other(self) -> None:
        ok(acl.rt.stream_wait_event(self.streams[1], self.event))
        self.waited = self.waited or self.pending

    def reset(self) -> None:
        ok(acl.rt.reset_event(self.event, self.streams[0]))
        self.pending, self.was_reset = False, True

    def check(self) -> None:
        """Compare every question's answer."""
        is_pending = self.pending or self.was_reset
        if not self.pending:  # a stream that nothing holds up is through soon
            for stream in self.streams[1:] if self.gate is not None else self.streams:
                if not self.waited:
                    ok(acl.rt.synchronize_stream(stream))
        assert acl.rt.query_event(self.event) == (int(is_pending), 0)
        assert acl.rt.query_event_status(self.event) == (int(not is_pending), 0)
        expected = 107000 if self.was_reset else 507047 if self.pending else 0
        assert acl.rt.synchronize_event_with_timeout(self.event, 0) == expected
        if self.waited:
            assert acl.rt.query_event_wait_status(self.event)[0] == acl.rt.stream_query(self.streams[1])[0] == 1


@pytest.mark.usefixtures("device")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(ACTS), max_size=12))
def test_events_are_as_the_model_says(acts: list[str]) -> None:
    """After every step each question has the model's answer, and in the end nothing is left waiting."""
    model = Model()
    try:
        for name in acts:
            model.act(name)
            model.check()
    finally:
        model.open()
    ok(acl.rt.record_event(model.event, model.streams[0]))
    ok(acl.rt.synchronize_event(model.event))
    for stream in model.streams:
        ok(acl.rt.destroy_stream(stream))
    ok(acl.rt.destroy_event(model.event))
