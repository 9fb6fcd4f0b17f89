"""Calls of the drop-in with any arguments, and the verdict on how each ends."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import acl
from acl import _status
from tests.helpers.fuzz._call_values import argument, fits
from tests.helpers.fuzz._call_world import ENDS, World

__all__ = ("Call", "Verdicts", "functions")

Call = tuple[str, int, list[tuple[str, int]]]
"""The function, how many arguments more or fewer than it takes, and the recipes of the arguments."""

_RAISES = {"acl.util.ptr_to_bytes", "acl.util.ptr_to_numpy"}
"""Functions whose documentation states ValueError: what they return could be taken for memory."""
_ANSWERS = {
    "acl.rt.get_last_error",
    "acl.rt.peek_at_last_error",
    "acl.init",
    "acl.rt.process_report",
    "acl.rt.process_host_func",
}
"""Functions whose number is an answer and no failure, which leaves no text."""


def functions() -> dict[str, Callable[..., Any]]:
    """Return every function of the module by its full name."""
    found: dict[str, Any] = {}
    for name in dir(acl):
        thing = getattr(acl, name)
        if inspect.ismodule(thing):
            found |= {f"acl.{name}.{inner}": getattr(thing, inner) for inner in dir(thing)}
        else:
            found[f"acl.{name}"] = thing
    return {name: each for name, each in found.items() if callable(each)}


class Verdicts:
    """Makes calls in a world and judges them.

    Attributes:
        calls: how many were made.
    """

    def __init__(
        self, world: World, before: Callable[[str], None], made: dict[str, Callable[..., Any]] | None = None
    ) -> None:
        """Prepare for calls.

        Args:
            world: where.
            before: told of each call before it is made.
            made: the functions; by default all of the module.
        """
        self._world, self._before, self.calls = world, before, 0
        self._functions = functions() if made is None else made
        self._parameters = {name: _parameters(each) for name, each in self._functions.items()}

    @property
    def names(self) -> list[str]:
        """Return the functions' names."""
        return [*self._functions]

    def arity(self, name: str) -> int:
        """Return how many arguments a function takes at most."""
        return len(self._parameters[name])

    def run(self, calls: list[Call]) -> Iterator[str]:
        """Make calls one after the other in a new world; yield each fault."""
        self._world.begin()
        for number, call in enumerate(calls):
            if self._world.ended:
                self._world.begin()
            if not number % 4:
                self._world.make_current()
                self._world.remember()
            fault = self._judge(*call)
            if fault:
                yield fault
        self._world.drain_pipe()

    def _judge(self, name: str, more: int, recipes: list[tuple[str, int]]) -> str:
        parameters = self._parameters[name]
        given = [argument(self._world, *each, *recipe) for each, recipe in zip(parameters, recipes, strict=True)]
        given = given[: len(given) + more] + [0] * more
        shown = f"{name}({', '.join(_shown(each) for each in given)})"
        self._before(shown)
        self.calls += 1
        acl.get_recent_err_msg()
        ended = self._world.ended
        may_refuse = len(given) != len(parameters) or not all(
            fits(annotation, value) for (_, annotation), value in zip(parameters, given, strict=True)
        )
        fault = self._fault(name, given, may_refuse)
        if not fault and not ended and self._world.ended and name not in ENDS:
            fault = "the device is gone"
        fault = fault or self._world.changed()
        return f"{shown}: {fault}" if fault else ""

    def _fault(self, name: str, given: list[Any], may_refuse: bool) -> str:
        function = self._functions[name]
        try:
            answer = function(*given)
        except TypeError as error:
            return "" if may_refuse else f"TypeError for arguments of the right types: {error}"
        except ValueError as error:
            return "" if name in _RAISES else f"{type(error).__name__}: {error}"
        except BaseException as error:
            return f"{type(error).__name__}: {error}"
        return _wrong_shape(function, answer) or _missing_text(name, function, answer)


def _parameters(function: Callable[..., Any]) -> list[tuple[str, str]]:
    return [(each.name, str(each.annotation)) for each in inspect.signature(function).parameters.values()]


def _wrong_shape(function: Callable[..., Any], answer: Any) -> str:
    """Return what is wrong with the shape of an answer: it is a tuple of a length, or one value, as is stated."""
    stated = str(inspect.signature(function).return_annotation)
    if stated.startswith("tuple["):
        is_like_it = type(answer) is tuple and len(answer) == _count(stated)
        if not is_like_it or (stated.endswith(" int]") and type(answer[-1]) is not int):
            return f"{stated} was stated, {_shown(answer)} came"
    elif stated in ("int", "str", "float", "bytes", "None") and type(answer).__name__.removesuffix("Type") != stated:
        return f"{stated} was stated, {_shown(answer)} came"
    return ""


def _count(stated: str) -> int:
    """Return how many items a tuple has whose annotation this is."""
    depth, count = 0, 1
    for letter in stated[6:-1]:
        depth += (letter == "[") - (letter == "]")
        count += letter == "," and not depth
    return count


def _missing_text(name: str, function: Callable[..., Any], answer: Any) -> str:
    """Return that a failure told nobody why, if so."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    code = (
        answer[-1] if type(answer) is tuple and type(answer[-1]) is int else answer if _status._itself in cells else 0
    )
    if type(code) is int and code and name not in _ANSWERS and not acl.get_recent_err_msg():
        return f"the code {code} came without a text"
    return ""


def _shown(value: Any) -> str:
    try:
        text = hex(value) if type(value) is int and abs(value) > 1 << 20 else ascii(value)
    except Exception as error:
        text = f"<{type(value).__name__} {type(error).__name__}>"
    return text if len(text) < 60 else text[:40] + "..." + text[-10:]
