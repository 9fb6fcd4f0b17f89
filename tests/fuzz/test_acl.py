"""A short, seeded round of calls with any arguments, what it once found, and the harness itself."""

from __future__ import annotations

import faulthandler
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import acl
from acl import _status
from tests.helpers.fuzz import _calls, fuzz_calls
from tests.helpers.fuzz import _calls_child as child
from tests.helpers.fuzz._call_world import World, make_files
from tests.helpers.fuzz._calls import Verdicts

THOUSANDS = 5


# A process makes a thousand calls in 3 s of an idle core.
@pytest.mark.timeout(180)
def test_calls_with_any_arguments() -> None:
    """No crash, no hang, no other error than TypeError for wrong types, no wrong answer, no changed neighbour."""
    assert fuzz_calls(THOUSANDS, "ci") == []


def test_every_function_is_called() -> None:
    """The harness finds the functions by walking the module: hundreds, from every namespace."""
    found = _calls.functions()

    assert len(found) > 350
    assert {name.rpartition(".")[0] for name in found} >= {"acl", "acl.rt", "acl.mdl", "acl.op", "acl.prof", "acl.util"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a world."""
    path = tmp_path_factory.mktemp("world")
    make_files(path)
    return path


@pytest.fixture
def world(folder: Path) -> Iterator[World]:
    """Return a world; what calls have made of it ends with the test."""
    world = World(folder)
    yield world
    acl.init()
    acl.finalize()


def faults(world: World, function: Callable[..., Any], recipe: tuple[str, int] = ("good", 0)) -> list[str]:
    """Return what is wrong with one call of a function."""
    count = len(_calls._parameters(function))
    verdicts = Verdicts(world, lambda _: None, {"acl.rt.free": function})
    return [*verdicts.run([("acl.rt.free", 0, [recipe] * count)])]


def sound(dev_ptr: int) -> int:
    """Return what a call may."""
    return 0


def raising(error: BaseException) -> Callable[[int], int]:
    """Return a function that raises."""

    def function(dev_ptr: int) -> int:
        raise error

    return function


def overrunning(dev_ptr: int) -> int:
    """Write behind an allocation: to whatever lies there."""
    _neighbour_worlds[-1]._canaries[0][1][:4] = 0
    return 0


def destroying(dev_ptr: int) -> int:
    """Destroy what was not given."""
    world = _neighbour_worlds[-1]
    for kind in ("tensor desc", "data buffer"):
        for handle in world._kept:
            if kind == "tensor desc":
                acl.destroy_tensor_desc(handle)
    return 0


def resetting(dev_ptr: int) -> int:
    """End the device."""
    return acl.rt.reset_device_force(0)


def wrong_tuple(dev_ptr: int) -> tuple[int, int]:
    """Return less than is stated."""
    return 0  # type: ignore[return-value]


@_status.code_alone
def silent(dev_ptr: int) -> int:
    """Fail without a text."""
    return 5


_neighbour_worlds: list[World] = []


def test_sound_calls_give_nothing(world: World) -> None:
    """A call that returns what it states, or refuses a type, is no finding."""
    assert faults(world, sound) == []
    assert faults(world, raising(TypeError("no")), ("hostile", 0)) == []


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (raising(ValueError("oh")), "ValueError: oh"),
        (raising(KeyboardInterrupt()), "KeyboardInterrupt"),
        (raising(TypeError("no")), "TypeError for arguments of the right types: no"),
        (wrong_tuple, "was stated, 0 came"),
        (silent, "the code 5 came without a text"),
        (overrunning, "memory at 0x"),
        (destroying, "neighbour 0"),
        (resetting, "the device is gone"),
    ],
    ids=["error", "interrupt", "type error", "shape", "text", "overrun", "neighbour", "device"],
)
def test_what_must_not_happen_is_noticed(world: World, function: Callable[..., Any], words: str) -> None:
    """Each kind of fault is found, and said with the call."""
    _neighbour_worlds[:] = [world]
    made = {"acl.rt.malloc": function}
    (fault,) = Verdicts(world, lambda _: None, made).run([("acl.rt.malloc", 0, [("good", 0)])])

    assert fault.startswith("acl.rt.malloc(")
    assert words in fault


def test_a_call_that_lasts_too_long_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The watchdog shows what every thread does, then the call, and gives the status 70."""
    ended: list[int] = []
    written: list[bytes] = []
    monkeypatch.setattr(child, "_SECONDS", 0.05)
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(os, "write", lambda _, text: written.append(text))
    monkeypatch.setattr(faulthandler, "dump_traceback", lambda: written.append(b"stacks"))
    watchdog = child._Watchdog()
    watchdog.begin("acl.rt.wait(1)")
    end = time.monotonic() + 10
    while not ended and time.monotonic() < end:
        time.sleep(0.01)
    watchdog.rest()

    assert ended[0] == 70
    assert written[:2] == [b"acl.rt.wait(1)\n", b"stacks"]
    assert written[2].startswith(b"acl.rt.wait(1) was not over after")


def test_texts_that_are_no_unicode(world: World) -> None:
    """A text with half a character is an argument that cannot be, wherever it would have to be encoded."""
    world.begin()
    stream = acl.rt.create_stream()[0]

    assert acl.prof.mark_ex("\ud800", stream) == 100000
    assert "surrogates not allowed" in (acl.get_recent_err_msg() or "")
