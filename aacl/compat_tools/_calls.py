"""Calls of whatever module ``import acl`` finds, and what they fail with."""

from __future__ import annotations

import importlib
from typing import Any

from aacl._note import add_note
from aacl.errors import AclError, InvalidArgument, error_class

__all__ = ("acl_module", "check", "failure", "forget_failure", "made", "note_on", "release")

_NO_LONGER_THERE = frozenset({100001, 100037, 107017})
"""Not initialised, finalised before, closed before: what was to be released is gone."""


def acl_module() -> Any:
    """Return the `acl` module that this process uses."""
    return importlib.import_module("acl")


def check(answer: Any, call: str = "the call") -> Any:
    """Return what a call of `acl` returned beside its code, or raise if the code is not 0.

    ::

        pointer = check(acl.rt.malloc(1024, 0))
        check(acl.rt.memset(pointer, 1024, 0, 1024))

    Args:
        answer: a code, or a tuple that ends with one.
        call: the name of the call, for the error's text.

    Returns:
        None for a code; the one value before it, or a tuple of them.

    Raises:
        AclError: the code is not 0: the class that `aacl.errors.error_class` gives for it, with the code in ``code``
            and the text of ``acl.get_recent_err_msg()``.
        TypeError: the answer is neither a code nor a tuple that ends with one.
    """
    values = answer if isinstance(answer, tuple) else (answer,)
    code = values[-1] if values else None
    if isinstance(code, bool) or not isinstance(code, int):
        raise TypeError(f"{call} returned {answer!r}, which does not end with a code")
    if code:
        raise failure(code, call)
    return None if len(values) == 1 else values[0] if len(values) == 2 else values[:-1]


def failure(code: int, call: str) -> AclError:
    """Return the error of a call that gave a code.

    Args:
        code: what it returned.
        call: its name.
    """
    recent = _recent_text()
    ours = f"{call} failed with {code}"
    error = error_class(code)(recent if recent.startswith(ours) else f"{ours}: {recent}" if recent else ours)
    if error.code != code:  # AclError itself stands for what has no class of its own
        vars(error)["code"] = code
    return error


def forget_failure() -> None:
    """Let a failure that was a question leave no text and no last error."""
    _recent_text()
    clear = getattr(acl_module().rt, "get_last_error", None)
    if clear is not None:
        clear(0)


def _recent_text() -> str:
    """Return what the module says of the latest failure; older ones have no such call."""
    ask = getattr(acl_module(), "get_recent_err_msg", None)
    text = ask() if ask is not None else None
    return text.strip() if isinstance(text, str) else ""


def made(handle: int | None, call: str) -> int:
    """Return a handle, or raise where there is none: 0, or None as some versions give.

    Args:
        handle: what a call that gives no code returned.
        call: its name.

    Raises:
        InvalidArgument: it is none.
    """
    if not handle:
        raise InvalidArgument(_recent_text() or f"{call} gave no handle")
    return handle


def release(code: int, call: str) -> None:
    """Raise if what a call should have released is still there.

    Args:
        code: what it returned; codes that say "not there any more" count as success.
        call: its name.

    Raises:
        AclError: it failed otherwise.
    """
    if code and code not in _NO_LONGER_THERE:
        raise failure(code, call)


def note_on(error: BaseException, second: BaseException) -> None:
    """Say on an error what failed after it."""
    add_note(error, f"while things were released, {type(second).__name__}: {second}")
