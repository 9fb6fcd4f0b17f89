"""What becomes of numbers that are too large for their type."""

from __future__ import annotations

import pytest

import acl
from tests.compat._programs import ok


def test_infinities_are_the_mode(device: int) -> None:
    """The software device computes infinities and NaN: that mode can be set and is told; saturation is refused."""
    assert acl.rt.get_device_sat_mode() == (1, 0)
    assert acl.rt.set_device_sat_mode(1) == 0

    assert acl.rt.set_device_sat_mode(0) == 207000
    assert "saturate" in (acl.get_recent_err_msg() or "")
    assert acl.rt.get_device_sat_mode() == (1, 0)


@pytest.mark.parametrize("mode", [-1, 2, 3, 2**70])
def test_modes_that_are_none(device: int, mode: int) -> None:
    """Undefined (2) and unknown modes are refused as such."""
    assert acl.rt.set_device_sat_mode(mode) == 100000


def test_without_context() -> None:
    """The mode is that of a device, so a thread needs one."""
    ok(acl.init())

    assert acl.rt.set_device_sat_mode(1) == 107002
    assert acl.rt.get_device_sat_mode() == (0, 107002)
