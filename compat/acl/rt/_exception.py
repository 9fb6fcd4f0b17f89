"""The callback for tasks that fail, and what it may ask."""

from __future__ import annotations

import threading
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from acl._handles import Handles
from acl._state import at_finalize
from acl._status import INVALID_PARAM, code_alone, code_of, plain
from acl._threads import here

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
    """Tell the callback if this command fails.

    Args:
        stream: the command's.
        completion: the command.
        failing: takes note of the failure before that: called with the numbers of device, stream and task, and the
            error.
    """
    if _callback:
        thread, task = threading.get_ident(), next(_tasks)

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
        finally:
            here.callbacks = outer
            with suppress(KeyError):  # the callback may have finalised the runtime
                del _infos.objects[handle]


@code_alone
def set_exception_info_callback(callback: Callable[[int], object] | None = None) -> int:
    """Call ``callback(exception_info)`` for every queued task that fails from now on; the last one set counts.

    Args:
        callback: gets a handle for the getters below, good until it returns; None, or nothing, ends the calls.

    Returns:
        0.
    """
    if callback is not None and not callable(callback):
        raise TypeError("parameter must be callable")
    _callback[:] = [] if callback is None else [callback]
    return 0


@plain(_ABNORMAL)
def get_task_id_from_exception_info(exception_info: int) -> int:
    """Return the number of the task that failed; 0xFFFFFFFF if this is no information (any more)."""
    return _infos.get(exception_info).task


@plain(_ABNORMAL)
def get_stream_id_from_exception_info(exception_info: int) -> int:
    """Return the number of its stream, as ``stream_get_id``; 0xFFFFFFFF if this is no information (any more)."""
    return _infos.get(exception_info).stream


@plain(_ABNORMAL)
def get_thread_id_from_exception_info(exception_info: int) -> int:
    """Return the identifier of the thread that submitted it; 0xFFFFFFFF if this is no information (any more)."""
    return _infos.get(exception_info).thread


@plain(_ABNORMAL)
def get_device_id_from_exception_info(exception_info: int) -> int:
    """Return the number of the device; 0xFFFFFFFF if this is no information (any more)."""
    return _infos.get(exception_info).device


@plain(_ABNORMAL)
def get_error_code_from_exception_info(exception_info: int) -> int:
    """Return the code of the failure; 0xFFFFFFFF if this is no information (any more)."""
    return _infos.get(exception_info).code


at_finalize(_callback.clear)
