"""Who wants to know of models that are loaded and unloaded: dumps and profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from acl.mdl._models import Loaded

__all__ = ("Watcher", "watchers")


class Watcher(Protocol):
    """Looks at models."""

    def loaded(self, model_id: int, loaded: Loaded, /) -> None:
        """Take note of a model before anybody can run it; what it raises fails the load."""

    def unloading(self, model_id: int, /) -> None:
        """Take note that a model's runs are over, and the model ends."""


watchers: list[Watcher] = []
