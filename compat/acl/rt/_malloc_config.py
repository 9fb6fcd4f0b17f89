"""What a program may say of memory beside its size (``aclrtMallocConfig``)."""

from __future__ import annotations

from operator import index
from typing import Any

from aacl.errors import InvalidArgument
from acl.rt._fields import fields

__all__ = ("wanted_device",)

_RESERVED, _MODULE, _DEVICE, _ONE_ADDRESS = range(4)  # aclrtMallocAttrType
_MOST = {_RESERVED: None, _MODULE: 0xFFFF, _DEVICE: None, _ONE_ADDRESS: 1}


def wanted_device(cfg: Any) -> int | None:
    """Return the number of the device that a configuration asks for; None for the current one.

    It is 0, None, or a list of attributes, by itself or as ``{"attrs": [..], "numAttrs": n}``. An attribute is
    ``{"attr": number, "value": number}`` or a pair of these: 1 names a module, for statistics that the software device
    has not; 2 a device; 3 asks for one address on host and device, which is so anyway.

    Raises:
        InvalidArgument: an attribute is not known, or has no such value.
        TypeError: it is something else.
    """
    if cfg is None or (type(cfg) is int and not cfg):
        return None
    if isinstance(cfg, dict):
        given = cfg.get("attrs", [])
        if index(cfg.get("numAttrs", len(given))) != len(given):
            raise InvalidArgument(f"the configuration has {len(given)} attributes, not {cfg['numAttrs']}")
    else:
        given = cfg
    found = fields(given, "attr", "value", "a configuration")
    for number, value in found:
        _check(number, value)
    return dict(found).get(_DEVICE)


def _check(number: int, value: int) -> None:
    if number not in _MOST:
        raise InvalidArgument(f"attribute {number} of a configuration is not known; they go from 0 to {max(_MOST)}")
    most = _MOST[number]
    if value < 0 or (most is not None and value > most):
        raise InvalidArgument(f"attribute {number} of a configuration cannot be {value}")
