"""A runtime that is clean before and after each test of the drop-in, a thread that reports, and gates in streams."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import acl
from acl._handles import open_handles
from acl._state import state
from tests.compat._programs import Gate, MakeGate, Reporter, good, ok


@pytest.fixture(autouse=True)
def clean_runtime() -> Iterator[None]:
    """Begin with a runtime that is not initialised, and leave none behind."""
    _end()
    yield
    _end()
    assert open_handles() == {}


def _end() -> None:
    acl.init()  # handles of what needs no device can be made without, and end with the runtime too
    acl.finalize()
    state._first = None  # each test is a process of its own to a configuration
    acl.get_recent_err_msg()
    acl.rt.get_last_error(0)


@pytest.fixture
def device() -> int:
    """Device 0, set in the test's thread."""
    ok(acl.init())
    ok(acl.rt.set_device(0))
    return 0


@pytest.fixture
def stream(device: int) -> int:
    """A stream of its default context."""
    handle: int = good(acl.rt.create_stream())
    return handle


@pytest.fixture
def reporter(device: int) -> Iterator[Reporter]:
    """A thread that reports."""
    reporter = Reporter()
    yield reporter
    reporter.stop()


@pytest.fixture
def gate(reporter: Reporter) -> Iterator[MakeGate]:
    """Make gates in streams; all are open at the end."""
    gates: list[Gate] = []

    def make(stream: int) -> Gate:
        gates.append(Gate(reporter, stream))
        return gates[-1]

    yield make
    for each in gates:
        each.open()
