"""Operations: an operator applied to tensors, as work for a stream."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, cast, final

import numpy as np

from aacl.errors import ClosedResource, InvalidArgument
from aacl.ops._catalogue import schema_of
from aacl.ops._operand import Operand, constants, spread
from aacl.ops._plan import infer, prepare
from aacl.streams._completion import Completion
from aacl.streams._work import Work
from aacl.tensors._tensor import Tensor

if TYPE_CHECKING:
    from aacl.memory._space import DeviceMemory
    from aacl.ops._plan import Plan
    from aacl.tensors._desc import TensorDesc

__all__ = ("Operation",)

HOST = -1
"""The device number of tensors on host memory."""

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

    __slots__ = ("_key", "_out", "attributes", "inputs", "op_type")

    inputs: tuple[Operand, ...]

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
            op_type: a type of the catalogue, such as ``"Add"``.
            inputs: tensors, completions of the commands that make them, host values (numbers, arrays),
                None for an absent optional input; a list of tensors is a dynamic input.
            attributes: by name; checked against the catalogue when the operation is first executed.
            out: the tensors to write, of the exact shape and dtype of the outputs.

        Raises:
            OperatorNotFound: the catalogue has no such operator, and a host value is among the inputs.
            InvalidArgument: an input, an attribute or ``out`` is nothing of the above.
        """
        self._epoch = None
        self.op_type = op_type
        self.attributes = _NO_ATTRIBUTES if not attributes else _owned(op_type, attributes)
        self.inputs = _operands(op_type, inputs)
        self._out = None if out is None else _targets(op_type, out)
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
                self._check_place(each, memory)
        key = (self.op_type, self._key, *descs)
        plan: Plan | None = memory.plans.get(key)
        if plan is None:
            make = partial(prepare, memory, self.op_type, tuple(descs), self.attributes)
            plan = cast("Plan", memory.plan(key, make))
        if self._out is not None:
            self._bind_out(plan, self._out, arrays, memory)
            return
        # Without `out` it stays unbound: the next execution makes outputs of its own.
        if plan.only_maker is not None:
            result = self._result = plan.only_maker()
            self._run = partial(plan.body, *arrays, result._array)
        else:
            results = self._result = tuple([make() for make in plan.makers])
            self._run = partial(plan.body, *arrays, *[tensor._array for tensor in results])
        self._cost = plan.cost

    def _bind_out(self, plan: Plan, out: tuple[Tensor, ...], arrays: list[Any], memory: DeviceMemory) -> None:
        epoch = memory.epoch  # read first: what is freed meanwhile makes it stale
        shared = self._check_out(plan.outputs, out, memory)
        body = plan.body if plan.in_place or not shared else partial(_apart, plan.body, shared)
        self._run = partial(body, *arrays, *[tensor._array for tensor in out])
        self._result = out[0] if len(out) == 1 else out
        self._cost, self._epoch = plan.cost, epoch

    def infer(self) -> tuple[TensorDesc, ...]:
        """Return what is known of the outputs before a run: -1 dims with ranges where values decide.

        Raises:
            AclError: inputs or attributes do not fit the operator, or each other.
        """
        return infer(self.op_type, [None if each is None else each.desc for each in self.inputs], self.attributes)

    def reads(self) -> Iterable[Tensor]:
        return [each for each in self.inputs if isinstance(each, Tensor)]

    def name(self) -> str:
        return self.op_type

    def fault(self) -> BaseException | None:
        for each in self.inputs:
            if each is not None and each._fault is not None:
                return each._fault
        return None

    def _check_place(self, tensor: Operand, memory: DeviceMemory) -> None:
        """Check a tensor that is not plainly in fresh memory of this device."""
        if not isinstance(tensor, Tensor):
            return
        tensor.lease()
        if tensor.device_index == memory.index and tensor._space.backend is not memory.backend:
            raise ClosedResource(f"cannot use {tensor!r}; its device was closed since, and opened again without it")
        if tensor.device_index not in (memory.index, HOST):
            raise InvalidArgument(
                f"operator {self.op_type}: {tensor!r} is not on device {memory.index}, whose stream should "
                "execute it; copy it there with stream.copy"
            )

    def _check_out(
        self, descs: tuple[TensorDesc, ...], out: tuple[Tensor, ...], memory: DeviceMemory
    ) -> tuple[int, ...]:
        """Check the tensors to write; return which inputs lie exactly where one of them does."""
        if len(out) != len(descs):
            raise InvalidArgument(f"operator {self.op_type} has {len(descs)} outputs; {len(out)} were given to write")
        for desc, tensor in zip(descs, out, strict=True):
            self._check_place(tensor, memory)
            tensor.check_writable()
            if tensor.shape != desc.shape or tensor.dtype is not desc.dtype:
                raise InvalidArgument(
                    f"operator {self.op_type} gives {desc.dtype.name} of shape {desc.shape}; "
                    f"out is {tensor.dtype.name} of shape {tensor.shape}"
                )
            if tensor.device_index == HOST:
                tensor.buffer.check_writable(tensor._offset, tensor.nbytes)
        self._check_outputs_apart(out)
        return tuple([place for place, read in enumerate(self.inputs) if self._is_shared(read, out)])

    def _check_outputs_apart(self, out: tuple[Tensor, ...]) -> None:
        ends = 0
        for tensor in sorted(out, key=lambda each: each.address):
            if tensor.address < ends:
                raise InvalidArgument(f"operator {self.op_type} would write two of its outputs over each other: {out}")
            ends = tensor.address + tensor.nbytes

    def _is_shared(self, read: Operand, out: tuple[Tensor, ...]) -> bool:
        """Whether an input is the memory of an output; it may not be a part of one."""
        if not isinstance(read, Tensor):
            return False
        for written in out:
            if read.address + read.nbytes <= written.address or written.address + written.nbytes <= read.address:
                continue
            if read.address != written.address or read.nbytes != written.nbytes:
                raise InvalidArgument(
                    f"operator {self.op_type} would write {written!r} over a part of its input {read!r}; "
                    "use memory that is apart, or the same"
                )
            return True
        return False

    def __await__(self) -> NoReturn:
        raise TypeError(f"an operation needs a stream: use 'await stream.execute(...)', not 'await' {self.op_type}")

    def __repr__(self) -> str:
        return f"<Operation {self.op_type} of {list(self.inputs)}>"


def _apart(body: Callable[..., object], shared: tuple[int, ...], *arrays: Any) -> None:
    """Run a kernel with copies of the inputs that lie where it writes: it may write before it has read."""
    apart = list(arrays)
    for place in shared:
        apart[place] = arrays[place].copy()
    body(*apart)


def _owned(op_type: str, attributes: Mapping[str, object]) -> dict[str, object]:
    """Return attributes that the program cannot change any more.

    Raises:
        InvalidArgument: they are not by name.
    """
    if not isinstance(attributes, Mapping) or not all(isinstance(name, str) for name in attributes):
        raise InvalidArgument(f"operator {op_type}: attributes are a dict by name, not {attributes!r}")
    return {name: _own(each) for name, each in attributes.items()}


def _targets(op_type: str, out: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return the tensors to write.

    Raises:
        InvalidArgument: something else is among them.
    """
    tensors = (out,) if isinstance(out, Tensor) or not isinstance(out, Sequence) else tuple(out)
    for each in tensors:
        if not isinstance(each, Tensor):
            raise InvalidArgument(
                f"operator {op_type}: out takes tensors to write, such as aacl.empty(...), not {each!r}"
            )
    return tensors


def _operands(op_type: str, inputs: Sequence[object]) -> tuple[Operand, ...]:
    if not isinstance(inputs, (tuple, list)):
        raise InvalidArgument(f"operator {op_type}: inputs are a list, not {inputs!r}")
    for given in inputs:
        if type(given) is not Tensor:
            break
    else:
        return tuple(inputs)
    flat = [given.output if isinstance(given, Completion) else given for given in spread(inputs)]
    return tuple(constants(schema_of(op_type), flat))


def _own(value: object) -> object:
    """Return an attribute value that the program cannot change any more."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    return tuple([_own(each) for each in value]) if isinstance(value, (list, tuple)) else value


def attribute_key(value: object) -> Hashable:
    """Return what plans are looked up by: equal for attributes that mean the same, and for them alone.

    Raises:
        InvalidArgument: a value is nothing that an attribute can be.
    """
    if isinstance(value, Mapping):
        return tuple([(name, attribute_key(each)) for name, each in value.items()])
    if isinstance(value, tuple):
        return tuple([attribute_key(each) for each in value])
    if isinstance(value, float):
        return (float, value.hex())  # 0.0 equals -0.0, and no NaN equals another
    if not isinstance(value, Hashable):
        raise InvalidArgument(
            f"{value!r} cannot be an attribute; pass a bool, number, string, DataType or list of them"
        )
    return (type(value), value)
