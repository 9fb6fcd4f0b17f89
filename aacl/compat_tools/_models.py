"""Models and their descriptions for the length of a block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from aacl.compat_tools._calls import check, made, release
from aacl.compat_tools._held import Held, current_context, owner_of_context

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("acl_model", "acl_model_desc")


@final
class acl_model(Held[int]):  # noqa: N801
    """Load a model for a block: ``with acl_model("net.om") as model_id:``; leaving the block unloads it.

    Runs should be over by then: leave the stream's block first, or synchronise.

    Args:
        path: of its file.

    Raises:
        AclError: as `acl_device`; `ModelPathError` and `ModelDataError` for a file that is none, or no model.
    """

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path, self._model, self._loaded = path, 0, False

    def _make(self, acl: Any) -> int:
        self._context = current_context()
        self._model = check(acl.mdl.load_from_file(self._path), "acl.mdl.load_from_file")
        self._loaded = True
        return self._model

    def _find_owner(self) -> Held[Any] | None:
        return owner_of_context()

    def _steps(self, acl: Any) -> list[Callable[[], object]]:
        return [lambda: release(acl.mdl.unload(self._model), "acl.mdl.unload")] if self._loaded else []


@final
class acl_model_desc(Held[int]):  # noqa: N801
    """Describe a loaded model for a block: ``with acl_model_desc(model_id) as desc:`` gives the handle.

    Args:
        model_id: the model.

    Raises:
        AclError: as `acl_device`.
    """

    def __init__(self, model_id: int) -> None:
        super().__init__()
        self._model, self._desc = model_id, 0

    def _make(self, acl: Any) -> int:
        self._desc = made(acl.mdl.create_desc(), "acl.mdl.create_desc")
        check(acl.mdl.get_desc(self._desc, self._model), "acl.mdl.get_desc")
        return self._desc

    def _steps(self, acl: Any) -> list[Callable[[], object]]:
        return [lambda: release(acl.mdl.destroy_desc(self._desc), "acl.mdl.destroy_desc")] if self._desc else []
