"""Work that fails: what its exception becomes, and what is noted on it."""

from __future__ import annotations

import asyncio
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import aacl
from aacl import Aborted, Device, KernelError, Stream, StreamError
from tests.helpers import Boom, PythonWork, fail, notes_of

SOURCE = Path(__file__).read_text().splitlines()


async def test_a_kernels_failure_is_a_kernel_error(stream: Stream) -> None:
    """The runtime's own work fails with KernelError, which names the work and has the exception as its cause."""
    for estimate in (0, 10**9):
        with pytest.raises(KernelError, match=r"PythonWork failed.*boom") as caught:
            await stream.execute(PythonWork(fail, estimate=estimate))
        assert isinstance(caught.value.__cause__, Boom)
        assert caught.value.code == 507018


async def test_a_programs_own_kernels_keep_their_exceptions(stream: Stream) -> None:
    """Work that says so is not translated."""

    class Own(PythonWork):
        keeps_exceptions = True

    for estimate in (0, 10**9):
        with pytest.raises(Boom):
            await stream.execute(Own(fail, estimate=estimate))


@dataclass(frozen=True)
class Frozen(Exception):
    """An exception that takes no notes."""

    code: int = 3


class Wordless(Exception):
    """An exception that gives no text."""

    def __str__(self) -> str:
        raise Boom


@pytest.mark.parametrize("error", [Frozen(), Wordless()], ids=["frozen", "wordless"])
@pytest.mark.parametrize("halts", [False, True])
async def test_exceptions_that_refuse_to_be_told_of(device: Device, error: Exception, halts: bool) -> None:
    """They end their command as any other do, surface with their cause, and the stream goes on."""

    def refuse() -> None:
        raise error

    async with Stream(device, stop_at_failure=halts) as stream:
        stream.call(refuse)
        later = stream.call(int)
        await stream.barrier()
        if halts:
            assert isinstance(later.exception(), Aborted)
            with pytest.raises(StreamError, match="stopped at a failure"):
                stream.call(int)
            stream.recover()
        with pytest.raises(StreamError, match=type(error).__name__) as caught:
            await stream.synchronize()
        assert caught.value.__cause__ is error
        assert await stream.call(int) == 0


async def test_an_exception_that_is_raised_again_and_again_keeps_one_note(stream: Stream) -> None:
    """One object may end many commands: what was said on it is not said again."""
    error = Boom()

    def refuse() -> None:
        raise error

    for _ in range(3):
        with pytest.raises(Boom):
            await stream.call(refuse)
    assert len(error.__notes__) == 1


async def test_errors_of_the_runtime_are_not_wrapped(stream: Stream) -> None:
    """An AclError raised inside of work stays what it is."""

    def refuse() -> None:
        raise aacl.NotSupported("not here")

    with pytest.raises(aacl.NotSupported):
        await stream.execute(PythonWork(refuse))


@pytest.mark.parametrize("kind", ["call", "worker", "inline"])
async def test_the_note_shows_the_submitting_line(stream: Stream, kind: str) -> None:
    """Stream, file, line and the source text of the submission, wherever the command ran."""
    submit: dict[str, Callable[[], aacl.Completion[Any]]] = {
        "call": lambda: stream.call(fail),  # MARK call
        "worker": lambda: stream.execute(PythonWork(fail)),  # MARK worker
        "inline": lambda: stream.execute(PythonWork(fail, estimate=0)),  # MARK inline
    }
    with pytest.raises((Boom, KernelError)) as caught:
        await submit[kind]()
    line = next(number for number, text in enumerate(SOURCE, 1) if f"# MARK {kind}" in text)

    assert f"stream {stream.number} at {__file__}:{line}: " in notes_of(caught.value)
    assert f"# MARK {kind}" in notes_of(caught.value)


async def test_the_note_of_a_caller_in_a_neighbouring_package(stream: Stream) -> None:
    """Only this package's own files are skipped, not those of a folder whose name begins alike."""
    file = str(Path(aacl.__file__).parent) + "_extra/script.py"
    text = "def submit(stream, function):\n    return stream.call(function)\n"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space: dict[str, Any] = {}
    exec(compile(text, file, "exec"), space)
    error = await asyncio.gather(space["submit"](stream, fail), return_exceptions=True)

    assert f"{file}:2: return stream.call(function)" in notes_of(error[0])
