"""Loading by a handle that collects what to load and how."""

from __future__ import annotations

from operator import index
from typing import Any

import aacl
from aacl.errors import InvalidArgument, NotSupported
from acl._handles import Handles
from acl._status import INVALID_PARAM, code_alone, plain, with_code
from acl.mdl._load import Memory, load_file, load_memory

__all__ = ("create_config_handle", "destroy_config_handle", "load_with_config", "set_config_opt")

# aclmdlConfigAttr, as far as it decides what is loaded.
_TYPE, _PATH, _ADDRESS, _SIZE = 1, 2, 3, 4
_SPANS = 7, 8, 5, 6  # for intermediate results and for weights: address and size
_ATTRIBUTES = range(29)
_WITH_MEMORY = 2, 4
_FILES, _MEMORIES, _QUEUES = (1, 2), (3, 4), (5, 6)
_PATH_MOST = 4096

_configs: Handles[dict[int, Any]] = Handles("model config", INVALID_PARAM)


@plain(0)
def create_config_handle() -> int:
    """Make a collection of options for `load_with_config`.

    Returns:
        The handle.

    Source: aclmdlCreateConfigHandle.
    """
    return _configs.add({})


@code_alone
def destroy_config_handle(config_handle: int, /) -> int:
    """Destroy a collection of options.

    Args:
        config_handle: of `create_config_handle`.

    Returns:
        0; 100000 if it is none.

    Source: aclmdlDestroyConfigHandle.
    """
    _configs.take(config_handle)
    return 0


@code_alone
def set_config_opt(config_handle: int, attr: int, attr_value: int | str, /) -> int:
    """Set an option.

    Args:
        config_handle: the collection.
        attr: an ``aclmdlConfigAttr``: 1 the load type (1 and 2 a file, 3 and 4 memory, the even ones with memory that
            the program brings), 2 the path, 3 and 4 the model's address and size, 5 and 6 those of memory for weights,
            7 and 8 for intermediate results; the others, such as the priority, make no difference here.
        attr_value: a number, a text, or a text's address.

    Returns:
        0; 100000 for an unknown option, or no collection.

    Source: aclmdlSetConfigOpt.
    """
    options, attr = _configs.get(config_handle), index(attr)
    if attr not in _ATTRIBUTES:
        raise InvalidArgument(f"model option {attr} is not known; they go from 0 to {_ATTRIBUTES[-1]}")
    options[attr] = attr_value if isinstance(attr_value, str) else index(attr_value)
    return 0


@with_code(0)
def load_with_config(config_handle: int, /) -> tuple[int, int]:
    """Load the model that the options name.

    Args:
        config_handle: of `create_config_handle`.

    Returns:
        (model id, 0); (0, code): 100000 if an option is missing, 200006 for load types that use queues, otherwise as
        ``load_from_file`` and ``load_from_mem``.

    Source: aclmdlLoadWithConfig.
    """
    options = _configs.get(config_handle)
    kind = options.get(_TYPE)
    if kind in _QUEUES:
        raise NotSupported(f"load type {kind} feeds the model from queues, which this device has not")
    if kind in _FILES:
        return load_file(_text(_option(options, _PATH, "the path")), _memory(kind, options)), 0
    if kind in _MEMORIES:
        address, size = _option(options, _ADDRESS, "the address"), _option(options, _SIZE, "the size")
        return load_memory(address, size, _memory(kind, options)), 0
    raise InvalidArgument(f"the load type is {kind}; set option {_TYPE} to 1, 2, 3 or 4")


def _memory(kind: int, options: dict[int, Any]) -> Memory:
    """Return the memory that a program brings, for the load types that ask for it."""
    return Memory.of(*[options.get(attr, 0) if kind in _WITH_MEMORY else 0 for attr in _SPANS])


def _option(options: dict[int, Any], attr: int, what: str) -> Any:
    try:
        return options[attr]
    except KeyError:
        raise InvalidArgument(f"{what} of the model is missing; set option {attr}") from None


def _text(value: str | int) -> str:
    """Return a text, or the one that lies at an address and ends with a null byte."""
    if isinstance(value, str):
        return value
    found = bytearray()
    while len(found) < _PATH_MOST:
        byte = aacl.memory.read_bytes(value + len(found), 1)
        if byte == b"\0":
            break
        found += byte
    return found.decode(errors="surrogateescape")
