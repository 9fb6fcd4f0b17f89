"""Functions of the program's own: what is checked before they are called, and what is told of them after."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from aacl._note import add_note
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from aacl.tensors._desc import TensorDesc

__all__ = ("discarded", "function_of", "name_of", "noted", "words")


class noted:  # noqa: N801 - used as a verb. No generator: contextlib changes the exception, which may refuse
    """Say on an exception of the program's own code where it comes from."""

    def __init__(self, note: str) -> None:
        self._note = note

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, Exception):
            add_note(error, self._note)


def words(inputs: Sequence[TensorDesc | None]) -> str:
    """Return the inputs' descriptions as text."""
    return f"({', '.join(['absent' if desc is None else f'{desc.dtype.name} {list(desc.shape)}' for desc in inputs])})"


def discarded(thing: object) -> str:
    """Return a wrong value as text; a coroutine is closed, since nobody will await it."""
    if inspect.iscoroutine(thing):
        thing.close()
    return repr(thing)


def name_of(what: str, name: Any) -> str:
    """Return a name.

    Raises:
        InvalidArgument: it is empty, or no text.
    """
    if not isinstance(name, str) or not name:
        raise InvalidArgument(f"{what} has a name, such as 'scaled_add'; {name!r} was given")
    return name


def function_of(what: str, function: Any, parameters: str) -> Any:
    """Return a function that can be called with as many arguments as ``parameters`` names.

    Raises:
        InvalidArgument: it cannot.
    """
    if not callable(function):
        raise InvalidArgument(f"{what} is no function but {function!r}; pass a function of ({parameters})")
    if inspect.iscoroutinefunction(function):
        raise InvalidArgument(f"{what} is a coroutine function, which nobody would await; make it a plain 'def'")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions of C do not tell
        return function
    try:
        signature.bind(*parameters.split(", "))
    except TypeError as error:
        raise InvalidArgument(f"{what} is called as ({parameters}), which {function!r} cannot be: {error}") from None
    return function
