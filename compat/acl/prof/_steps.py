"""Steps of a training or a loop: when a stream came to their beginnings and ends."""

from __future__ import annotations

import time
from itertools import count
from operator import index

from aacl.errors import InvalidArgument
from acl._devices import stream_at
from acl._handles import Handles
from acl._state import require_init
from acl._status import INVALID_PARAM, PROF_NOT_RUN, Refused, code_alone, plain
from acl.prof._control import control
from acl.prof._report import StepTime

__all__ = ("create_step_info", "destroy_step_info", "get_step_timestamp")

_TAGS = (0, 1)


class _Step:
    """A step.

    Attributes:
        number: from 1 on.
    """

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = next(_numbers)


_numbers = count(1)
_steps: Handles[_Step] = Handles("step", INVALID_PARAM)


@plain(0)
def create_step_info() -> int:
    """Make a step, to mark the steps of the program with.

    Returns:
        The handle; 0 before ``acl.init``.

    Source: aclprofCreateStepInfo.
    """
    require_init()
    return _steps.add(_Step())


@plain(None)
def destroy_step_info(step_info: int, /) -> None:
    """Destroy a step. A handle that is none leaves the code 100000 as last error.

    Args:
        step_info: of `create_step_info`.

    Source: aclprofDestroyStepInfo.
    """
    _steps.take(step_info)


@code_alone
def get_step_timestamp(step_info: int, tag: int, stream: int, /) -> int:
    """Note when a stream comes to the beginning or the end of a step.

    Args:
        step_info: the step.
        tag: 0 for the beginning, 1 for the end.
        stream: the stream; 0 is the default one.

    Returns:
        0; 100000 for another tag, or if it is no step; 100043 if nothing is profiled; codes for the stream as
        ``acl.rt.synchronize_stream``.

    Source: aclprofGetStepTimestamp.
    """
    number, tag, target = _steps.get(step_info).number, index(tag), stream_at(stream)
    if tag not in _TAGS:
        raise InvalidArgument(f"the tag of a step is 0 (begins) or 1 (ends), not {tag}")
    sessions = [*control.sessions.values()]
    if not sessions:
        raise Refused(PROF_NOT_RUN, "nothing is profiled; call acl.prof.start first")
    handle = target.handle

    def note() -> None:
        now = time.time_ns()
        for session in sessions:
            session.steps.append(StepTime(number, tag, handle, now))

    target.stream.call(note)
    return 0
