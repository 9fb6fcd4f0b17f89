"""What becomes of numbers that are too large for their type."""

from __future__ import annotations

from operator import index

from aacl.errors import InvalidArgument
from acl._devices import current
from acl._status import RT_NOT_SUPPORTED, Refused, code_alone, with_code

__all__ = ("get_device_sat_mode", "set_device_sat_mode")

_SATURATION, _INFNAN = 0, 1


@code_alone
def set_device_sat_mode(mode: int, /) -> int:
    """Choose how operators of the current device answer an overflow.

    Args:
        mode: infinities and NaN as IEEE 754 has them (1), which is how the software device computes; saturation (0),
            the largest number of the type, is for hardware.

    Returns:
        0; 207000 for saturation; 100000 for another mode; 107002 without a context.

    Source: aclrtSetDeviceSatMode.
    """
    mode = index(mode)
    current()
    if mode not in (_SATURATION, _INFNAN):
        raise InvalidArgument(f"the mode {mode} is not known; 1 stands for infinities and NaN, 0 for saturation")
    if mode == _SATURATION:
        raise Refused(
            RT_NOT_SUPPORTED,
            "the software device computes infinities and NaN as IEEE 754 has them, and cannot saturate; mode 1 says so",
        )
    return 0


@with_code(0)
def get_device_sat_mode() -> tuple[int, int]:
    """Return how operators of the current device answer an overflow.

    Returns:
        (1, 0), infinities and NaN; (0, 107002) without a context.

    Source: aclrtGetDeviceSatMode.
    """
    current()
    return _INFNAN, 0
