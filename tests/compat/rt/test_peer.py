"""Access of a device to the memory of another."""

from __future__ import annotations

import acl
from tests.compat._programs import D2D, good, ok


def test_every_device_can_reach_every_other() -> None:
    """Two devices reach each other, known before init; one needs no access to itself; others there are not."""
    assert acl.rt.device_can_access_peer(0, 1) == acl.rt.device_can_access_peer(1, 0) == (1, 0)
    assert acl.rt.device_can_access_peer(1, 1) == (0, 0)
    assert acl.rt.device_can_access_peer(0, 2) == acl.rt.device_can_access_peer(-1, 0) == (0, 107001)


def test_access_is_one_way_and_belongs_to_a_device(device: int) -> None:
    """Enabling may be repeated and holds one way; disabling is one call, and one more is an error."""
    ok(acl.rt.device_enable_peer_access(1, 0))
    ok(acl.rt.device_enable_peer_access(1, 0))
    ok(acl.rt.set_device(1))
    assert acl.rt.device_disable_peer_access(0) == 107000
    assert "device_enable_peer_access(0, 0)" in (acl.get_recent_err_msg() or "")
    ok(acl.rt.set_device(0))

    ok(acl.rt.device_disable_peer_access(1))
    assert acl.rt.device_disable_peer_access(1) == 107000


def test_a_reset_ends_access(device: int) -> None:
    """What a device may reach is forgotten when it is reset."""
    ok(acl.rt.device_enable_peer_access(1, 0))
    ok(acl.rt.reset_device(0))
    ok(acl.rt.set_device(0))

    assert acl.rt.device_disable_peer_access(1) == 107000


def test_what_is_refused(device: int) -> None:
    """The current device itself, flags, and devices that there are not."""
    assert acl.rt.device_enable_peer_access(0, 0) == 100000
    assert acl.rt.device_disable_peer_access(0) == 100000
    assert acl.rt.device_enable_peer_access(1, 1) == 100000
    assert acl.rt.device_enable_peer_access(2, 0) == 107001
    assert acl.rt.device_disable_peer_access(-1) == 107001
    assert acl.rt.device_disable_peer_access(1) == 107000
    ok(acl.finalize())
    assert acl.rt.device_enable_peer_access(1, 0) == 100001


def test_copies_between_devices_need_no_access(device: int) -> None:
    """A copy from one device to another works before and after access is given."""
    here = good(acl.rt.malloc(64, 0))
    ok(acl.rt.memset(here, 64, 7, 64))
    ok(acl.rt.set_device(1))
    there = good(acl.rt.malloc(64, 0))

    ok(acl.rt.memcpy(there, 64, here, 64, D2D))
    assert acl.util.ptr_to_bytes(there, 64) == b"\7" * 64
    ok(acl.rt.device_enable_peer_access(0, 0))
    ok(acl.rt.memset(there, 64, 8, 64))
    ok(acl.rt.memcpy(here, 64, there, 64, D2D))

    assert acl.util.ptr_to_bytes(here, 64) == b"\10" * 64
