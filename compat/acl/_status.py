"""How a call ends: with a value and 0, or with a code and a text for the thread that made it.

Functions behind this module raise. The decorators here make C calls of them:
arguments by position only, a `TypeError` for a wrong number of them, and
everything that goes wrong at run time as a code. On success that costs one call.
"""

from __future__ import annotations

import functools
import sys
from copy import copy
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from aacl.errors import AclError, StreamError
from acl._threads import here

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = (
    "Polled",
    "Refused",
    "code_alone",
    "code_of",
    "entry",
    "fail",
    "plain",
    "recent_text",
    "refuse_calls",
    "refused",
    "share_texts",
    "with_code",
    "with_first",
)

P = ParamSpec("P")
R = TypeVar("R")

# Codes that no class of aacl.errors stands for.
INVALID_PARAM = 100000
REPEAT_INITIALIZE = 100002
INVALID_DUMP_CONFIG = 100009
INVALID_PROFILING_CONFIG = 100010
REPEAT_FINALIZE = 100037
PROF_ALREADY_RUN = 100042
PROF_NOT_RUN = 100043
DUMP_ALREADY_RUN = 100044
DUMP_NOT_RUN = 100045
PROF_REPEAT_SUBSCRIBE = 148046
PROF_API_CONFLICT = 148047
PROF_MODULES_UNSUPPORTED = 200007
PROFILING_FAILURE = 500005
NOT_STATIC_AIPP = 100038
FORMAT_NOT_MATCH = 100027
MODEL_NOT_DYNAMIC = 100019
PARAM_INVALID = 107000
CONTEXT_NULL = 107002
STREAM_SUBSCRIBE = 107011
THREAD_SUBSCRIBE = 107012
STREAM_NO_CALLBACK = 107015
GROUP_NOT_CREATE = 107014
INVALID_HANDLE = 107017
MODEL_ID_INVALID = 145003
GEAR_ADDRESS_INVALID = 145011
GEAR_LENGTH_INVALID = 145012
GEAR_INVALID = 145013
AIPP_NOT_EXIST = 145015
AIPP_MODE_INVALID = 145016
BUNDLE_ID_INVALID = 148053
STREAM_MODEL = 107005
DIMS_UNKNOWN = 145000
MAX_OPQUEUE_NUM = 148048
BAD_ALLOC = 200000
API_NOT_SUPPORTED = 200001
RT_NOT_SUPPORTED = 207000
RESOURCE_ALLOC_FAIL = 207005
STREAM_NOT_COMPLETE = 507004
REPORT_TIMEOUT = 507012
STORAGE_OVER_LIMIT = 300000
FAILURE = 500001
"""A program's own exception, from a callback, at the next synchronise."""


class Refused(Exception):
    """A failure with a code of its own."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Polled(Refused):
    """An answer that programs get again and again while they poll; it does not replace what other threads failed with."""


_process_wide: list[str | None] = []
"""Empty, or the recent text of all threads together (``err_msg_mode`` "1")."""


def share_texts(shared: bool) -> None:
    """Keep the recent text for the whole process, or for each thread."""
    _process_wide[:] = [None] if shared else []


_BEYOND_C = OverflowError, UnicodeEncodeError
"""Numbers and texts of Python that the C interface could not take."""
_CAUGHT = AclError, Refused, MemoryError, OverflowError, UnicodeEncodeError, ImportError
"""What is a code at the end of a call; an `ImportError` is one while the interpreter ends, and imports nothing more."""


def code_of(error: BaseException) -> int:
    """Return the code of an error: that of the failed command for what a synchronise raises."""
    if type(error) is StreamError and error.__cause__ is not None:
        return code_of(error.__cause__)
    if isinstance(error, (AclError, Refused)):
        return error.code
    if isinstance(error, _BEYOND_C):
        return INVALID_PARAM
    return BAD_ALLOC if isinstance(error, MemoryError) else FAILURE


def fail(name: str, error: BaseException) -> int:
    """Remember why a call failed, for this thread, and return the code."""
    if isinstance(error, ImportError):
        if not sys.is_finalizing():
            raise error
        error = Refused(FAILURE, f"the interpreter ends and loads nothing more, which this call needs first: {error}")
    code = code_of(error)
    cause = error.__cause__ if type(error) is StreamError else None
    notes = [*getattr(error, "__notes__", ()), *getattr(cause, "__notes__", ())]
    text = "; ".join([f"{name} failed with {code}: {str(error) or type(error).__name__}", *notes])
    here.error = code
    if _process_wide:
        if not isinstance(error, Polled):
            _process_wide[0] = text
    else:
        here.text = text
    return code


def recent_text() -> str | None:
    """Return the text of the latest failure, once."""
    if _process_wide:
        text, _process_wide[0] = _process_wide[0], None
    else:
        text, here.text = here.text, None
    return text


_TELLING = frozenset({"acl.get_recent_err_msg", "acl.rt.get_last_error", "acl.rt.peek_at_last_error"})
_replace: list[Callable[[Callable[..., Any]], None]] = []  # what puts another function in the place of a call's own
_refusing: list[Callable[..., Any]] = []
"""Empty, or what stands in the place of every call."""


def refuse_calls(refuse: Callable[..., Any]) -> None:
    """Let ``refuse()``, which raises, stand for every call of every namespace, but those that tell of failures."""
    _refusing[:] = [refuse]
    for replace in _replace:
        replace(refuse)


def entry(failed: Callable[[int], R]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a call of the C interface from a function that raises; ``failed(code)`` is what it returns then."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        function.__module__ = function.__module__.partition("._")[0]  # where programs find it
        return functools.wraps(function)(_bound(function, failed))

    return decorate


def _bound(function: Callable[..., R], failed: Callable[[int], R]) -> Callable[..., R]:
    written = getattr(function, "__wrapped__", function)
    most: int = written.__code__.co_argcount
    least = most - len(written.__defaults__ or ())
    name = f"{function.__module__}.{function.__name__}"

    def call(*arguments: Any) -> R:
        if len(arguments) != most and not least <= len(arguments) <= most:
            raise TypeError(_wrong_number(least, most, len(arguments)))
        try:
            return function(*arguments)
        except _CAUGHT as error:
            return failed(fail(name, error))

    def call_without(*_ignored: Any) -> R:
        # Programs pass ids and handles to calls that take nothing: get_device(0), create_stream(context).
        try:
            return function()
        except _CAUGHT as error:
            return failed(fail(name, error))

    def replace(other: Callable[..., R]) -> None:
        nonlocal function
        function = other

    if name not in _TELLING:
        _replace.append(replace)
        if _refusing:
            replace(_refusing[0])
    return call if most else call_without


def _wrong_number(least: int, most: int, given: int) -> str:
    if least == most:
        how, count = "exactly", most
    else:
        how, count = ("at least", least) if given < least else ("at most", most)
    return f"function takes {how} {count} argument{'' if count == 1 else 's'} ({given} given)"


def plain(failed: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a call that returns a value without a code, and ``failed`` when it cannot."""
    return entry(lambda _code: failed)


def with_code(*nothing: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a call that returns ``(*values, 0)``, and ``(*nothing, code)`` when it fails."""
    return entry(lambda code: (*map(copy, nothing), code))  # type: ignore[return-value] # programs may write to it


def code_alone(function: Callable[P, int]) -> Callable[P, int]:
    """Make a call that returns 0, or the code."""
    return entry(_itself)(function)


def with_first(function: Callable[P, int]) -> Callable[P, tuple[int, int]]:
    """Make a call that returns its first argument, and 0 or the code."""
    function.__annotations__["return"] = "tuple[int, int]"  # what programs get, for `help`
    counted = code_alone(function)

    def call(*arguments: Any) -> tuple[int, int]:
        code: int = counted(*arguments)  # type: ignore[call-arg] # the number is checked there
        return arguments[0], code

    return functools.wraps(function)(call)  # type: ignore[return-value] # called as the function is


def refused(why: str, code: int = RT_NOT_SUPPORTED) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a call that only hardware can serve; it stands below the decorator that says what the call returns.

    The function itself checks its arguments, and what it returns does not matter: the call fails with ``code``, and
    ``why`` is the text. Its attribute ``refused`` is ``(code, why)``, for the page of what `acl` covers.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*arguments: P.args, **named: P.kwargs) -> R:
            function(*arguments, **named)
            raise Refused(code, why)

        call.refused = code, why  # type: ignore[attr-defined]
        return call

    return decorate


def _itself(code: int) -> int:
    return code
