"""What a program notes down about itself: stamps, ranges and marks, while something is profiled.

Without a profile that wants them they cost little, and leave nothing.
"""

from __future__ import annotations

import threading
import time
from operator import index

from aacl.errors import InvalidArgument
from acl._arguments import check_text
from acl._devices import stream_at
from acl._handles import Handles
from acl._state import require_init
from acl._status import INVALID_PARAM, code_alone, plain, with_code
from acl.prof._control import control
from acl.prof._report import Stamp

__all__ = (
    "create_stamp",
    "destroy_stamp",
    "mark",
    "mark_ex",
    "pop",
    "push",
    "range_start",
    "range_stop",
    "set_stamp_trace_message",
)

_LONGEST = 128  # bytes of a message


class _Stamp:
    """A stamp: its text, which may be changed between uses."""

    __slots__ = ("message",)

    def __init__(self) -> None:
        self.message = ""


class _Open:
    """A stamp that was pushed, or a range that was begun."""

    __slots__ = ("message", "start_ns", "thread")

    def __init__(self, message: str) -> None:
        self.message, self.start_ns, self.thread = message, time.time_ns(), threading.get_native_id()


class _Stacks(threading.local):
    """Each thread's pushed stamps."""

    def __init__(self) -> None:
        self.pushed: list[_Open] = []


_stamps: Handles[_Stamp] = Handles("stamp", INVALID_PARAM)
_ranges: Handles[_Open] = Handles("profiled range", INVALID_PARAM)
_stacks = _Stacks()


def _note(kind: str, message: str, start_ns: int, thread: int) -> None:
    end_ns = time.time_ns() if start_ns else 0
    for session in control.stamping():
        now = end_ns or time.time_ns()
        session.stamps.append(Stamp(thread, kind, message, start_ns or now, now))


@plain(0)
def create_stamp() -> int:
    """Make a stamp, to mark moments and spans of the program with.

    Returns:
        The handle; 0 before ``acl.init``.

    Source: aclprofCreateStamp.
    """
    require_init()
    return _stamps.add(_Stamp())


@plain(None)
def destroy_stamp(stamp: int, /) -> None:
    """Destroy a stamp; ranges begun with it go on. A handle that is none leaves the code 100000 as last error.

    Args:
        stamp: of `create_stamp`.

    Source: aclprofDestroyStamp.
    """
    _stamps.take(stamp)


@code_alone
def set_stamp_trace_message(stamp: int, msg: str, msg_len: int, /) -> int:
    """Set a stamp's text: the first bytes of a message.

    Args:
        stamp: of `create_stamp`.
        msg: the message.
        msg_len: how many of its bytes are the text, 1 to 128.

    Returns:
        0; 100000 if it is no stamp, or for a length below 1, above 128 or above the message's.

    Source: aclprofSetStampTraceMessage.
    """
    held, length = _stamps.get(stamp), index(msg_len)
    held.message = _checked_text(msg, 2).encode()[: _checked_length(length, msg)].decode(errors="ignore")
    return 0


def _checked_text(message: str, number: int) -> str:
    check_text(message, number)
    return message


def _checked_length(length: int, message: str) -> int:
    most = min(_LONGEST, len(message.encode()))
    if not 1 <= length <= most:
        raise InvalidArgument(f"the message has 1 to {most} bytes to take, not {length}")
    return length


@code_alone
def push(stamp: int, /) -> int:
    """Begin a span of this thread, within those it began before.

    Args:
        stamp: of `create_stamp`.

    Returns:
        0; 100000 if it is no stamp.

    Source: aclprofPush.
    """
    _stacks.pushed.append(_Open(_stamps.get(stamp).message))
    return 0


@code_alone
def pop(stamp: int = 0, /) -> int:
    """End the span that this thread began last.

    Args:
        stamp: of no meaning; programs pass it.

    Returns:
        0; 100000 if the thread has begun none.

    Source: aclprofPop.
    """
    index(stamp)
    if not _stacks.pushed:
        raise InvalidArgument("this thread has pushed no stamp, or popped all of them")
    span = _stacks.pushed.pop()
    _note("push_pop", span.message, span.start_ns, span.thread)
    return 0


@with_code(0)
def range_start(stamp: int, /) -> tuple[int, int]:
    """Begin a span that any thread may end.

    Args:
        stamp: of `create_stamp`.

    Returns:
        (its number, 0); (0, 100000) if it is no stamp.

    Source: aclprofRangeStart.
    """
    return _ranges.add(_Open(_stamps.get(stamp).message)), 0


@code_alone
def range_stop(range_id: int, /) -> int:
    """End a span.

    Args:
        range_id: the number, of `range_start`.

    Returns:
        0; 100000 if there is none of that number (any more).

    Source: aclprofRangeStop.
    """
    span = _ranges.take(range_id)
    _note("start_stop", span.message, span.start_ns, span.thread)
    return 0


@code_alone
def mark(stamp: int, /) -> int:
    """Note this moment.

    Args:
        stamp: of `create_stamp`.

    Returns:
        0; 100000 if it is no stamp.

    Source: aclprofMark.
    """
    _note("marker", _stamps.get(stamp).message, 0, threading.get_native_id())
    return 0


@code_alone
def mark_ex(msg: str, stream: int, /) -> int:
    """Note the moment when a stream comes to this point.

    Args:
        msg: a text of 1 to 128 bytes.
        stream: the stream; 0 is the default one.

    Returns:
        0; 100000 for a text that is empty or longer; codes for the stream as ``acl.rt.synchronize_stream``.

    Source: aclprofMarkEx.
    """
    target = stream_at(stream)
    _checked_length(len(_checked_text(msg, 1).encode()), msg)
    thread = threading.get_native_id()
    if control.stamping():
        target.stream.call(lambda: _note("marker_ex", msg, 0, thread))
    return 0
