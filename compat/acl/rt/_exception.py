"""The callback for tasks that fail, and what it may ask."""

from __future__ import annotations

import threading
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from acl._arguments import check_callable
from acl._handles import Handles
from acl._state import at_finalize
from acl._status import INVALID_PARAM, code_alone, code_of, plain, with_code
from acl._threads import here, hold_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable

    import aacl
    from acl._streams import Stream

__all__ = (
    "get_device_id_from_exception_info",
    "get_error_code_from_exception_info",
    "get_stream_id_from_exception_info",
    "get_task_id_from_exception_info",
    "get_thread_id_from_exception_info",
    "get_thread_last_task_id",
    "is_watched",
    "set_exception_info_callback",
    "watch",
)

_ABNORMAL = 0xFFFFFFFF  # what the getters answer for no information


class _Info(NamedTuple):
    """One failure: the numbers of the task, its stream, the submitting thread and the device, and the code."""

    task: int
    stream: int
    thread: int
    device: int
    code: int


_infos: Handles[_Info] = Handles("exception info", INVALID_PARAM)
_tasks = count(1)
_callback: list[Callable[[int], object]] = []  # none, or the one


def is_watched() -> bool:
    """Whether there is a callback to tell."""
    return bool(_callback)


def watch(
    stream: Stream,
    completion: aacl.Completion[Any],
    failing: Callable[[int, int, int, BaseException], None] | None = None,
) -> None:
    """Number a command, and tell the callback if it fails.

    Args:
        stream: the command's.
        completion: the command.
        failing: takes note of the failure before that: called with the numbers of device, stream and task, and the
            error.
    """
    task = here.task = next(_tasks)
    if _callback:
        thread = threading.get_ident()

        def over(done: aacl.Completion[Any]) -> None:
            # Not exception(): looking on must not count as receiving the error.
            error = done.failure
            if error is not None:
                if failing is not None:
                    failing(stream.context.device.index, stream.stream.number, task, error)
                _tell(stream, _Info(task, stream.stream.number, thread, stream.context.device.index, code_of(error)))

        completion.add_done_callback(over)


def _tell(stream: Stream, info: _Info) -> None:
    """Call the callback; the stream goes on only then, so that it must not wait for that."""
    outer = here.callbacks
    for callback in _callback[:]:
        handle = _infos.add(info)
        here.callbacks = (*outer, (stream, True))
        try:
            callback(handle)
        except KeyboardInterrupt as error:
            hold_interrupt(error)
            raise
        finally:
            here.callbacks = outer
            with suppress(KeyError):  # the callback may have finalised the runtime
                del _infos.objects[handle]


@code_alone
def set_exception_info_callback(callback: Callable[[int], object] | None = None, /) -> int:
    """Call ``callback(exception_info)`` for every queued task that fails from now on; the last one set counts.

    It is called by the thread that ended the task, before anybody who waits for the stream is woken, and must not wait
    for that stream. For tasks that were submitted on the thread of a running event loop, in a notebook say, that loop
    calls it.

    Args:
        callback: gets a handle for the getters below, good until it returns; None, or nothing, ends the calls.

    Returns:
        0, before ``acl.init`` too: unlike others this call never gives 100001.

    Source: aclrtSetExceptionInfoCallback.
    """
    if callback is not None:
        check_callable(callback)
    _callback[:] = [] if callback is None else [callback]
    return 0


@with_code(0)
def get_thread_last_task_id() -> tuple[int, int]:
    """Tell the number of the task that this thread submitted last.

    Tasks of all streams are numbered together: operators, model runs, copies, callbacks, and waits for events that were
    not over at once. The number is the one that `get_task_id_from_exception_info` gives if the task fails.

    Returns:
        (number, 0), the number being 0 if the thread submitted no task.

    Source: aclrtGetThreadLastTaskId.
    """
    return here.task, 0


@plain(_ABNORMAL)
def get_task_id_from_exception_info(exception_info: int, /) -> int:
    """Tell the number of the task that failed.

    Args:
        exception_info: what the exception callback was called with; good until that returns.

    Returns:
        The number; 0xFFFFFFFF if this is no information (any more).

    Source: aclrtGetTaskIdFromExceptionInfo.
    """
    return _infos.get(exception_info).task


@plain(_ABNORMAL)
def get_stream_id_from_exception_info(exception_info: int, /) -> int:
    """Tell the number of the failed task's stream, as ``stream_get_id`` does.

    Args:
        exception_info: what the exception callback was called with; good until that returns.

    Returns:
        The number; 0xFFFFFFFF if this is no information (any more).

    Source: aclrtGetStreamIdFromExceptionInfo.
    """
    return _infos.get(exception_info).stream


@plain(_ABNORMAL)
def get_thread_id_from_exception_info(exception_info: int, /) -> int:
    """Tell the identifier of the thread that submitted the failed task.

    Args:
        exception_info: what the exception callback was called with; good until that returns.

    Returns:
        The number; 0xFFFFFFFF if this is no information (any more).

    Source: aclrtGetThreadIdFromExceptionInfo.
    """
    return _infos.get(exception_info).thread


@plain(_ABNORMAL)
def get_device_id_from_exception_info(exception_info: int, /) -> int:
    """Tell the number of the failed task's device.

    Args:
        exception_info: what the exception callback was called with; good until that returns.

    Returns:
        The number; 0xFFFFFFFF if this is no information (any more).

    Source: aclrtGetDeviceIdFromExceptionInfo.
    """
    return _infos.get(exception_info).device


@plain(_ABNORMAL)
def get_error_code_from_exception_info(exception_info: int, /) -> int:
    """Tell the code of the failure.

    Args:
        exception_info: what the exception callback was called with; good until that returns.

    Returns:
        The code; 0xFFFFFFFF if this is no information (any more).

    Source: aclrtGetErrorCodeFromExceptionInfo.
    """
    return _infos.get(exception_info).code


at_finalize(_callback.clear)
