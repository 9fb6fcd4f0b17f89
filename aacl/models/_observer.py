"""What profiles and dumps have in common: a beginning, an end, and blocks of both kinds."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from aacl.errors import InvalidArgument
from aacl.models._observation import observation_of
from aacl.streams import _hosts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from aacl.abc import NodeTime, NodeValue
    from aacl.models._model import Model

__all__ = ("ModelObserver",)


class ModelObserver:
    """Something that looks into a model from `start` to `stop`, or in a ``with`` or ``async with`` block.

    Attributes:
        model: the model.
    """

    wants_times = False
    wants_values = False

    def __init__(self, model: Model) -> None:
        self.model, self.first_run = model, 0
        self._observation = observation_of(model)
        self._state = "new"
        self._turn = threading.Lock()

    def start(self) -> Self:
        """See the runs that are submitted from now on, and return itself. It loads the model once more, which takes time.

        Raises:
            InvalidArgument: it was started before.
            ClosedResource: the model is not open.
            ModelDataError: the device cannot run the graph so.
        """
        with self._turn:
            if self._state != "new":
                raise InvalidArgument(f"this {type(self).__name__} is {self._state}; make a new one")
            self._observation.begin(self)
            self._state = "started"
        return self

    def stop(self) -> None:
        """See no further runs; wait for one that goes on. Those that are queued still run, unseen. Harmless when repeated."""
        with self._turn:
            if self._state == "started":
                self._observation.end(self)
            self._state = "stopped"

    def wants(self, node: str, op_type: str) -> bool:  # noqa: ARG002 - others look
        """Whether it is told what a node gets and gives."""
        return False

    def timed(self, times: Sequence[NodeTime]) -> None:
        """Take what was recorded."""

    def told(self, values: Sequence[NodeValue]) -> None:
        """Take what the nodes of one run got and gave."""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        from asyncio import to_thread

        try:
            return await to_thread(self.start)
        except BaseException:
            _hosts.host_pool.submit(self.stop)  # whoever was cancelled leaves nothing started behind
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        from asyncio import to_thread

        await to_thread(self.stop)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.model!r}, {self._state}>"
