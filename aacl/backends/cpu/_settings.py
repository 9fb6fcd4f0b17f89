"""What the environment says of the software devices, read when it is needed."""

from __future__ import annotations

import os

from aacl.errors import InvalidArgument

__all__ = ("core_count", "device_count", "memory_bytes", "soc_name")

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def device_count() -> int:
    """Return ``AACL_DEVICES``, by default 2."""
    return _number("AACL_DEVICES", "2", "a number of devices such as 2")


def memory_bytes() -> int:
    """Return ``AACL_DEVICE_MEMORY``: bytes a device, K, M, G or T after the number allowed; by default 8G."""
    return _number("AACL_DEVICE_MEMORY", "8G", "a size such as 8G or 512M")


def core_count() -> int:
    """Return ``AACL_CORES``, by default the cores that this process may use."""
    return _number("AACL_CORES", str(len(os.sched_getaffinity(0))), "a number of cores such as 4")


def soc_name() -> str:
    """Return ``AACL_SOC``, the SoC that the device stands for, by default ``Ascend310P3``."""
    return os.environ.get("AACL_SOC", "").strip() or "Ascend310P3"


def _number(name: str, default: str, wanted: str) -> int:
    text = os.environ.get(name, "").strip().upper().removesuffix("B").removesuffix("I") or default
    unit = text[-1] if text[-1] in _UNITS else ""
    digits = text.removesuffix(unit) if unit else text
    if not digits.isdecimal() or int(digits) < 1:
        raise InvalidArgument(f"{name} is {os.environ[name]!r}; set it to {wanted}")
    return int(digits) * _UNITS[unit]
