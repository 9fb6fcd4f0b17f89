"""How long operators, and a stream's waits for events, may take: one setting for the whole process."""

from __future__ import annotations

from operator import index

from acl._state import at_finalize, require_init
from acl._status import PARAM_INVALID, Refused, code_alone, with_code
from acl._streams import limit_operators, time_limits

__all__ = (
    "get_op_execute_timeout",
    "get_op_timeout_interval",
    "set_op_execute_time_out",
    "set_op_execute_timeout_v2",
    "set_op_wait_timeout",
)

_INTERVAL = 1000  # microseconds: what is set is a multiple of it
_MOST = (1 << 32) - 1  # seconds, as the C interface takes them


@code_alone
def set_op_wait_timeout(timeout: int, /) -> int:
    """Bound how long a stream stands still for an event in the ``stream_wait_event`` calls from now on.

    A wait that takes longer fails: the code comes from the stream's next synchronise, and the stream goes on with
    what follows, in failure mode 1 it stops.

    Args:
        timeout: seconds; 0 is no bound, as at first.

    Returns:
        0; 107000 for fewer than 0 or more than 32 bits; 100001 before ``acl.init``. The failed wait's code is 507047.

    Source: aclrtSetOpWaitTimeout.
    """
    time_limits.event_wait = _checked(timeout, 1) or None
    return 0


@code_alone
def set_op_execute_time_out(timeout: int, /) -> int:
    """Bound how long an operator, or an own kernel, may run that is submitted from now on.

    A kernel on the host's cores cannot be ended from outside. One that has taken longer fails when it ends: 507014
    at the stream's next synchronise, and from the exception callback. Models and copies are not bounded, nor is what
    runs in the submitting call itself because it is known to be short.

    Args:
        timeout: seconds; 0 is no bound, as at first.

    Returns:
        0; 107000 for fewer than 0 or more than 32 bits; 100001 before ``acl.init``.

    Source: aclrtSetOpExecuteTimeOut.
    """
    limit_operators(_checked(timeout, 1) or None)
    return 0


@with_code(0)
def set_op_execute_timeout_v2(timeout: int, /) -> tuple[int, int]:
    """Do what `set_op_execute_time_out` does, in finer steps.

    Args:
        timeout: microseconds; 0 is no bound. It is rounded up to a multiple of `get_op_timeout_interval`.

    Returns:
        (microseconds that hold now, 0); (0, code) as `set_op_execute_time_out`.

    Source: aclrtSetOpExecuteTimeOutV2.
    """
    wanted = round(_checked(timeout, 1_000_000) * 1_000_000)
    actual = -(-wanted // _INTERVAL) * _INTERVAL
    limit_operators(actual / 1_000_000 or None)
    return actual, 0


@with_code(0)
def get_op_execute_timeout() -> tuple[int, int]:
    """Tell how long an operator may run.

    Returns:
        (milliseconds, 0), 0 milliseconds being no bound; (0, 100001) before ``acl.init``.

    Source: aclrtGetOpExecuteTimeout.
    """
    require_init()
    return round((time_limits.operator or 0) * 1000), 0


@with_code(0)
def get_op_timeout_interval() -> tuple[int, int]:
    """Tell what the time that an operator may run is a multiple of.

    Returns:
        (microseconds, 0); (0, 100001) before ``acl.init``.

    Source: aclrtGetOpTimeOutInterval.
    """
    require_init()
    return _INTERVAL, 0


def _checked(timeout: int, unit: int) -> float:
    """Return a time in seconds; ``unit`` of what is given are one.

    Raises:
        Refused: it is out of range.
        NotInitialized: the runtime is not.
    """
    timeout = index(timeout)
    require_init()
    if not 0 <= timeout <= _MOST * unit:
        raise Refused(PARAM_INVALID, f"a timeout goes from 0, no bound, to {_MOST * unit}; {timeout} was given")
    return timeout / unit


at_finalize(time_limits.clear)
