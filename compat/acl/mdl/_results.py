"""What a run tells of its outputs: their shapes, and memory for buffers that were null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acl._data_buffers import data_buffers
from acl.mdl._datasets import put_desc

if TYPE_CHECKING:
    from collections.abc import Sequence

    import aacl
    from acl._contexts import Context
    from acl.mdl._datasets import Dataset

__all__ = ("Results",)

_NULL = 0, 0


class Results:
    """What is to be told to a dataset when a run of a model with free dims is over.

    Attributes:
        completion: of the run.
    """

    __slots__ = ("_buffers", "_context", "_dataset", "completion")

    def __init__(
        self, completion: aacl.Completion[Any], dataset: Dataset, null: Sequence[int], context: Context
    ) -> None:
        """Note where it goes.

        Args:
            completion: of the run.
            dataset: the outputs'.
            null: positions of the buffers that were (0, 0).
            context: the run's.
        """
        self.completion, self._dataset, self._context = completion, dataset, context
        self._buffers = {position: dataset.buffers[position] for position in null}

    def settle(self) -> None:
        """Let the dataset have the shapes, and null buffers their memory, unless the run failed."""
        if self.completion.failure is not None:
            return
        for position, tensor in enumerate(self.completion.outputs):
            if position in self._buffers:
                self._hand_over(position, tensor)
            put_desc(self._dataset, position, tensor.desc)

    def _hand_over(self, position: int, tensor: aacl.Tensor) -> None:
        """Let the program own an output's memory, to be freed by ``acl.rt.free``.

        A buffer that is not null any more was filled by a run that was queued before this one: its result is
        overwritten, as it would be in memory of the program. One that the program changed or destroyed gets nothing,
        and the memory goes.
        """
        dataset, handle = self._dataset, self._buffers[position]
        now, blocks, buffer = data_buffers.objects.get(handle), self._context.blocks, tensor.buffer
        if now is None:
            return
        if now != _NULL:
            earlier = dataset.given.get(position)
            if earlier is None or blocks.get(now[0]) is not earlier:
                return
            del blocks[now[0]]
            earlier.free()
        blocks[buffer.address] = dataset.given[position] = buffer
        data_buffers.objects[handle] = buffer.address, tensor.nbytes
