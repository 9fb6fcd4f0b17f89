"""Calls into ONNX Runtime, and the end of the process.

Python ends a daemon thread where it next asks for the GIL. In a call into C++
that gave the GIL away this unwinds what must not be unwound, and the process
aborts. So the end of the process waits for the calls that are under way; what a
stream would begin behind that, the end overtakes.

A call notes itself, then looks whether the process ends; the end says so, then
looks at the calls.

A forked process has the sessions, but none of their threads. To destroy one there, or
what ONNX Runtime has from its import on, would wait for these for ever. So sessions
stay, whatever the process lets go of, and it ends without the destructors of C++.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
from contextlib import contextmanager
from time import sleep
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

__all__ = ("enter", "foreign", "leave", "outliving_forks")

S = TypeVar("S")

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


_sessions: WeakSet[Any] = WeakSet()
_held: list[Any] = []  # while the process forks: hooks that run in the child before ours may let go of the last owner


def outliving_forks(session: S) -> S:
    """Return a session, which processes that are forked from this one will not destroy, not even when they end."""
    _sessions.add(session)
    return session


def _hold() -> None:
    _held.extend(_sessions)


def _keep() -> None:
    if "onnxruntime" in sys.modules:  # it has threads from its import on
        _leave_out_destructors()
    for session in _held:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(session))  # given back by nobody
    _held.clear()


def _leave_out_destructors() -> None:
    """Let the C library end this process, once Python is through, before it runs what libraries registered earlier."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):  # of the GNU C library; called with the exit status, the last registered first
        libc.on_exit(libc._exit, None)
        libc.__cxa_atexit(libc.fflush, None, None)


atexit.register(_end)
os.register_at_fork(before=_hold, after_in_parent=_held.clear, after_in_child=_keep)
os.register_at_fork(after_in_child=_under_way.clear)  # the child has none of the threads
