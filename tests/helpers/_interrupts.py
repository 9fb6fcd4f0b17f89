"""Ctrl-C at every place where Python lets one through, one run a place."""

from __future__ import annotations

import dis
import gc
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar

import aacl

T = TypeVar("T")

_PACKAGE = str(Path(aacl.__file__).parent)

# Python looks for signals when a function begins, after a call and before a jump back.
_LOOKS = frozenset({"RESUME", "CALL", "CALL_FUNCTION_EX", "CALL_KW", "JUMP_BACKWARD"})


class _Interrupter:
    """A trace function that raises KeyboardInterrupt at the ``countdown``-th such place in the package."""

    def __init__(self, countdown: int) -> None:
        self.countdown = countdown
        self.place: str | None = None
        self._looked: dict[FrameType, int] = {}  # where a frame looked for signals just now

    def enter(self, frame: FrameType, _event: str, _argument: object) -> Callable[..., Any] | None:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._step

    def _step(self, frame: FrameType, event: str, _argument: object) -> Callable[..., Any] | None:
        if event == "return":
            self._looked.pop(frame, None)
        elif event == "opcode":
            code, here = frame.f_code, frame.f_lasti
            looked = self._looked.pop(frame, -1)
            if dis.opname[code.co_code[here]] in _LOOKS:
                self._looked[frame] = here
            # Python raises where it looked, a trace function at the next instruction: the handler must be the same.
            if looked >= 0 and _handler(code, looked) == _handler(code, here):
                self._count(frame)
        return self._step

    def _count(self, frame: FrameType) -> None:
        self.countdown -= 1
        if self.countdown == 0:
            sys.settrace(None)
            self._looked.clear()
            self.place = f"{frame.f_code.co_qualname}, line {frame.f_lineno} of {Path(frame.f_code.co_filename).name}"
            raise KeyboardInterrupt


@cache
def _handler(code: CodeType, offset: int) -> int:
    """Return where an exception of the instruction there is handled, -1 for nowhere."""
    entries: list[Any] = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
    return next((entry.target for entry in entries if entry.start <= offset < entry.end), -1)


def interrupted_everywhere(
    prepare: Callable[[], T], act: Callable[[T], object], *, keep_traceback: bool = False
) -> Iterator[tuple[T, str]]:
    """Run ``act(prepare())`` once for each place, and interrupt it there.

    An interrupt that strikes in a finalizer is swallowed, as Python does.

    Args:
        prepare: makes what is acted on.
        act: is interrupted.
        keep_traceback: keep the interrupt, and with it the frames that it went through, until the next
            run, as the end of a block does, and a shell that shows it.

    Yields:
        What was prepared, and the place of the interrupt.
    """
    # What is loaded and cached at first use stays out of it; and from 3.13 on, opcodes are told only of
    # code that was traced before.
    for _ in range(2):
        _run(_Interrupter(0), act, prepare())
    told, sys.unraisablehook = sys.unraisablehook, lambda _: None
    gc.disable()
    try:
        for countdown in range(1, 5000):
            prepared, interrupter = prepare(), _Interrupter(countdown)
            error = _run(interrupter, act, prepared)
            if not keep_traceback:
                error = None
            if interrupter.place is None:
                return
            yield prepared, interrupter.place
            del error
    finally:
        gc.enable()
        sys.unraisablehook = told


def _run(interrupter: _Interrupter, act: Callable[[T], object], prepared: T) -> BaseException | None:
    sys._getframe().f_trace_opcodes = True  # from 3.12 on, opcodes are told only if somebody asked before
    sys.settrace(interrupter.enter)
    try:
        act(prepared)
    except KeyboardInterrupt as error:
        return error
    finally:
        sys.settrace(None)
    return None
