"""The exception tree and its codes."""

from __future__ import annotations

import re

import pytest

from aacl import errors
from aacl.errors import AclError, InvalidArgument, WaitTimeout, error_class

CLASSES = [getattr(errors, name) for name in errors.__all__ if name != "error_class"]


def _drawn() -> list[tuple[str, int, str]]:
    """Return name, code and parent of each class as the module's docstring draws them."""
    found: list[tuple[str, int, str]] = []
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        drawn = re.match(r"    ([│├└─ ]*)(\w+) +(\d{6})  ", line)
        if drawn:
            depth = len(drawn[1]) // 4
            above[depth:] = [drawn[2]]
            found.append((drawn[2], int(drawn[3]), above[depth - 1] if depth else "Exception"))
    return found


def test_the_drawn_tree_is_the_tree() -> None:
    """The docstring shows every class with its code and its parent, and nothing else."""
    expected = [(cls.__name__, cls.code, cls.__bases__[0].__name__) for cls in CLASSES]

    assert sorted(_drawn()) == sorted(expected)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_code_finds_its_class(cls: type[AclError]) -> None:
    """Each class has a code of its own, by which it is found."""
    assert error_class(cls.code) is cls


def test_an_unknown_code_is_the_general_error() -> None:
    """A code that no class stands for gives the base class."""
    assert error_class(999999) is AclError


def test_two_classes_with_one_code_are_refused() -> None:
    """A duplicate fails when the class is made, and the first keeps the code."""
    with pytest.raises(TypeError, match="both claim code 100000"):
        type("Second", (AclError,), {}, code=100000)

    assert error_class(100000) is InvalidArgument


def test_a_programs_subclass_keeps_the_code() -> None:
    """Subclassing without a code changes nothing in the table."""
    own = type("Own", (InvalidArgument,), {})

    assert own.code == 100000  # type: ignore[attr-defined]
    assert error_class(100000) is InvalidArgument


def test_a_timed_out_wait_is_a_timeout_error() -> None:
    """Code that catches TimeoutError catches ours."""
    assert issubclass(WaitTimeout, TimeoutError)
    assert issubclass(errors.EventTimeout, TimeoutError)
