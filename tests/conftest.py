"""What every test gets: each asynchronous one runs on asyncio's loop and on uvloop's, and no error is lost."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
import uvloop


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run every asynchronous test once a loop; the names are the ids of the runs."""
    return {"asyncio": lambda: _watched(asyncio.new_event_loop()), "uvloop": lambda: _watched(uvloop.new_event_loop())}


def _watched(loop: asyncio.AbstractEventLoop) -> asyncio.AbstractEventLoop:
    loop.set_exception_handler(_fail_test)
    return loop


def _fail_test(_loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
    """Treat what a loop would only log, such as the exception of a task nobody awaits, as unraisable."""
    error = context.get("exception") or RuntimeError(context["message"])
    unraisable = SimpleNamespace(
        exc_type=type(error),
        exc_value=error,
        exc_traceback=error.__traceback__,
        err_msg=context["message"],
        object=context.get("future") or context.get("handle"),
    )
    sys.unraisablehook(cast("sys.UnraisableHookArgs", unraisable))


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep settings of the machine out of the tests."""
    for name in [name for name in os.environ if name.startswith("AACL_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], Awaitable[None]]:
    """Let the loop turn until something is true."""

    async def turn(condition: Callable[[], bool]) -> None:
        while not condition():  # noqa: ASYNC110 - what is waited for happens on threads, and sets no event of a loop
            await asyncio.sleep(0)

    return turn


@pytest.fixture
def nervous() -> Iterator[None]:
    """Threads that are switched as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)
