"""Groups of cores."""

from __future__ import annotations

import pytest

import acl
from tests.compat._programs import in_thread, ok


def test_a_device_has_one_group(device: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One group, number 0, of all the device's cores; it can be chosen, and no other."""
    cores = acl.rt.get_device_info(0, 101)[0]
    info = acl.rt.create_group_info()
    assert acl.rt.get_group_count() == (1, 0)
    ok(acl.rt.get_all_group_info(info))

    numbers = [acl.rt.get_group_info_detail(info, 0, attr) for attr in range(6)]
    assert numbers == [(cores, 0), (cores, 0), (cores, 0), (0, 0), (0, 0), (0, 0)]
    assert acl.rt.set_group(numbers[5][0]) == 0
    assert acl.rt.set_group(1) == acl.rt.set_group(-1) == 107014
    ok(acl.rt.destroy_group_info(info))


def test_what_is_not_written_down_cannot_be_read(device: int) -> None:
    """Before get_all_group_info nothing is there; afterwards positions and attributes beyond it are refused."""
    info = acl.rt.create_group_info()
    assert acl.rt.get_group_info_detail(info, 0, 0) == (0, 100000)
    assert "get_all_group_info" in (acl.get_recent_err_msg() or "")
    ok(acl.rt.get_all_group_info(info))

    assert acl.rt.get_group_info_detail(info, 1, 0) == acl.rt.get_group_info_detail(info, -1, 0) == (0, 100000)
    assert acl.rt.get_group_info_detail(info, 0, 6) == acl.rt.get_group_info_detail(info, 0, -1) == (0, 100000)
    ok(acl.rt.destroy_group_info(info))


def test_handles(device: int) -> None:
    """Null, destroyed and foreign handles are codes in every call."""
    info = acl.rt.create_group_info()
    ok(acl.rt.destroy_group_info(info))

    for handle, code in ((0, 100000), (info, 107017), (acl.rt.get_context()[0], 107017)):
        assert acl.rt.destroy_group_info(handle) == acl.rt.get_all_group_info(handle) == code
        assert acl.rt.get_group_info_detail(handle, 0, 0) == (0, code)


def test_without_context(device: int) -> None:
    """Groups are those of the current device."""
    info = acl.rt.create_group_info()

    def work() -> tuple[object, ...]:
        return acl.rt.get_group_count(), acl.rt.set_group(0), acl.rt.get_all_group_info(info)

    assert in_thread(work) == ((0, 107002), 107002, 107002)
    ok(acl.rt.destroy_group_info(info))
