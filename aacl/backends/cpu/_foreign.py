"""Calls into ONNX Runtime, and the end of the process.

Python ends a daemon thread where it next asks for the GIL. In a call into C++
that gave the GIL away this unwinds what must not be unwound, and the process
aborts. So the end of the process waits for the calls that are under way; what a
stream would begin behind that, the end overtakes.

A call notes itself, then looks whether the process ends; the end says so, then
looks at the calls.
"""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import contextmanager
from time import sleep
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

__all__ = ("enter", "foreign", "leave")

_GRACE = 0.2  # seconds that a call behind the end stands back; who still waits for it then, an exit handler, gets it
_GLANCE = 0.001
_under_way: set[Hashable] = set()
_ending: list[bool] = []

leave = _under_way.discard
"""Note that a call is over, once or more often."""


def enter(call: Hashable) -> None:
    """Note that a call begins, until `leave`; in a ``try``, so that an interrupt leaves nothing behind."""
    _under_way.add(call)
    if _ending and threading.current_thread() is not threading.main_thread():
        leave(call)
        sleep(_GRACE)
        _under_way.add(call)


@contextmanager
def foreign() -> Iterator[None]:
    """Hold a call, for those that are not made often."""
    call = object()
    try:
        enter(call)
        yield
    finally:
        leave(call)


def _end() -> None:
    _ending.append(True)
    while _under_way:
        sleep(_GLANCE)


atexit.register(_end)
os.register_at_fork(after_in_child=_under_way.clear)  # the child has none of the threads
