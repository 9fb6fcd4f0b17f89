"""What a program may say of memory beside its size (``aclrtMallocConfig``)."""

from __future__ import annotations

from operator import index
from typing import Any, NamedTuple

from aacl.errors import InvalidArgument

__all__ = ("MallocConfig", "malloc_config")

_RESERVED, _MODULE, _DEVICE, _ONE_ADDRESS = range(4)  # aclrtMallocAttrType
_MOST = {_RESERVED: None, _MODULE: 0xFFFF, _DEVICE: None, _ONE_ADDRESS: 1}


class MallocConfig(NamedTuple):
    """What was said.

    Attributes:
        device: the number of the device to allocate on; None for the current one.
    """

    device: int | None = None


def malloc_config(cfg: Any) -> MallocConfig:
    """Read a configuration: 0, None, or a list of attributes, by itself or as ``{"attrs": [..], "numAttrs": n}``.

    An attribute is ``{"attr": number, "value": number}`` or a pair of these: 1 names a module, for statistics that
    the software device has not; 2 a device; 3 asks for one address on host and device, which is so anyway.

    Raises:
        InvalidArgument: an attribute is not known, or has no such value.
        TypeError: it is something else.
    """
    if cfg is None or (type(cfg) is int and not cfg):
        return MallocConfig()
    if isinstance(cfg, dict):
        given = cfg.get("attrs", [])
        if index(cfg.get("numAttrs", len(given))) != len(given):
            raise InvalidArgument(f"the configuration has {len(given)} attributes, not {cfg['numAttrs']}")
    else:
        given = cfg
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"a configuration is 0, None, or a list of attributes, not '{type(cfg).__name__}'")
    found = dict([_attribute(each) for each in given])
    return MallocConfig(found.get(_DEVICE))


def _attribute(given: Any) -> tuple[int, int]:
    if isinstance(given, dict) and {"attr", "value"} <= given.keys():
        pair = (given["attr"], given["value"])
    elif isinstance(given, (list, tuple)) and len(given) == 2:
        pair = (given[0], given[1])
    else:
        raise TypeError("an attribute of a configuration is {'attr': number, 'value': number}")
    number, value = index(pair[0]), index(pair[1])
    if number not in _MOST:
        raise InvalidArgument(f"attribute {number} of a configuration is not known; they go from 0 to {max(_MOST)}")
    most = _MOST[number]
    if value < 0 or (most is not None and value > most):
        raise InvalidArgument(f"attribute {number} of a configuration cannot be {value}")
    return number, value
