"""How many cores work may use."""

from __future__ import annotations

import pytest

import acl
from tests.compat._programs import good, in_thread, ok

CUBE, VECTOR = 0, 1


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices of eight cores."""
    monkeypatch.setenv("AACL_CORES", "8")


def test_a_device_has_all_its_cores_until_it_is_limited(device: int) -> None:
    """A limit holds for one kind of cores of one device, in every thread, until it is reset."""
    assert acl.rt.get_device_res_limit(0, CUBE) == acl.rt.get_device_res_limit(1, VECTOR) == (8, 0)
    ok(acl.rt.set_device_res_limit(0, CUBE, 3))

    assert in_thread(lambda: acl.rt.get_device_res_limit(0, CUBE)) == (3, 0)
    assert acl.rt.get_device_res_limit(0, VECTOR) == acl.rt.get_device_res_limit(1, CUBE) == (8, 0)
    ok(acl.rt.reset_device_res_limit(0))
    assert acl.rt.get_device_res_limit(0, CUBE) == (8, 0)


def test_a_devices_limits_end_with_it(device: int) -> None:
    """A device that was reset and is used again has no limits."""
    ok(acl.rt.set_device_res_limit(0, CUBE, 1))
    ok(acl.rt.reset_device(0))
    ok(acl.rt.set_device(0))

    assert acl.rt.get_device_res_limit(0, CUBE) == (8, 0)


def test_a_stream_goes_before_its_device(stream: int) -> None:
    """A stream has the device's limits until it gets its own; resetting gives the device's back; 0 is the default one."""
    ok(acl.rt.set_device_res_limit(0, VECTOR, 6))
    assert acl.rt.get_stream_res_limit(stream, VECTOR) == acl.rt.get_stream_res_limit(0, VECTOR) == (6, 0)
    ok(acl.rt.set_stream_res_limit(stream, VECTOR, 2))
    ok(acl.rt.set_stream_res_limit(0, CUBE, 4))

    assert [acl.rt.get_stream_res_limit(stream, kind) for kind in (CUBE, VECTOR)] == [(8, 0), (2, 0)]
    default = good(acl.rt.ctx_get_current_default_stream())
    assert [acl.rt.get_stream_res_limit(default, kind) for kind in (CUBE, VECTOR)] == [(4, 0), (6, 0)]
    ok(acl.rt.reset_stream_res_limit(stream))
    assert acl.rt.get_stream_res_limit(stream, VECTOR) == (6, 0)


def test_a_thread_uses_a_streams_limits(stream: int) -> None:
    """A thread has the current device's limits, or those of the stream that it uses; other threads are not touched."""
    ok(acl.rt.set_device_res_limit(0, CUBE, 5))
    ok(acl.rt.set_stream_res_limit(stream, CUBE, 2))
    assert acl.rt.get_res_in_current_thread(CUBE) == (5, 0)
    ok(acl.rt.use_stream_res_in_current_thread(stream))
    assert acl.rt.get_res_in_current_thread(CUBE) == (2, 0)

    def elsewhere() -> object:
        ok(acl.rt.set_device(0))
        return acl.rt.unuse_stream_res_in_current_thread(stream), acl.rt.get_res_in_current_thread(CUBE)

    assert in_thread(elsewhere) == (107000, (5, 0))
    ok(acl.rt.set_stream_res_limit(stream, CUBE, 1))
    assert acl.rt.get_res_in_current_thread(CUBE) == (1, 0)
    ok(acl.rt.unuse_stream_res_in_current_thread(stream))
    assert acl.rt.get_res_in_current_thread(CUBE) == (5, 0)
    assert acl.rt.unuse_stream_res_in_current_thread(stream) == 107000


def test_a_destroyed_streams_limits_are_gone(stream: int) -> None:
    """A thread that uses the limits of a stream falls back on the device's when the stream ends."""
    ok(acl.rt.set_stream_res_limit(stream, CUBE, 2))
    ok(acl.rt.use_stream_res_in_current_thread(stream))
    ok(acl.rt.destroy_stream(stream))

    assert acl.rt.get_res_in_current_thread(CUBE) == (8, 0)
    assert acl.rt.get_stream_res_limit(stream, CUBE) == (0, 107017)


@pytest.mark.parametrize("value", [0, -1, 9, 2**70])
def test_limits_that_are_none(stream: int, value: int) -> None:
    """A limit is from one core to all of them; another one changes nothing and is told with both ends."""
    assert acl.rt.set_device_res_limit(0, CUBE, value) == acl.rt.set_stream_res_limit(stream, CUBE, value) == 107000
    assert "has 8, and 1 is the least" in (acl.get_recent_err_msg() or "")
    assert acl.rt.get_stream_res_limit(stream, CUBE) == (8, 0)


def test_kinds_and_devices_that_are_none(stream: int) -> None:
    """Unknown kinds of cores, devices that there are not, and those that are not in use."""
    assert acl.rt.get_device_res_limit(0, 2) == acl.rt.get_stream_res_limit(stream, -1) == (0, 100000)
    assert acl.rt.get_res_in_current_thread(2) == (0, 100000)
    assert acl.rt.set_device_res_limit(0, 2, 1) == acl.rt.set_stream_res_limit(stream, 2, 1) == 100000
    assert acl.rt.set_device_res_limit(2, CUBE, 1) == acl.rt.reset_device_res_limit(-1) == 107001
    assert acl.rt.get_device_res_limit(2, CUBE) == (0, 107001)
    assert acl.rt.set_device_res_limit(1, CUBE, 1) == acl.rt.reset_device_res_limit(1) == 107002
    good(acl.rt.create_context(0))
    assert acl.rt.set_stream_res_limit(stream, CUBE, 1) == acl.rt.use_stream_res_in_current_thread(stream) == 107003
    assert in_thread(lambda: acl.rt.get_res_in_current_thread(CUBE)) == (0, 107002)
