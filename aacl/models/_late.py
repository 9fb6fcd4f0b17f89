"""Runs whose shapes, of inputs or of outputs, are known only when they run.

A result is told its shape twice: what is known when the run is submitted, so
that later commands can be prepared, and what came out. Of several queued runs
that write one tensor the latest decides what the tensor is in the end; a
command between them that waits for an exact shape finds that of the run before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aacl.errors import ModelOutputMismatch
from aacl.memory._space import Epoch
from aacl.models._scratch import allocate, room_for, staged
from aacl.tensors._desc import TensorDesc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.abc import Array
    from aacl.models._binding import Bindings
    from aacl.models._variant import Variant, Variants
    from aacl.streams._allocation import Allocation
    from aacl.streams._engine import StreamEngine
    from aacl.tensors._tensor import Tensor

__all__ = ("LateRun", "Queued", "Target", "is_late")


class Target:
    """A tensor that a run writes.

    Attributes:
        tensor: what is written.
        room: bytes of the memory that the program brought for it; None where memory comes with the run.
    """

    __slots__ = ("_name", "room", "tensor")

    def __init__(self, tensor: Tensor, room: int | None, name: str) -> None:
        """Describe a target; ``name`` is the output's, and the model's, for errors."""
        self.tensor, self.room, self._name = tensor, room, name

    def check_room(self, desc: TensorDesc) -> None:
        """Check that the elements fit.

        Raises:
            ModelOutputMismatch: they do not.
        """
        if self.room is not None and desc.nbytes > self.room:
            raise ModelOutputMismatch(
                f"{self._name} takes {desc.nbytes} bytes ({desc.dtype.name} of shape {list(desc.shape)}), and the "
                f"tensor to write has {self.room}; bring one of {desc.nbytes} bytes or more"
            )

    def expect(self, desc: TensorDesc) -> None:
        """Tell the tensor, at the submission, what is known of its shape.

        Raises:
            ModelOutputMismatch: a run that is not over is to write it first, and to tell its shape.
        """
        tensor = self.tensor
        if self.room is None or tensor.desc.shape == desc.shape:
            return
        if not desc.is_static:
            tensor.bounded(desc)
        elif _awaits_shape(tensor):
            raise ModelOutputMismatch(
                f"{self._name} cannot be written to {tensor!r} yet: a run that is not over is to tell that tensor's "
                "shape; await that run first, or bring another tensor"
            )
        else:
            tensor.settle(desc.shape)
        tensor._space.epoch = Epoch()  # what is tied to the tensor's shape looks at it again

    def settle(self, desc: TensorDesc) -> None:
        """Give the tensor its exact shape, and memory where it has none.

        Raises:
            OutOfMemory: the device has no room.
        """
        tensor = self.tensor
        if self.room is None:
            tensor.adopt(allocate(tensor._space, desc.nbytes), desc.shape)
        elif tensor.desc.shape != desc.shape or tensor._array.shape != desc.shape:
            tensor.settle(desc.shape)

    def fill(self, desc: TensorDesc, made: Array) -> None:
        """Take over elements that the run made, and the exact shape.

        Raises:
            OutOfMemory: the device has no room.
        """
        self.settle(desc)
        np.copyto(self.tensor._array, made)


class LateRun:
    """The run of a model that looks its shapes up when it runs, and tells its results theirs.

    Outputs whose shape only the run tells are made by the engine, and copied to the device behind it.
    """

    __slots__ = ("_bindings", "_inputs", "_targets", "_variant", "_variants")

    def __init__(
        self,
        variants: Variants,
        bindings: Bindings,
        variant: Variant | None,
        inputs: Sequence[Tensor],
        targets: Sequence[Target],
    ) -> None:
        """Prepare the run, and tell its results what is known; ``variant`` is None while the inputs' shapes are not."""
        self._variants, self._bindings, self._variant = variants, bindings, variant
        self._inputs, self._targets = inputs, targets
        known = variants.late if variant is None else variant.outputs
        for target, desc in zip(targets, known, strict=True):
            target.check_room(desc)
        for target, desc in zip(targets, known, strict=True):
            target.expect(desc)

    def __call__(self, queued: Queued | None = None) -> None:
        """Run the model; ``queued`` is itself in a queue, if it is in one.

        Raises:
            ModelInputMismatch: the model was not converted for shapes that only the commands before told.
            ModelOutputMismatch: an output does not fit into the tensor brought for it, of which nothing was written.
            OutOfMemory: the device has no room for an output.
            AclError: what a run of the model raises.
        """
        variant = self._variant or self._found()
        pairs = list(zip(self._targets, variant.outputs, strict=True))
        for target, desc in pairs:
            target.check_room(desc)
        outputs = [self._written(target, desc, queued) if desc.is_static else None for target, desc in pairs]
        made = self._bindings.find(variant, self._inputs, outputs)()
        late = [target for target, desc in pairs if not desc.is_static]
        descs = [
            TensorDesc.of(target.tensor.desc.dtype, array.shape, target.tensor.desc.format)
            for target, array in zip(late, made, strict=True)
        ]
        for target, desc in zip(late, descs, strict=True):
            target.check_room(desc)
        if queued is None or queued.allocation is None:
            _fill(late, descs, made)
            return
        # As on a device, they lie in memory of the run's own until their sizes are known.
        sizes = [desc.nbytes for desc in (*descs, *self._variants.early(variant))]
        with queued.allocation.workspace(queued.stream, room_for(sizes)) as address:
            _fill(late, descs, staged(queued.allocation.memory, address, made))

    def _found(self) -> Variant:
        return self._variants.find(tuple([each.told_shape() for each in self._inputs]))

    @property
    def is_late(self) -> bool:
        """Whether a result's exact shape is known only behind the run."""
        return self._variant is None or not self._variant.is_exact

    def _written(self, target: Target, desc: TensorDesc, queued: Queued | None) -> Tensor:
        """Return the tensor for an output whose shape is known before the model runs."""
        tensor = target.tensor
        # Told at the submission already, unless another run has written the tensor since, with another shape; and if
        # a later one is to write it still, what it was told since then stays.
        producer = tensor._producer
        is_latest = queued is None or producer is None or producer._run is queued
        if target.room is None or self._variant is None or is_latest:
            target.settle(desc)
        return tensor


class Queued:
    """A late run in a queue. It knows the stream, whose allocator gives it memory; not the command, which holds it.

    Attributes:
        run: the run.
        stream: whose queue.
        allocation: the binding of the allocator that it draws on, if any.
    """

    __slots__ = ("allocation", "run", "stream")

    def __init__(self, run: LateRun, stream: StreamEngine, allocation: Allocation | None) -> None:
        self.run, self.stream, self.allocation = run, stream, allocation

    def __call__(self) -> None:
        """Run it, once; its completion may live on, and does not hold the allocator then."""
        try:
            self.run(self)
        finally:
            self.allocation = None


def _fill(targets: Sequence[Target], descs: Sequence[TensorDesc], made: Sequence[Array]) -> None:
    for target, desc, array in zip(targets, descs, made, strict=True):
        target.fill(desc, array)


def is_late(tensor: Tensor) -> bool:
    """Whether the exact shape is not known, or is that of a run before the one that is to write the tensor next."""
    return not tensor.desc.is_static or _awaits_shape(tensor)


def _awaits_shape(tensor: Tensor) -> bool:
    """Whether a run that is not over is to tell the exact shape."""
    producer = tensor._producer
    return (
        producer is not None and not producer.done() and isinstance(producer._run, Queued) and producer._run.run.is_late
    )
