"""What a model is called with, checked against its signature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.errors import InvalidArgument, ModelInputMismatch, ModelOutputMismatch
from aacl.streams._completion import Completion
from aacl.tensors._desc import TensorDesc
from aacl.tensors._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aacl.abc import Array
    from aacl.memory._space import DeviceMemory
    from aacl.models._signature import ModelSignature, TensorSpec

__all__ = ("Arguments",)

_HOST = -1
"""The device number of tensors on host memory."""


class Arguments:
    """The places for a model's inputs and outputs.

    Attributes:
        inputs: a description each, in the model's order.
        outputs: a description each, in the model's order.
    """

    __slots__ = ("_label", "_memory", "_names", "_signature", "inputs", "outputs")

    def __init__(self, signature: ModelSignature, label: str, memory: DeviceMemory) -> None:
        self._signature, self._label, self._memory = signature, label, memory
        self._names = tuple(spec.name for spec in signature.inputs)
        self.inputs = tuple(_desc(spec) for spec in signature.inputs)
        self.outputs = tuple(_desc(spec) for spec in signature.outputs)

    def tensors(self, given: tuple[Any, ...], named: Mapping[str, object]) -> tuple[Tensor, ...]:
        """Return the input tensors in order; completions stand for what their commands make.

        Raises:
            ModelInputMismatch: one is missing, too many, of another dtype or shape, no tensor, or not on the device.
        """
        if named or len(given) != len(self._names):
            given = self._in_order(given, named)
        memory = self._memory
        for tensor, wanted in zip(given, self.inputs, strict=True):
            if type(tensor) is not Tensor or tensor._space is not memory:
                break
            desc = tensor.desc
            if desc is not wanted and (desc.shape != wanted.shape or desc.dtype is not wanted.dtype):
                break
        else:
            return given
        return tuple([self._checked_input(index, each) for index, each in enumerate(given)])

    def results(self, out: Tensor | Sequence[Tensor], inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Return the output tensors given, in order.

        Raises:
            ModelOutputMismatch: one is missing, too many, of another dtype or shape, no tensor, or not on the
                device; or its memory is also an input's or another output's.
        """
        specs = self._signature.outputs
        tensors = (out,) if isinstance(out, Tensor) else tuple(out)
        if len(tensors) != len(specs):
            raise ModelOutputMismatch(
                f"{self._label} has {len(specs)} outputs ({_listed(specs)}); {len(tensors)} were given to write"
            )
        taken = list(inputs)
        for index, (desc, tensor) in enumerate(zip(self.outputs, tensors, strict=True)):
            if not isinstance(tensor, Tensor) or tensor.shape != desc.shape or tensor.dtype is not desc.dtype:
                raise ModelOutputMismatch(self._wrong("output", index, specs[index], tensor))
            self._check_place(f"output {index} ({specs[index].name!r})", tensor, ModelOutputMismatch)
            self._check_apart(index, tensor, taken)
            taken.append(tensor)
        return tensors

    def arrays(self, given: tuple[Any, ...], named: Mapping[str, object]) -> list[Array]:
        """Return host arrays in order; plain numbers and lists get the dtype of their place.

        Raises:
            ModelInputMismatch: one is missing, too many, no array, or of another dtype or shape.
        """
        if named or len(given) != len(self._names):
            given = self._in_order(given, named)
        return [self._array(index, each) for index, each in enumerate(given)]

    def _in_order(self, given: tuple[Any, ...], named: Mapping[str, object]) -> tuple[Any, ...]:
        """Return what was given by order and by name in the model's order."""
        left = dict(named)
        placed = list(given)
        placed += [left.pop(name) for name in self._names[len(given) :] if name in left]
        for name in left:
            why = "was given by order too" if name in self._names else "is none of them"
            raise ModelInputMismatch(f"{self._label} takes {_listed(self._signature.inputs)}; {name!r} {why}")
        if len(placed) != len(self._names):
            missing = [name for name in self._names[len(given) :] if name not in named]
            lacking = f", {', '.join(map(repr, missing))} missing" if missing else ""
            raise ModelInputMismatch(
                f"{self._label} takes {len(self._names)} inputs ({_listed(self._signature.inputs)}); "
                f"{len(placed)} were given{lacking}"
            )
        return tuple(placed)

    def _checked_input(self, index: int, given: object) -> Tensor:
        tensor, wanted = self._tensor(index, given), self.inputs[index]
        if tensor.shape != wanted.shape or tensor.dtype is not wanted.dtype:
            raise ModelInputMismatch(self._wrong("input", index, self._signature.inputs[index], tensor))
        self._check_place(f"input {index} ({self._names[index]!r})", tensor, ModelInputMismatch)
        return tensor

    def _tensor(self, index: int, given: object) -> Tensor:
        place = f"input {index} ({self._names[index]!r}) of {self._label}"
        if isinstance(given, Tensor):
            return given
        if isinstance(given, Completion):
            try:
                return given.output
            except AttributeError as error:
                raise ModelInputMismatch(f"{place} is a tensor, or the completion that makes one: {error}") from None
        raise ModelInputMismatch(
            f"{place} is a tensor, not a {type(given).__name__}; copy a host array there first "
            "(await stream.to_device(array)), or pass host arrays to 'await model.infer(...)'"
        )

    def _array(self, index: int, given: object) -> Array:
        spec = self._signature.inputs[index]
        if isinstance(given, (Tensor, Completion)):
            raise ModelInputMismatch(
                f"infer() of {self._label} takes host arrays; input {index} ({spec.name!r}) is a "
                f"{type(given).__name__}: pass device tensors to 'stream.execute(model(...))'"
            )
        try:
            array = np.asarray(given)
            if not isinstance(given, (np.ndarray, np.generic)) and not hasattr(given, "__array__"):
                array = array.astype(spec.dtype.numpy_dtype)
        except (TypeError, ValueError, OverflowError) as error:
            raise ModelInputMismatch(
                f"input {index} ({spec.name!r}) of {self._label} is no array of {spec.dtype.name}: {error}"
            ) from None
        if array.shape != spec.shape or array.dtype != spec.dtype.numpy_dtype:
            raise ModelInputMismatch(self._wrong("input", index, spec, array))
        return array

    def _check_place(self, place: str, tensor: Tensor, mismatch: type[InvalidArgument]) -> None:
        if tensor.device_index not in (self._memory.index, _HOST):
            raise mismatch(
                f"{place} of {self._label} is on device {tensor.device_index}; copy it to device {self._memory.index} "
                "with stream.copy"
            )

    def _check_apart(self, index: int, written: Tensor, others: Sequence[Tensor]) -> None:
        """Refuse memory that is also read, or written twice: a model reads inputs after it wrote outputs."""
        start, end = written.address, written.address + written.nbytes
        for other in others:
            if start < other.address + other.nbytes and other.address < end:
                raise ModelOutputMismatch(
                    f"{self._label} would write output {index} ({self._signature.outputs[index].name!r}) over "
                    f"{other!r}, which it uses too; give each input and output memory of its own"
                )

    def _wrong(self, role: str, index: int, spec: TensorSpec, given: Any) -> str:
        found = (
            f"{_dtype_name(given.dtype)} of shape {list(given.shape)} ({given.nbytes} bytes)"
            if hasattr(given, "nbytes")
            else f"a {type(given).__name__}"
        )
        return (
            f"{role} {index} ({spec.name!r}) of {self._label} is {spec.dtype.name} of shape {list(spec.shape)} "
            f"({spec.nbytes} bytes); {found} was given"
        )


def _desc(spec: TensorSpec) -> TensorDesc:
    return TensorDesc.of(spec.dtype, spec.shape, spec.format, ranges=spec.ranges)


def _listed(specs: Sequence[TensorSpec]) -> str:
    return ", ".join(f"{spec.name} {spec.dtype.name} {list(spec.shape)}" for spec in specs) or "none"


def _dtype_name(dtype: Any) -> str:
    return getattr(dtype, "name", str(dtype))
