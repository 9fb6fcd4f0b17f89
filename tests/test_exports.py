"""What the packages say they export is there, in order, and explained."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType

import pytest


def _public_modules() -> Iterator[str]:
    for root in ("aacl", "acl"):
        yield root
        found = pkgutil.walk_packages(importlib.import_module(root).__path__, f"{root}.", onerror=lambda _name: None)
        yield from (module.name for module in found if not any(part.startswith("_") for part in module.name.split(".")))


def _rank(name: str) -> tuple[int, list[str | int]]:
    """The order that `make format` puts names in; numbers in them count as numbers."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
    return kind, [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


@pytest.fixture(params=tuple(_public_modules()))
def module(request: pytest.FixtureRequest) -> ModuleType:
    """Each public module in turn."""
    return importlib.import_module(request.param)


def test_all_is_a_sorted_tuple_of_names_without_repeats(module: ModuleType) -> None:
    """`__all__` is a tuple: constants, then classes, then the rest, each in order and nothing twice."""
    exported = module.__all__

    assert type(exported) is tuple
    assert list(exported) == sorted(set(exported), key=_rank)


def test_every_exported_name_exists(module: ModuleType) -> None:
    """What `__all__` names can be had from the module, and is public."""
    missing = [name for name in module.__all__ if not hasattr(module, name)]
    private = [name for name in module.__all__ if name.startswith("_") and name != "__version__"]

    assert (missing, private) == ([], [])


def test_public_modules_classes_and_functions_have_docstrings(module: ModuleType) -> None:
    """The module, and each class, function and module that it exports, says what it is."""
    exported = {name: getattr(module, name) for name in module.__all__}
    silent = [
        name
        for name, thing in exported.items()
        if (inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing))
        and not (vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__)
    ]

    assert module.__doc__
    assert silent == []


def test_a_modules_own_public_names_are_exported(module: ModuleType) -> None:
    """What is not exported is hidden: a module's own classes and functions without underscore are in `__all__`."""
    own = [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(thing) or inspect.isfunction(thing))
        and thing.__module__ == module.__name__
    ]

    assert sorted(set(own) - set(module.__all__)) == []
