"""Runs of a model, as work for a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, final

from aacl.models._late import LateRun, Queued, Target
from aacl.models._scratch import Drawing
from aacl.streams._work import Work
from aacl.tensors._tensor import empty, pending

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aacl.memory._space import DeviceMemory
    from aacl.models._model import Model
    from aacl.models._variant import Variant
    from aacl.streams._allocation import Allocation
    from aacl.streams._completion import Completion
    from aacl.streams._engine import StreamEngine
    from aacl.tensors._desc import TensorDesc
    from aacl.tensors._tensor import Tensor

    Out = tuple[Tensor | None, ...]

__all__ = ("ModelRun", "one_or_all")


@final
class ModelRun(Work[Any]):
    """A model with its inputs; calling a model makes one.

    ``await stream.execute(run)`` gives the output tensor, or a tuple of them.
    Without ``out`` every execution makes new outputs. With it the model is tied
    to the tensors' memory at the first execution, and runs again at the cost of
    the model alone.

    One run belongs to one thread at a time: two threads that execute the same
    one without ``out`` at once may get the same outputs. To call the model again
    is cheap.

    Attributes:
        model: the model.
        inputs: tensors, in the model's order.
    """

    __slots__ = ("_late", "_out", "_variant", "inputs", "model")

    frees_gil = True

    _late: LateRun | None

    def __init__(self, model: Model, inputs: tuple[Tensor, ...], out: Out | None, variant: Variant | None) -> None:
        """Hold tensors that were checked against the model; call the model instead.

        Args:
            model: the model.
            inputs: in its order.
            out: the tensors to write, None among them for new ones.
            variant: the model at the inputs' shapes; None while these are not known.
        """
        self._epoch, self._late = None, None
        self.model, self.inputs, self._out, self._variant = model, inputs, out, variant
        self._cost = model._variants.late_cost if variant is None else variant.cost

    def bind(self, memory: DeviceMemory) -> None:
        """Make outputs, unless they were given, and tie the model to the memory of all tensors."""
        epoch = memory.epoch  # read first: what is freed meanwhile makes it stale
        model, out, variant = self.model, self._out, self._variant
        model._check_runs_on(memory)
        for tensor in self.inputs if out is None else (*self.inputs, *out):
            if tensor is not None and tensor._lease is None:
                tensor.lease()
        # Without `out` it stays unbound: the next execution makes outputs of its own.
        self._epoch, self._late = None, None
        if variant is None or not variant.is_exact or not _is_complete(out, variant):
            self._bind_late(memory)
            return
        outputs = tuple([None if make is None else make() for make in variant.output_makers]) if out is None else out
        self._run = model._bindings.find(variant, self.inputs, outputs)
        self._result = one_or_all(outputs)
        if out is not None:
            self._epoch = epoch

    def _bind_late(self, memory: DeviceMemory) -> None:
        """Make a run that settles its outputs, because only the run tells, or because they have more room."""
        model, variant = self.model, self._variant
        descs = model._variants.late if variant is None else variant.outputs
        given: Out = self._out or (None,) * len(descs)
        targets = [
            Target(
                _new_output(memory, desc) if tensor is None else tensor,
                tensor.capacity if tensor is not None else desc.nbytes if desc.is_static else None,
                f"output {spec.name!r} of {model._label()}",
            )
            for tensor, desc, spec in zip(given, descs, model.outputs, strict=True)
        ]
        self._late = self._run = LateRun(model._variants, model._bindings, variant, self.inputs, targets)
        self._result = one_or_all(tuple([target.tensor for target in targets]))

    def reads(self) -> Iterable[Tensor]:
        return self.inputs

    def submitted(self, command: Completion[Any]) -> None:
        super().submitted(command)
        stream, allocation = command._stream, command._stream._allocation
        if allocation is not None and self.model.signature.gears is not None:
            allocation = None  # their largest gear says what they need
        if self._late is not None:
            command._run = Queued(self._late, stream, allocation)
        elif allocation is not None:
            self._draw(command, stream, allocation)
        self.model._uses.queue(command)

    def ended(self, command: Completion[Any]) -> None:
        self.model._uses.leave_queue(command)

    def _draw(self, command: Completion[Any], stream: StreamEngine, allocation: Allocation) -> None:
        """Let a run whose shapes are known, while those of the model are free, draw on the allocator, too."""
        assert self._variant is not None, "a run that knows no shapes is late"
        outputs = self.model._variants.early(self._variant)
        if outputs:
            command._run = Drawing(command._run, allocation, stream, outputs)

    def name(self) -> str:
        return self.model._label()

    def __await__(self) -> NoReturn:
        raise TypeError("a run needs a stream: use 'await stream.execute(model(...))', or 'await model.infer(...)'")

    def __repr__(self) -> str:
        return f"<ModelRun of {self.model._label()} on {list(self.inputs)}>"


def _is_complete(out: Out | None, variant: Variant) -> bool:
    """Whether a run that knows its shapes may write ``out`` as it is."""
    return out is None or all(
        tensor is not None and tensor.desc.shape == desc.shape
        for tensor, desc in zip(out, variant.outputs, strict=True)
    )


def _new_output(memory: DeviceMemory, desc: TensorDesc) -> Tensor:
    return empty(memory, desc) if desc.is_static else pending(memory, desc)


def one_or_all(things: tuple[Any, ...]) -> Any:
    """Return the thing itself where it is the only one."""
    return things[0] if len(things) == 1 else things
