"""Models applied to what other models make: ``model_b(model_a(x))``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, final

from aacl.errors import ModelInputMismatch
from aacl.models._run import ModelRun
from aacl.models._shapes import described, fits
from aacl.streams._state import DONE
from aacl.streams._waiting import DoneCallback
from aacl.streams._work import Composite

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aacl.models._model import Model
    from aacl.streams._completion import Completion
    from aacl.streams._engine import StreamEngine

__all__ = ("ModelChain", "is_chain")


@final
class ModelChain(Composite[Any]):
    """A model whose inputs are runs of models; calling a model with such makes one.

    ``await stream.execute(chain)`` gives the last model's outputs. Every run of it is a command of its own,
    and hands its output, which stays on the device, to the next. A run that stands for an input twice runs twice.

    Attributes:
        model: the last model.
        inputs: what it was called with, in the model's order.
    """

    __slots__ = ("_out", "inputs", "model")

    def __init__(self, model: Model, inputs: tuple[Any, ...], named: Mapping[str, Any], out: Any) -> None:
        """Check what is known of the inputs; call the model instead.

        Raises:
            ModelInputMismatch: an input is missing or too many, or a run makes several outputs, or none that the model
                takes in that place.
        """
        self.model, self.inputs, self._out = model, model._arguments.in_order(inputs, named), out
        for index, each in enumerate(self.inputs):
            if _makes(each):
                _check(model, index, each.model)

    def submit_to(self, stream: StreamEngine) -> Completion[Any]:
        """Submit the runs that make the inputs, then this one."""
        inputs = [stream.execute(each) if _makes(each) else each for each in self.inputs]
        command = stream.execute(self.model(*inputs, out=self._out))
        if command._state != DONE:
            made = [each for each, given in zip(inputs, self.inputs, strict=True) if each is not given]
            command._add_callback(DoneCallback(partial(_take_over, stream, made)))
        return command

    def name(self) -> str:
        return self.model._label()

    def __await__(self) -> NoReturn:
        raise TypeError("a chain of models needs a stream: use 'await stream.execute(...)'")

    def __repr__(self) -> str:
        return f"<ModelChain of {self.model._label()} on {list(self.inputs)}>"


def _take_over(stream: StreamEngine, made: Sequence[Completion[Any]], command: Completion[Any]) -> None:
    """Let a command stand for those before it, which nobody has but the chain, where it fails with an error of theirs.

    Who receives that from it has received it; and if nobody does, it surfaces once.
    """
    error = command.failure
    failed = [each for each in made if error is not None and each.failure is error and not each._received]
    if failed:
        stream._queue.failures.append(command)  # first: an interrupt may end this anywhere
    for each in failed:
        each._received = True


def is_chain(inputs: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    """Whether a model is called with runs of models."""
    return any(map(_makes, (*inputs, *named.values())))


def _makes(thing: object) -> bool:
    return isinstance(thing, (ModelRun, ModelChain))


def _check(model: Model, index: int, maker: Model) -> None:
    spec, made = model.inputs[index], maker._variants.late
    place = f"input {index} ({spec.name!r}) of {model._label()}"
    if len(made) != 1:
        raise ModelInputMismatch(
            f"{place} is one tensor, and {maker._label()} makes {len(made)}; execute that first, and pass one of the "
            "completion's outputs"
        ) from None
    if made[0].dtype is not spec.dtype or not fits(spec, made[0].shape):
        raise ModelInputMismatch(
            f"{place} is {spec.dtype.name} of {described(spec, model.gears)}; {maker._label()} makes "
            f"{made[0].dtype.name} of shape {list(made[0].shape)}"
        ) from None
