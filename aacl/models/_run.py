"""Runs of a model, as work for a stream."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np

from aacl.streams._work import Work

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from aacl.abc import Array
    from aacl.memory._space import DeviceMemory
    from aacl.models._binding import Binding
    from aacl.models._model import Model
    from aacl.streams._completion import Completion
    from aacl.tensors._tensor import Tensor

__all__ = ("Inference", "ModelRun")


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

    __slots__ = ("_out", "inputs", "model")

    def __init__(self, model: Model, inputs: tuple[Tensor, ...], out: tuple[Tensor, ...] | None) -> None:
        """Hold tensors that were checked against the model; call the model instead."""
        self._epoch = None
        self.model, self.inputs, self._out = model, inputs, out
        self._cost = model._cost

    def bind(self, memory: DeviceMemory) -> None:
        """Make outputs, unless they were given, and tie the model to the memory of all tensors."""
        epoch = memory.epoch  # read first: what is freed meanwhile makes it stale
        model, out = self.model, self._out
        model._check_runs_on(memory)
        outputs = tuple([make() for make in model._output_makers]) if out is None else out
        for tensor in self.inputs if out is None else (*self.inputs, *out):
            if tensor._lease is None:
                tensor.lease()
        self._run = model._bindings.find(self.inputs, outputs)
        self._result = _one_or_all(outputs)
        # Without `out` it stays unbound: the next execution makes outputs of its own.
        self._epoch = None if out is None else epoch

    def reads(self) -> Iterable[Tensor]:
        return self.inputs

    def submitted(self, command: Completion[Any]) -> None:
        super().submitted(command)
        self.model._uses.queue(command)

    def name(self) -> str:
        return self.model._label()

    def __await__(self) -> NoReturn:
        raise TypeError("a run needs a stream: use 'await stream.execute(model(...))', or 'await model.infer(...)'")

    def __repr__(self) -> str:
        return f"<ModelRun of {self.model._label()} on {list(self.inputs)}>"


@final
class Inference(Work[Any]):
    """One run from host arrays to new host arrays, with device memory of its own. Used once."""

    __slots__ = ("_arrays", "_model")

    def __init__(self, model: Model, arrays: Sequence[Array]) -> None:
        """Hold arrays that were checked against the model; they are read when the run begins."""
        super().__init__()
        self._model, self._arrays = model, arrays
        self._cost = model._inference_cost

    def bind(self, memory: DeviceMemory) -> None:
        """Make the tensors and the resulting arrays."""
        model = self._model
        model._check_runs_on(memory)
        inputs = tuple([make() for make in model._input_makers])
        outputs = tuple([make() for make in model._output_makers])
        results = tuple([np.empty(each.shape, each.dtype.numpy_dtype) for each in outputs])
        binding = model._bindings.find(inputs, outputs)
        self._run = partial(_infer, binding, self._arrays, inputs, outputs, results)
        self._result = _one_or_all(results)

    def submitted(self, command: Completion[Any]) -> None:
        self._model._uses.queue(command)

    def name(self) -> str:
        return self._model._label()


def _infer(
    binding: Binding,
    arrays: Sequence[Array],
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    results: Sequence[Array],
) -> None:
    for tensor, array in zip(inputs, arrays, strict=True):
        np.copyto(tensor._array, array)
    binding()
    for array, tensor in zip(results, outputs, strict=True):
        np.copyto(array, tensor._array)


def _one_or_all(things: tuple[Any, ...]) -> Any:
    return things[0] if len(things) == 1 else things
