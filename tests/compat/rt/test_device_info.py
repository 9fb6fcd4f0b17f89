"""What a device is."""

from __future__ import annotations

import os

import pytest

import acl
from tests.compat._programs import good, in_thread, run_program, untyped


@pytest.mark.parametrize("attr", [1, 101, 102, 201])
def test_cores(attr: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cores of every kind are the software device's, whether it is in use or not."""
    monkeypatch.setenv("AACL_CORES", "3")

    assert acl.rt.get_device_info(1, attr) == (3, 0)


def test_memory(device: int) -> None:
    """The bytes of memory are those that get_mem_info tells."""
    assert acl.rt.get_device_info(0, 301) == (acl.rt.get_mem_info(1)[1], 0)


@pytest.mark.parametrize("attr", [202, 203, 204, 302, 401, 402, 403, 404, 405, 406, 407, 501])
def test_what_only_hardware_has(attr: int) -> None:
    """Attributes of hardware are refused by name, not made up."""
    assert acl.rt.get_device_info(0, attr) == (0, 207000)
    assert f"attribute {attr}, " in (acl.get_recent_err_msg() or "")


def test_unknown_attributes_and_devices() -> None:
    """Numbers that mean nothing are codes; things that are no numbers are TypeErrors."""
    assert acl.rt.get_device_info(0, -1) == acl.rt.get_device_info(0, 99) == (0, 100000)
    assert acl.rt.get_device_info(2, 101) == acl.rt.get_device_info(-1, 101) == (0, 107001)
    with pytest.raises(TypeError):
        untyped.rt.get_device_info(0, "cores")


def test_identities() -> None:
    """Each device has sixteen bytes of its own, which another process finds too."""
    first, second = good(acl.rt.device_get_uuid(0)), good(acl.rt.device_get_uuid(1))

    assert (len(first), len(second)) == (16, 16)
    assert first != second
    assert run_program("import acl; print(acl.rt.device_get_uuid(0)[0].hex())").strip() == first.hex()
    assert acl.rt.device_get_uuid(2) == (b"", 107001)


def test_the_process() -> None:
    """Devices know this process by its number, in every thread."""
    assert acl.rt.device_get_bare_tgid() == in_thread(acl.rt.device_get_bare_tgid) == (os.getpid(), 0)


def test_memory_errors_are_hardwares(device: int) -> None:
    """Repairing memory is refused with a reason, after its arguments were looked at."""
    assert acl.rt.mem_uce_repair(0, [{"addr": 0, "len": 64}]) == 207000
    assert "hardware" in (acl.get_recent_err_msg() or "")
    assert acl.rt.mem_uce_repair(7, []) == 107001
    with pytest.raises(TypeError):
        untyped.rt.mem_uce_repair(0, None)
