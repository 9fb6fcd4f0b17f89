"""What a stream is set to: how it takes failures, whether it notes overflow, and marks of the program's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import index
from typing import NamedTuple

from acl._devices import stream_at
from acl._status import PARAM_INVALID, Refused, code_alone, with_code
from acl._streams import Stream, stop_at_failure
from acl.rt._stream import LOWEST_PRIORITY

__all__ = (
    "get_stream_attribute",
    "get_stream_overflow_switch",
    "set_stream_attribute",
    "set_stream_failure_mode",
    "set_stream_overflow_switch",
)

# Source of the numbers and names: the pages of aclrtStreamAttr and aclrtStreamAttrValue.
_FAILURE_MODE, _OVERFLOW, _TAG, _OPERATOR_INFO, _PRIORITY = range(1, 6)


class _Attribute(NamedTuple):
    """An attribute: what it is called, in C and in Python, its largest value, and how it is read and set."""

    name: str
    c_name: str
    most: int
    read: Callable[[Stream], int]
    write: Callable[[Stream, int], object]

    def checked(self, value: object) -> int:
        """Return a value as a number.

        Raises:
            Refused: it is out of range.
            TypeError: it is none.
        """
        number = index(value)  # type: ignore[arg-type]
        if not 0 <= number <= self.most:
            raise Refused(PARAM_INVALID, f"a stream's {self.name} goes from 0 to {self.most}; {number} was given")
        return number


def _set_overflow(stream: Stream, value: int) -> None:
    stream.detects_overflow = bool(value)


def _set_tag(stream: Stream, value: int) -> None:
    stream.tag = value


def _set_operator_info(stream: Stream, value: int) -> None:
    stream.keeps_operator_info = bool(value)


def _set_priority(stream: Stream, value: int) -> None:
    stream.priority = min(value, LOWEST_PRIORITY)


_32_BITS = (1 << 32) - 1
_ATTRIBUTES = {
    _FAILURE_MODE: _Attribute(
        "failure_mode", "failureMode", 1, lambda stream: int(stream.stream.stop_at_failure), stop_at_failure  # type: ignore[arg-type] # 0 and 1
    ),
    _OVERFLOW: _Attribute(
        "overflow_switch", "overflowSwitch", 1, lambda stream: int(stream.detects_overflow), _set_overflow
    ),
    _TAG: _Attribute("user_custom_tag", "userCustomTag", _32_BITS, lambda stream: stream.tag, _set_tag),
    _OPERATOR_INFO: _Attribute(
        "cache_op_info_switch", "cacheOpInfoSwitch", 1, lambda stream: int(stream.keeps_operator_info), _set_operator_info
    ),
    _PRIORITY: _Attribute("priority", "priority", _32_BITS, lambda stream: stream.priority, _set_priority),
}  # fmt: skip


@code_alone
def set_stream_failure_mode(stream: int, mode: int, /) -> int:
    """Say what a stream does after a task of it has failed.

    Args:
        stream: 0 stands for the default one.
        mode: 0 goes on with the next task, as every stream does at first. 1 stops at the first failure: what is
            queued in this stream and in the other ones of its context is dropped, none of them takes new tasks, and
            each synchronise of them returns the code of the failure. Mode 0, or destroying the stream, lets all of
            them go on; mode 0 for one that another stream has stopped lets that one go on alone.

    Returns:
        0; 107000 for another mode; 107002, 107003 and 107017 for no context, a stream of another one, and no stream.

    Source: aclrtSetStreamFailureMode.
    """
    target = stream_at(stream)
    stop_at_failure(target, bool(_ATTRIBUTES[_FAILURE_MODE].checked(mode)))
    return 0


@code_alone
def set_stream_overflow_switch(stream: int, flag: int, /) -> int:
    """Say whether overflow of the operators that are submitted to a stream from now on is noted.

    Args:
        stream: 0 stands for the default one.
        flag: 1 notes it, 0 does not.

    Returns:
        0; 107000 for another flag; other codes as `set_stream_failure_mode`.

    Source: aclrtSetStreamOverflowSwitch.
    """
    target = stream_at(stream)
    _set_overflow(target, _ATTRIBUTES[_OVERFLOW].checked(flag))
    return 0


@with_code(0)
def get_stream_overflow_switch(stream: int, /) -> tuple[int, int]:
    """Tell whether overflow is noted, as `set_stream_overflow_switch` has said.

    Args:
        stream: 0 stands for the default one.

    Returns:
        (flag, 0); (0, code) as `set_stream_failure_mode` for what is no stream of this thread's context.

    Source: aclrtGetStreamOverflowSwitch.
    """
    return int(stream_at(stream).detects_overflow), 0


@code_alone
def set_stream_attribute(stream: int, attr_type: int, value: int | Mapping[str, int], /) -> int:
    """Set an attribute of a stream.

    Args:
        stream: 0 stands for the default one.
        attr_type: 1 the failure mode (`set_stream_failure_mode`); 2 the overflow switch
            (`set_stream_overflow_switch`); 3 a number of 32 bits of the program's own; 4 whether to keep what
            operators are launched with (0 or 1), which is remembered and changes nothing here; 5 the priority from 0,
            the highest, to 7, larger ones being taken for 7, which changes nothing here either.
        value: the number, or a dictionary that has it under a name that `get_stream_attribute` uses.

    Returns:
        0; 107000 for another attribute, a value out of its range, or a dictionary without the name; other codes as
        `set_stream_failure_mode`.

    Source: aclrtSetStreamAttribute.
    """
    target, attribute = stream_at(stream), _attribute(attr_type)
    attribute.write(target, attribute.checked(_number(attribute, value)))
    return 0


@with_code({})
def get_stream_attribute(stream: int, attr_type: int, /) -> tuple[dict[str, int], int]:
    """Return an attribute of a stream.

    Args:
        stream: 0 stands for the default one.
        attr_type: as for `set_stream_attribute`.

    Returns:
        (dictionary, 0). The value stands in it under the name of the C union's member and under the same name with
        underscores: failureMode and failure_mode, overflowSwitch and overflow_switch, userCustomTag and
        user_custom_tag, cacheOpInfoSwitch and cache_op_info_switch, priority. ({}, 107000) for another attribute; ({},
        code) as `set_stream_failure_mode`.

    Source: aclrtGetStreamAttribute.
    """
    target, attribute = stream_at(stream), _attribute(attr_type)
    value = attribute.read(target)
    return {attribute.c_name: value, attribute.name: value}, 0


def _attribute(number: int) -> _Attribute:
    attribute = _ATTRIBUTES.get(index(number))
    if attribute is None:
        raise Refused(PARAM_INVALID, f"stream attribute {number} is not known; they go from 1 to {max(_ATTRIBUTES)}")
    return attribute


def _number(attribute: _Attribute, value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    for name in (attribute.c_name, attribute.name):
        if name in value:
            return value[name]
    raise Refused(PARAM_INVALID, f"the dictionary has no {attribute.c_name!r}; it begins with {[*value][:8]}")
