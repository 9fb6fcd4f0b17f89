"""Where a command was submitted: two words at submission, a text only when something failed."""

from __future__ import annotations

import sys
from os.path import dirname, sep
from types import CodeType, FrameType

__all__ = ("caller", "describe")

_PACKAGE = dirname(dirname(__file__)) + sep
_our_files: set[str] = set()


def caller() -> FrameType | None:
    """Return the innermost frame that is neither this package's nor the drop-in's.

    None where a task of its own begins with this package: the line that made the task is not known any more.
    """
    frame: FrameType | None = sys._getframe(4)  # the callers' callers here are methods of this package
    while frame is not None and _is_ours(frame):
        frame = frame.f_back
    return None if frame is None or _is_of("asyncio", frame) else frame


def _is_ours(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    if file in _our_files:
        return True
    if not file.startswith(_PACKAGE) and not _is_of("acl", frame):
        return False
    _our_files.add(file)
    return True


def _is_of(package: str, frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__")
    return type(name) is str and (name == package or name.startswith(package + "."))


def describe(code: CodeType, instruction: int) -> str:
    """Return ``file:line`` and the source line of an instruction (``f_lasti``) of a code object."""
    import linecache

    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= instruction < end and number is not None:
            line = number
            break
    source = linecache.getline(code.co_filename, line).strip()
    return f"{code.co_filename}:{line}" + (f": {source}" if source else "")
