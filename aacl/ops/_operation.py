"""Operations: an operator applied to tensors, as work for a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, cast, final

import numpy as np

from aacl.errors import InvalidArgument
from aacl.ops._attribute import attribute_key
from aacl.ops._catalogue import schema_of
from aacl.ops._exact import run_exactly, run_late
from aacl.ops._operand import Operand, check_place, constants, own_constants, spread
from aacl.ops._overlap import updated, updating
from aacl.ops._plan import infer, prepare
from aacl.ops._registry import registered
from aacl.ops._targets import Targets
from aacl.streams._completion import Completion
from aacl.streams._work import Work
from aacl.tensors._tensor import Tensor

if TYPE_CHECKING:
    from aacl.devices._device import Device
    from aacl.memory._space import DeviceMemory
    from aacl.ops._plan import Plan
    from aacl.tensors._desc import TensorDesc

__all__ = ("Operation",)

_NO_ATTRIBUTES: dict[str, object] = {}


@final
class Operation(Work[Any]):
    """An operator with its inputs and attributes.

    ``await stream.execute(operation)`` gives the output tensor, or a tuple of
    them. Without ``out`` every execution makes new outputs. With it the
    operation is prepared at its first execution, and runs again at the cost of
    the kernel alone.

    One operation belongs to one thread at a time: two threads that execute the
    same one without ``out`` at once may get the same output. To make another one
    is cheap.

    Attributes:
        op_type: the operator's name in the catalogue.
        inputs: in the schema's order; None where an optional input is absent.
        attributes: as they were given.
    """

    __slots__ = ("_key", "_out", "_updates", "attributes", "inputs", "op_type")

    is_timed = True

    inputs: tuple[Operand, ...]
    _updates: tuple[Tensor, ...]

    def __init__(
        self,
        op_type: str,
        inputs: Sequence[object] = (),
        attributes: Mapping[str, object] | None = None,
        *,
        out: Tensor | Sequence[Tensor] | None = None,
    ) -> None:
        """Apply an operator.

        Args:
            op_type: a type of the catalogue, such as ``"Add"``, or one of `register_operator`.
            inputs: tensors, completions of the commands that make them, host values (numbers, arrays),
                None for an absent optional input; a list of tensors is a dynamic input.
            attributes: by name; checked against the catalogue when the operation is first executed.
            out: the tensors to write, of the exact shape and dtype of the outputs. Where values decide a
                shape: tensors with the bytes of the largest one, which have the exact shape after each run.

        Raises:
            OperatorNotFound: the catalogue has no such operator, and a host value is among the inputs.
            InvalidArgument: an input, an attribute or ``out`` is nothing of the above.
        """
        self._epoch, self._updates = None, ()
        self.op_type = op_type
        self.attributes = _NO_ATTRIBUTES if not attributes else _owned(op_type, attributes)
        self.inputs = _operands(op_type, inputs)
        self._out = None if out is None else Targets(op_type, out)
        self._key = attribute_key(self.attributes) if attributes else None

    def bind(self, memory: DeviceMemory) -> None:
        """Find the plan, and make the call of its kernel with these tensors' memory."""
        # Every new operation comes through here: one pass over the inputs, and no calls but those needed.
        descs: list[TensorDesc | None] = []
        arrays: list[Any] = []
        for each in self.inputs:
            if each is None:
                descs.append(None)
                arrays.append(None)
                continue
            descs.append(each.desc)
            arrays.append(each._array)
            if each._lease is None or each._space is not memory:
                check_place(self.op_type, each, memory)
        if self._out is not None:
            self._bind_out(self._out, tuple(descs), arrays, memory)
            return
        key = (self.op_type, self._key, *descs)
        plan: Plan | None = memory.plans.get(key)
        if plan is None:
            plan = self._plan(memory, tuple(descs))
        # Without `out` it stays unbound: the next execution makes outputs of its own.
        if plan.only_maker is not None:
            result = self._result = plan.only_maker()
            self._run = partial(plan.body, *arrays, result._array)
        else:
            results = tuple([make() for make in plan.makers])
            self._run = self._run_into(results, plan, arrays, memory)
            self._result = results[0] if len(results) == 1 else results
        self._cost = plan.cost

    def _plan(self, memory: DeviceMemory, descs: tuple[TensorDesc | None, ...], out: Any = None) -> Plan:
        key = (self.op_type, self._key, *descs) if out is None else (self.op_type, self._key, *descs, out)
        plan = memory.plans.get(key)
        if plan is not None:
            return cast("Plan", plan)
        make = partial(prepare, memory, self.op_type, descs, self.attributes, out)
        return cast("Plan", memory.plan(key, make))

    def _run_into(
        self, results: tuple[Tensor, ...], plan: Plan, arrays: list[Any], memory: DeviceMemory
    ) -> Callable[[], object]:
        """Return the run of a plan with these outputs, which learn their shapes from it where values decide."""
        if plan.bounds is not None:
            for tensor, bounds in zip(results, plan.bounds, strict=True):
                tensor.bounded(bounds)
        if plan.is_late:
            return partial(run_late, partial(self._plan, memory), self.inputs, results)
        body = plan.body
        if plan.updates:
            body = updating(self.op_type, plan, self.inputs)
            self._updates = updated(self.op_type, self.inputs, plan.updates)
        targets = [tensor._array for tensor in results]
        if plan.bounds is None:
            return partial(body, *arrays, *targets)
        return partial(run_exactly, body, results, *arrays, *targets)

    def _bind_out(
        self, out: Targets, descs: tuple[TensorDesc | None, ...], arrays: list[Any], memory: DeviceMemory
    ) -> None:
        epoch = memory.epoch  # read first: what is freed meanwhile makes it stale
        for each in self.reads():
            each.check_settled()
        plan = self._plan(memory, descs, out.descs)
        if plan.updates:
            self._updates = updated(self.op_type, self.inputs, plan.updates)
        self._run = out.run(plan, self.inputs, arrays, memory)
        self._result = out.tensors[0] if len(out.tensors) == 1 else out.tensors
        self._cost, self._epoch = plan.cost, epoch

    def infer(self) -> tuple[TensorDesc, ...]:
        """Return what is known of the outputs before a run: -1 dims with ranges where values decide.

        Raises:
            AclError: inputs or attributes do not fit the operator, or each other.
        """
        return infer(self.op_type, [None if each is None else each.desc for each in self.inputs], self.attributes)

    def updates(self, device: Device) -> tuple[int, ...]:
        """Return the positions of the inputs that it also writes on a device, such as an optimizer's slots.

        Raises:
            AclError: the operation cannot run there.
        """
        device._check_open("prepare work for")
        descs = tuple([None if each is None else each.desc for each in self.inputs])
        return self._plan(device._shared.memory, descs, None if self._out is None else self._out.descs).updates

    def reads(self) -> Iterable[Tensor]:
        return [each for each in self.inputs if isinstance(each, Tensor)]

    def submitted(self, command: Completion[Any]) -> None:
        super().submitted(command)
        if self._out is not None:
            self._out.expect()

    def name(self) -> str:
        return self.op_type

    def fault(self) -> BaseException | None:
        for each in self.inputs:
            if each is not None and each._fault is not None:
                return each._fault
        return None

    def __await__(self) -> NoReturn:
        raise TypeError(f"an operation needs a stream: use 'await stream.execute(...)', not 'await' {self.op_type}")

    def __repr__(self) -> str:
        return f"<Operation {self.op_type} of {list(self.inputs)}>"


def _owned(op_type: str, attributes: Mapping[str, object]) -> dict[str, object]:
    """Return attributes that the program cannot change any more.

    Raises:
        InvalidArgument: they are not by name.
    """
    if not isinstance(attributes, Mapping) or not all(isinstance(name, str) for name in attributes):
        raise InvalidArgument(f"operator {op_type}: attributes are a dict by name, not {attributes!r}")
    return {name: _own(each) for name, each in attributes.items()}


def _operands(op_type: str, inputs: Sequence[object]) -> tuple[Operand, ...]:
    if not isinstance(inputs, (tuple, list)):
        raise InvalidArgument(f"operator {op_type}: inputs are a list, not {inputs!r}")
    for given in inputs:
        if type(given) is not Tensor:
            break
    else:
        return tuple(inputs)
    flat = [given.output if isinstance(given, Completion) else given for given in spread(inputs)]
    if registered(op_type) is not None:
        return tuple(own_constants(op_type, flat))
    return tuple(constants(schema_of(op_type), flat))


def _own(value: object) -> object:
    """Return an attribute value that the program cannot change any more."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    return tuple([_own(each) for each in value]) if isinstance(value, (list, tuple)) else value
