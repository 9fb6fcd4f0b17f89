"""Events: marks in streams, for order and for time."""

from __future__ import annotations

import threading
from operator import index
from typing import TYPE_CHECKING

import aacl
from aacl.errors import EventNotRecorded, EventTimeout, WrongContext
from acl._devices import current, stream_at
from acl._handles import Handles
from acl._status import PARAM_INVALID, Refused, code_alone, with_code
from acl._streams import refuse_in_callback, time_limits
from acl._threads import here
from acl.rt._exception import watch
from acl.rt._wait import block, seconds

if TYPE_CHECKING:
    from acl._contexts import Context
    from acl._streams import Stream

__all__ = (
    "create_event",
    "create_event_ex_with_flag",
    "create_event_with_flag",
    "destroy_event",
    "event_elapsed_time",
    "event_get_timestamp",
    "get_event_avail_num",
    "get_event_id",
    "query_event",
    "query_event_status",
    "query_event_wait_status",
    "record_event",
    "reset_event",
    "stream_wait_event",
    "synchronize_event",
    "synchronize_event_with_timeout",
)

# Source of the rules: the pages of create_event, create_event_with_flag and create_event_ex_with_flag.
_SYNC, _PROGRESS, _TIME_LINE = 0x1, 0x2, 0x8
_FLAGS = _SYNC | _PROGRESS | _TIME_LINE
_MOST = 65535  # events of a device
_COMPLETE, _NOT_READY = 0, 1
_PLAIN, _WITH_FLAG, _EX = "create_event", "create_event_with_flag", "create_event_ex_with_flag"


class _Event:
    """An event.

    Attributes:
        context: that it was made in, and whose streams alone record it and wait for it.
        event: the native event.
        flags: what it may be used for.
        maker: the call that made it, on which depends what else takes it.
        reset: whether it was reset after its last recording.
        stream: where it was recorded last.
        waits: the waits of streams that are not known to be over.
    """

    __slots__ = ("context", "event", "flags", "maker", "reset", "stream", "waits")

    def __init__(self, context: Context, flags: int, maker: str) -> None:
        self.event = aacl.Event()
        self.context, self.flags, self.maker = context, flags, maker
        self.reset = False
        self.stream: Stream | None = None
        self.waits: list[aacl.Completion[None]] = []

    def require(self, handle: int, flag: int, act: str) -> None:
        """Refuse an act that the event's flags do not allow."""
        if not self.flags & flag:
            raise Refused(
                PARAM_INVALID, f"cannot {act} event {handle}: it was made with flag {self.flags:#x}, without {flag:#x}"
            )

    def require_context(self, handle: int, stream: Stream) -> None:
        """Refuse a stream of another context."""
        if self.context is not stream.context:
            raise WrongContext(f"event {handle} and stream {stream.handle} are of two contexts, which share no events")

    def refuse_made_by(self, handle: int, act: str, *makers: str) -> None:
        """Refuse an act for events of some makers."""
        if self.maker in makers:
            raise Refused(
                PARAM_INVALID, f"cannot {act} event {handle}, which {self.maker} made; make it with {_WITH_FLAG}"
            )

    @property
    def pending(self) -> bool:
        """Whether the latest recording was not reached, or was taken back."""
        return self.reset or not self.event.done()


_events: Handles[_Event] = Handles("event")
_waits_lock = threading.Lock()  # threads may let their streams wait for one event


@with_code(0)
def create_event() -> tuple[int, int]:
    """Make an event for order and time, which cannot be reset.

    Returns:
        (handle, 0); (0, 107002) without a context.

    Source: aclrtCreateEvent.
    """
    return _events.add(_Event(current(), _SYNC | _TIME_LINE, _PLAIN)), 0


@with_code(0)
def create_event_with_flag(flag: int, /) -> tuple[int, int]:
    """Make an event for what the bits say.

    Args:
        flag: 0x1 order between streams, 0x2 progress of a stream, 0x8 time.

    Returns:
        (handle, 0); (0, 107000) for no bits or other ones; (0, 107002) without a context.

    Source: aclrtCreateEventWithFlag.
    """
    return _events.add(_Event(current(), _flags(flag), _WITH_FLAG)), 0


@with_code(0)
def create_event_ex_with_flag(flag: int, /) -> tuple[int, int]:
    """Make an event as `create_event_with_flag` does, for any number of recordings; it cannot be reset.

    Args:
        flag: as there.

    Returns:
        (handle, 0); (0, code) as `create_event_with_flag`.

    Source: aclrtCreateEventExWithFlag.
    """
    return _events.add(_Event(current(), _flags(flag), _EX)), 0


def _flags(flag: int) -> int:
    flag = index(flag)
    if not flag or flag & ~_FLAGS:
        raise Refused(PARAM_INVALID, f"an event's flag is made of 0x1, 0x2 and 0x8; {flag:#x} was given")
    return flag


@code_alone
def destroy_event(event: int, /) -> int:
    """Destroy an event; streams that wait for it go on waiting.

    Args:
        event: the event.

    Returns:
        0; 100000 for 0; 107017 if it is none (any more).

    Source: aclrtDestroyEvent.
    """
    _events.take(event)
    return 0


@code_alone
def record_event(event: int, stream: int, /) -> int:
    """Put a mark behind a stream's work; an earlier one is forgotten, but for the streams that wait for it.

    Args:
        event: the event; it comes first here.
        stream: 0 stands for the default one.

    Returns:
        0; 107003 for a stream or an event of another context; 107017 for no event or stream; 107002 without a context.

    Source: aclrtRecordEvent.
    """
    mark, target = _events.get(event), stream_at(stream)
    mark.require_context(event, target)
    target.stream.record_event(mark.event)
    mark.reset, mark.stream = False, target
    return 0


@code_alone
def stream_wait_event(stream: int, event: int, /) -> int:
    """Let what is given to a stream from now on wait for an event's latest recording.

    Args:
        stream: 0 stands for the default one; it comes first here.
        event: the event.

    Returns:
        0, at once if the event was never recorded; 107000 for an event made without flag 0x1; other codes as
        `record_event`. With `set_op_wait_timeout` a wait that takes too long is 507047 at the next synchronise.

    Source: aclrtStreamWaitEvent.
    """
    target, mark = stream_at(stream), _events.get(event)
    mark.require(event, _SYNC, "wait for")
    mark.require_context(event, target)
    completion = target.stream.wait_event(mark.event, time_limits.event_wait)
    if not completion.done():
        with _waits_lock:
            mark.waits = [*[wait for wait in mark.waits if not wait.done()], completion]
        watch(target, completion)
    return 0


@code_alone
def reset_event(event: int, stream: int, /) -> int:
    """Take an event's recording back, once the streams that wait for it are through.

    Args:
        event: the event.
        stream: 0 stands for the default one.

    Returns:
        0; 107000 for an event of `create_event` or `create_event_ex_with_flag`, or without flag 0x1; other codes as
        `record_event`.

    Source: aclrtResetEvent.
    """
    mark, target = _events.get(event), stream_at(stream)
    mark.refuse_made_by(event, "reset", _PLAIN, _EX)
    mark.require(event, _SYNC, "reset")
    mark.require_context(event, target)
    mark.event, mark.reset = aacl.Event(), True
    return 0


@with_code(_NOT_READY)
def query_event(event: int, /) -> tuple[int, int]:
    """Tell whether an event's latest recording was reached.

    Args:
        event: the event.

    Returns:
        (0, 0) when it was, or there never was one; (1, 0) when not; (1, 107000) for an event of
        `create_event_ex_with_flag`; (1, 107017) if it is no event.

    Source: aclrtQueryEvent.
    """
    mark = _events.get(event)
    mark.refuse_made_by(event, "query", _EX)
    return _NOT_READY if mark.pending else _COMPLETE, 0


@with_code(0)
def query_event_status(event: int, /) -> tuple[int, int]:
    """Tell the same as `query_event`, the other way round.

    Args:
        event: the event, of any kind.

    Returns:
        (1, 0) when the latest recording was reached, or there never was one; (0, 0) when not; (0, 107017) if it is no
        event.

    Source: aclrtQueryEventStatus.
    """
    return int(not _events.get(event).pending), 0


@with_code(_NOT_READY)
def query_event_wait_status(event: int, /) -> tuple[int, int]:
    """Tell whether all streams that waited for an event are through.

    Args:
        event: the event.

    Returns:
        (0, 0) when they are; (1, 0) when not; (1, 107000) for an event of `create_event_ex_with_flag`, or without flag
        0x1; (1, 107017) if it is no event.

    Source: aclrtQueryEventWaitStatus.
    """
    mark = _events.get(event)
    mark.refuse_made_by(event, "query the waits of", _EX)
    mark.require(event, _SYNC, "query the waits of")
    return _COMPLETE if all(wait.done() for wait in mark.waits) else _NOT_READY, 0


@code_alone
def synchronize_event(event: int, /) -> int:
    """Wait until an event's latest recording is reached; other threads run meanwhile.

    Args:
        event: the event.

    Returns:
        0, at once if the event was never recorded; 107000 if it was reset and not recorded since; 107023 if the mark
        was dropped; 507004 in a callback that the recording comes after; 107002 without a context; 107017 if it is
        none.

    Source: aclrtSynchronizeEvent.
    """
    _wait(event, None)
    return 0


@code_alone
def synchronize_event_with_timeout(event: int, timeout: int, /) -> int:
    """Do what `synchronize_event` does for a time.

    Args:
        event: the event.
        timeout: milliseconds; -1 waits for ever, 0 looks once.

    Returns:
        0; 507047 when the time is over; 107000 below -1; other codes as `synchronize_event`.

    Source: aclrtSynchronizeEventWithTimeout.
    """
    _wait(event, seconds(timeout))
    return 0


def _wait(handle: int, timeout: float | None) -> None:
    current()
    mark = _events.get(handle)
    if mark.reset:
        raise Refused(PARAM_INVALID, f"event {handle} was reset, and nothing will reach it; record it first")
    if here.callbacks and mark.pending:
        refuse_in_callback("wait for what comes after it", lambda stream, blocks: blocks and stream is mark.stream)
    if not block(mark.event, timeout):
        raise EventTimeout(f"event {handle} was not reached after {timeout} s; the work before it goes on")


@with_code(0.0)
def event_elapsed_time(start_event: int, end_event: int, /) -> tuple[float, int]:
    """Tell the time between two reached recordings.

    Args:
        start_event: the earlier one.
        end_event: the later one.

    Returns:
        (milliseconds, 0); (0.0, 107006) for an event that was not reached, or made without flag 0x8; (0.0, 107007) if
        the end lies before the start; (0.0, 107003) for events of two devices; (0.0, 107017) for no event.

    Source: aclrtEventElapsedTime.
    """
    start, end = _timed(start_event), _timed(end_event)
    if start.context.device is not end.context.device:
        raise WrongContext(f"events {start_event} and {end_event} were made on two devices, which share no clock")
    return end.event.elapsed_since(start.event) * 1000, 0


@with_code(0)
def event_get_timestamp(event: int, /) -> tuple[int, int]:
    """Tell when an event's latest recording was reached.

    Args:
        event: the event.

    Returns:
        (microseconds of the device's clock, 0); (0, code) with codes as `event_elapsed_time`.

    Source: aclrtEventGetTimestamp.
    """
    return int(_timed(event).event.time * 1_000_000), 0


def _timed(handle: int) -> _Event:
    mark = _events.get(handle)
    if not mark.flags & _TIME_LINE:
        raise EventNotRecorded(f"event {handle} keeps no time; make it with flag {_TIME_LINE:#x}")
    return mark


@with_code(0)
def get_event_id(event: int, /) -> tuple[int, int]:
    """Tell an event's own number in this process.

    Args:
        event: the event.

    Returns:
        (number, 0); (0, 107017) if it is no event.

    Source: aclrtGetEventId.
    """
    _events.get(event)
    return index(event), 0


@with_code(0)
def get_event_avail_num() -> tuple[int, int]:
    """Tell how many more events the device can make, as the card counts them; nothing here runs out.

    Returns:
        (events, 0); (0, 107002) without a context.

    Source: aclrtGetEventAvailNum.
    """
    current()
    return max(0, _MOST - len(_events.objects)), 0
