"""The tensors that a program brings for an operation to write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from aacl.errors import InvalidArgument
from aacl.memory._space import Epoch
from aacl.ops._exact import run_exactly
from aacl.ops._operand import HOST, check_place
from aacl.ops._overlap import run_apart, updating
from aacl.tensors._tensor import Tensor

if TYPE_CHECKING:
    from aacl.memory._space import DeviceMemory
    from aacl.ops._operand import Operand
    from aacl.ops._plan import Plan
    from aacl.tensors._desc import TensorDesc

__all__ = ("Targets",)


class Targets:
    """What ``out`` is: tensors that a program brought.

    Where values decide a shape, a tensor needs the bytes of the largest one. While such a run is queued only the
    bounds of the shape are known, and after it the exact one. The memory stays what it was.

    Attributes:
        tensors: what was brought.
        descs: as they were described when they were brought.
    """

    __slots__ = ("_bounds", "_op_type", "descs", "tensors")

    def __init__(self, op_type: str, out: Tensor | Sequence[Tensor]) -> None:
        """Take over what was given as ``out``.

        Raises:
            InvalidArgument: something that is no tensor is among it.
        """
        self._op_type = op_type
        self._bounds: tuple[TensorDesc, ...] | None = None
        self.tensors = (out,) if isinstance(out, Tensor) or not isinstance(out, Sequence) else tuple(out)
        for each in self.tensors:
            if not isinstance(each, Tensor):
                raise InvalidArgument(
                    f"operator {op_type}: out takes tensors to write, such as aacl.empty(...), not {each!r}"
                )
        self.descs = tuple([each.desc for each in self.tensors])

    def run(
        self, plan: Plan, inputs: tuple[Operand, ...], arrays: list[Any], memory: DeviceMemory
    ) -> Callable[[], object]:
        """Return the run of a plan that writes these tensors.

        Raises:
            ClosedResource: one of them was freed.
            InvalidArgument: their number, shapes, dtypes or places do not fit.
        """
        self._check(plan, memory)
        self._bounds = plan.bounds
        shared = tuple([place for place, read in enumerate(inputs) if self._covers(read)])
        body = updating(self._op_type, plan, inputs, shared) if plan.updates else run_apart(plan, shared)
        if plan.bounds is None:
            return partial(body, *arrays, *[tensor._array for tensor in self.tensors])
        largest = [
            memory.backend.view(tensor.address, desc.shape, desc.dtype.numpy_dtype)
            for tensor, desc in zip(self.tensors, plan.outputs, strict=True)
        ]
        return partial(run_exactly, body, self.tensors, *arrays, *largest)

    def expect(self) -> None:
        """Take notice of a run that was queued: until it is over its shapes are open, where values decide them."""
        for tensor, bounds in zip(self.tensors, self._bounds or (), strict=self._bounds is not None):
            if not bounds.is_static:
                tensor.bounded(bounds)
                tensor._space.epoch = Epoch()  # what is tied to the tensor's shape looks at it again

    def _check(self, plan: Plan, memory: DeviceMemory) -> None:
        if len(self.tensors) != len(plan.outputs):
            raise InvalidArgument(
                f"operator {self._op_type} has {len(plan.outputs)} outputs; {len(self.tensors)} were given to write"
            )
        for index, tensor in enumerate(self.tensors):
            check_place(self._op_type, tensor, memory)
            self._check_one(plan, index, tensor)
            if tensor.device_index == HOST:
                tensor.buffer.check_writable(tensor._offset, tensor.capacity)
        self._check_apart()

    def _check_one(self, plan: Plan, index: int, brought: Tensor) -> None:
        wanted, is_bounded = plan.outputs[index], plan.bounds is not None and not plan.bounds[index].is_static
        if is_bounded and brought.capacity < wanted.nbytes:
            raise InvalidArgument(
                f"operator {self._op_type}: output {index} takes up to {wanted.nbytes} bytes ({wanted.dtype.name} of "
                f"shape {wanted.shape}); out has {brought.capacity}, of shape {brought.shape}"
            )
        if not is_bounded:
            brought.check_settled()
        if brought.dtype is not wanted.dtype or (not is_bounded and brought.shape != wanted.shape):
            raise InvalidArgument(
                f"operator {self._op_type} gives {wanted.dtype.name} of shape {wanted.shape}; "
                f"out is {brought.dtype.name} of shape {brought.shape}"
            )

    def _check_apart(self) -> None:
        ends = 0
        for address, nbytes in sorted(self._spans()):
            if address < ends:
                raise InvalidArgument(
                    f"operator {self._op_type} would write two of its outputs over each other: {self.tensors}"
                )
            ends = address + nbytes

    def _spans(self) -> list[tuple[int, int]]:
        return [(tensor.address, tensor.capacity) for tensor in self.tensors]

    def _covers(self, read: Operand) -> bool:
        """Whether an input is the memory of an output; it may not be a part of one."""
        if not isinstance(read, Tensor):
            return False
        for written, (address, nbytes) in zip(self.tensors, self._spans(), strict=True):
            if read.address + read.nbytes <= address or address + nbytes <= read.address:
                continue
            if read is not written and (read.address != address or read.nbytes != nbytes):
                raise InvalidArgument(
                    f"operator {self._op_type} would write {written!r} over a part of its input {read!r}; "
                    "use memory that is apart, or the same"
                )
            return True
        return False
