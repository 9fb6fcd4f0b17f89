"""Names that a package loads when they are first used, so that importing it costs next to nothing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping

__all__ = ("lazy_names",)


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return a package's ``__getattr__`` and ``__dir__``.

    Args:
        package: its name.
        homes: the module that each name is taken from; a name that is its own module's is that module.
    """
    namespace = vars(sys.modules[package])

    def load(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(home)
        found = namespace[name] = module if home == f"{package}.{name}" else getattr(module, name)
        return found

    def names() -> list[str]:
        return sorted({*namespace, *homes})

    return load, names
