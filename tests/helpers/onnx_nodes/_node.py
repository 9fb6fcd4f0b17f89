"""An ONNX node that is being run, operator by operator."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

import aacl
from aacl.abc import Array
from aacl.ops import schema_of
from tests.helpers.onnx_nodes._cases import Case
from tests.helpers.onnx_nodes._mapping import NotMapped

__all__ = ("Node",)


class Node:
    """The inputs and attributes of a node, and the stream on which its operators run.

    Attributes:
        case: where it comes from.
        opset: the version of the operator set.
        steps: the operator types that have run for it, in order.
        epsilon: that of the coarsest floating point type on the way.
    """

    def __init__(self, case: Case, stream: aacl.blocking.Stream) -> None:
        self.case = case
        self.opset = case.opset
        self.steps: list[str] = []
        self.epsilon = 0.0
        self._stream = stream
        self._tensors: dict[int, aacl.Tensor] = {}

    def has(self, index: int) -> bool:
        """Whether the node has an input."""
        return index < len(self.case.inputs) and self.case.inputs[index] is not None

    def value(self, index: int) -> Array:
        """Return the contents of an input, as if it were a constant of the graph."""
        array = self.case.inputs[index]
        if not isinstance(array, np.ndarray):
            raise NotMapped("sequences and optionals are no tensors")
        return array

    def whole(self, index: int) -> list[int]:
        """Return the contents of an input of integers."""
        return [int(item) for item in self.value(index).reshape(-1)]

    def tensor(self, index: int) -> aacl.Tensor:
        """Return an input in device memory."""
        if index not in self._tensors:
            self._tensors[index] = self.to_device(self.value(index))
        return self._tensors[index]

    def optional(self, index: int) -> aacl.Tensor | None:
        """Return an input in device memory, or None where the node has none."""
        return self.tensor(index) if self.has(index) else None

    def to_device(self, array: Array) -> aacl.Tensor:
        """Copy an array to the device."""
        if array.dtype.kind in "OUS":
            raise NotMapped("tensors of strings have no place in device memory")
        try:
            aacl.DataType.of(array.dtype)
        except aacl.UnsupportedDataType:
            raise NotMapped(f"no tensor is of type {array.dtype}") from None
        return self._stream.to_device(array)

    def to_host(self, tensor: aacl.Tensor) -> Array:
        """Copy a tensor to the host."""
        return self._stream.to_host(tensor)

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return an attribute, or what the specification has where there is none."""
        return self.case.attributes.get(name, default)

    def axis(self, default: int, rank: int | None = None) -> int:
        """Return the attribute ``axis``, counted from the front."""
        return normal(self.attribute("axis", default), len(self.tensor(0).shape) if rank is None else rank)

    def run(self, op_type: str, *inputs: Any, **attributes: Any) -> aacl.Tensor:
        """Run one operator of one output and wait for it.

        Args:
            op_type: the Ascend operator.
            inputs: tensors; host values for what is constant; None where absent; a list for a dynamic input.
            attributes: those that are not left to their defaults.

        Raises:
            NotMapped: the operator's prototype does not list the data type of an input.
        """
        (result,) = self.run_several(op_type, *inputs, **attributes)
        return result

    def run_several(self, op_type: str, *inputs: Any, **attributes: Any) -> tuple[aacl.Tensor, ...]:
        """Run one operator and return all of its outputs; see `run`."""
        self._check_dtypes(op_type, inputs)
        result = self._stream.execute(aacl.Operation(op_type, list(inputs), attributes))
        results = result if isinstance(result, tuple) else (result,)
        self.steps.append(op_type)
        for tensor in results:
            self._note(tensor.dtype)
        return results

    def cast(self, tensor: aacl.Tensor, dtype: aacl.DataType) -> aacl.Tensor:
        """Run Cast, unless the tensor is of that type already."""
        return tensor if tensor.dtype is dtype else self.run("Cast", tensor, dst_type=int(dtype))

    def _check_dtypes(self, op_type: str, inputs: tuple[Any, ...]) -> None:
        flat = [item for given in inputs for item in (given if isinstance(given, list) else [given])]
        for place, given in zip(schema_of(op_type).assign(len(flat)), flat, strict=True):
            if isinstance(given, aacl.Tensor):
                self._note(given.dtype)
                if given.dtype not in place.dtypes:
                    raise NotMapped(f"the prototype of {op_type} lists no {given.dtype.name.lower()} for {place.name}")

    def _note(self, dtype: aacl.DataType) -> None:
        if dtype.name.startswith(("FLOAT", "DOUBLE", "BF", "COMPLEX")):
            self.epsilon = max(self.epsilon, float(ml_dtypes.finfo(dtype.numpy_dtype).eps))  # type: ignore[no-untyped-call]


def normal(axis: int, rank: int) -> int:
    """Return an axis counted from the front."""
    return axis + rank if axis < 0 else axis
