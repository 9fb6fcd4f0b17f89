"""Done callbacks: called by the loop on whose thread they were registered, or by whoever ends the command."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from typing import Any

import pytest

import aacl
from aacl import Completion, Stream
from tests.helpers import Hold, PythonWork, fail, run_python


async def test_callbacks_of_a_loop_are_called_by_it(stream: Stream) -> None:
    """On the loop's thread, after the registration, in the given context or a copy of the current one."""
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    calls: list[tuple[int, str]] = []
    called = asyncio.Event()

    def callback(completion: Completion[Any]) -> None:
        assert completion.done()
        calls.append((threading.get_ident(), variable.get()))
        if len(calls) == 2:
            called.set()

    variable.set("mine")
    given = contextvars.copy_context()
    given.run(variable.set, "given")
    with Hold(stream) as hold:
        hold.completion.add_done_callback(callback)
        hold.completion.add_done_callback(callback, context=given)
    await called.wait()

    assert calls == [(threading.get_ident(), "mine"), (threading.get_ident(), "given")]


async def test_callbacks_of_a_finished_command_come_with_the_next_turn(stream: Stream) -> None:
    """Registering late calls soon, never at once: as asyncio's futures do."""
    calls: list[Completion[Any]] = []
    completion = stream.execute(PythonWork(int, estimate=0))
    completion.add_done_callback(calls.append)
    assert calls == []
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert calls == [completion]


def test_callbacks_without_a_loop() -> None:
    """They are called by whoever ends the command, and at once when it is over."""
    calls: list[str] = []
    with aacl.blocking.Device(0) as device, aacl.blocking.Stream(device) as stream:
        with Hold(stream.stream) as hold:
            hold.completion.add_done_callback(lambda _: calls.append(threading.current_thread().name))
        hold.completion.wait()
        stream.synchronize()
        hold.completion.add_done_callback(lambda _: calls.append("at once"))

    assert calls[0].startswith("aacl-")
    assert calls[1] == "at once"


async def test_removed_callbacks_are_not_called(stream: Stream) -> None:
    """remove_done_callback tells how often the callback was registered."""
    calls: list[Completion[Any]] = []
    with Hold(stream) as hold:
        for _ in range(2):
            hold.completion.add_done_callback(calls.append)
        assert hold.completion.remove_done_callback(calls.append) == 2
        assert hold.completion.remove_done_callback(calls.append) == 0
    await hold.completion
    await asyncio.sleep(0)

    assert calls == []
    assert hold.completion.remove_done_callback(calls.append) == 0


def test_a_failing_callback_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Its exception reaches the log, and neither the stream nor the other callbacks."""
    calls: list[Completion[Any]] = []
    with aacl.blocking.Device(0) as device, aacl.blocking.Stream(device) as stream, caplog.at_level(logging.ERROR):
        with Hold(stream.stream) as hold:
            hold.completion.add_done_callback(lambda _: fail("in the callback"))
            hold.completion.add_done_callback(calls.append)
        stream.synchronize()

    assert calls == [hold.completion]
    assert "in the callback" in caplog.text


@pytest.mark.parametrize("raised", ["SystemExit(3)", "KeyboardInterrupt()"])
def test_a_callback_that_raises_anything_does_no_harm(raised: str) -> None:
    """Not even SystemExit in a worker stops a stream, or the device's other work."""
    done = run_python(
        f"""
        from tests.helpers import Hold, PythonWork
        def callback(_):
            raise {raised}
        with blocking.Device(0) as device, blocking.Stream(device) as stream:
            for _ in range(3):
                with Hold(stream.stream) as hold:
                    first = stream.submit(PythonWork(int))
                    first.add_done_callback(callback)
                    last = stream.submit(PythonWork(int))
                assert last.wait(3), "the stream stopped"
            stream.synchronize(3)
        print("closed")
        """,
        AACL_CORES="1",
    )

    assert (done.status, done.output) == (0, "closed"), done


def test_a_waiter_of_a_closed_loop_does_no_harm() -> None:
    """A loop that ended while it waited is forgotten: the command ends as usual."""
    with aacl.blocking.Device(0) as device, aacl.blocking.Stream(device) as stream, Hold(stream.stream) as hold:

        async def begin() -> None:
            hold.completion.add_done_callback(lambda _: None)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(hold.completion, 0.001)

        asyncio.run(begin())
        hold.release()
        assert hold.completion.wait(10)
