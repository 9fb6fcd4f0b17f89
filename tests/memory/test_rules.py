"""Rounding and alignment of AscendCL's allocation calls."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aacl
from aacl.memory import ALIGN32, CACHED, DVPP, MALLOC, AllocationRule

RULES = pytest.mark.parametrize("rule", [MALLOC, CACHED, ALIGN32, DVPP], ids=lambda rule: rule.owner)


@pytest.mark.parametrize(
    ("rule", "nbytes", "reserved"),
    [
        (MALLOC, 1, 64), (MALLOC, 31, 64), (MALLOC, 32, 64), (MALLOC, 33, 96), (MALLOC, 4096, 4128),
        (CACHED, 100, 160), (ALIGN32, 1, 32), (ALIGN32, 33, 64), (ALIGN32, 64, 64),
        (DVPP, 1, 2 << 20), (DVPP, (2 << 20) + 1, 4 << 20),
    ],
)  # fmt: skip
def test_sizes(rule: AllocationRule, nbytes: int, reserved: int) -> None:
    """The malloc call adds 32 to a multiple of 32, malloc_align32 does not, dvpp takes pages of 2 MiB."""
    assert rule.reserved(nbytes) == reserved


@given(st.integers(1, 1 << 40))
def test_rounding_never_loses_bytes(nbytes: int) -> None:
    """What is reserved is a multiple of the rule's unit and holds what was asked for."""
    for rule in (MALLOC, CACHED, ALIGN32, DVPP):
        assert rule.reserved(nbytes) >= nbytes
        assert rule.reserved(nbytes) % 32 == 0


@RULES
@pytest.mark.parametrize("nbytes", [1, 31, 32, 33, 100, 4096, (1 << 20) + 1])
def test_a_device_follows_the_rule(rule: AllocationRule, nbytes: int) -> None:
    """Address, length and what the device counts as used are those of the rule."""
    with aacl.blocking.Device(0) as device:
        padding = device.allocate(33, ALIGN32)  # so that nothing is aligned by luck
        used = device.memory().used
        buffer = device.allocate(nbytes, rule)

        assert buffer.address % rule.alignment == 0
        assert (buffer.nbytes, buffer.reserved_nbytes) == (nbytes, rule.reserved(nbytes))
        assert device.memory().used - used == rule.reserved(nbytes)
        buffer.free()
        assert device.memory().used == used
        padding.free()
