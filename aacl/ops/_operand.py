"""What an operation is applied to: tensors, completions that make them, and host values."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.dtypes import DataType
from aacl.errors import ClosedResource, InvalidArgument, UnsupportedDataType
from aacl.streams._completion import Completion
from aacl.streams._work import Work
from aacl.tensors._desc import TensorDesc
from aacl.tensors._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.abc import Array
    from aacl.memory._space import DeviceMemory
    from aacl.ops._schema import OperatorSchema, Parameter

__all__ = ("HOST", "Constant", "Operand", "check_place", "constant", "constants", "own_constants", "spread")

HOST = -1
"""The device number of tensors on host memory."""


class Constant:
    """A host value among the inputs: its contents are part of its description."""

    __slots__ = ("_array", "_fault", "_lease", "_space", "desc")

    def __init__(self, value: Array) -> None:
        self.desc = TensorDesc.of(value.dtype, value.shape, value=value)
        self._array = self.desc.value
        self._fault = self._lease = self._space = None

    def check_settled(self) -> None:
        """Do nothing: the shape of a host value is known."""

    def __repr__(self) -> str:
        return f"Constant({self.desc.value})"


Operand = Tensor | Constant | None
"""None is an absent optional input."""


def check_place(op_type: str, tensor: Operand, memory: DeviceMemory) -> None:
    """Check that an operator on a device may use a tensor.

    Raises:
        ClosedResource: it was freed, or its device was closed.
        InvalidArgument: it lies on another device.
    """
    if not isinstance(tensor, Tensor):
        return
    tensor.lease()
    if tensor.device_index == memory.index and tensor._space.backend is not memory.backend:
        raise ClosedResource(f"cannot use {tensor!r}; its device was closed since, and opened again without it")
    if tensor.device_index not in (memory.index, HOST):
        raise InvalidArgument(
            f"operator {op_type}: {tensor!r} is not on device {memory.index}, whose stream should "
            "execute it; copy it there with stream.copy"
        )


def spread(inputs: Sequence[object]) -> list[object]:
    """Return a flat list of inputs: a list that holds tensors is a dynamic input's."""
    flat: list[object] = []
    for given in inputs:
        if isinstance(given, (list, tuple)) and any(isinstance(item, (Tensor, Completion)) for item in given):
            flat.extend(given)
        else:
            flat.append(given)
    return flat


def constants(schema: OperatorSchema, flat: Sequence[object]) -> list[Operand]:
    """Return a flat list of inputs as operands, host values in the dtype that their place wants.

    Raises:
        InvalidArgument: too many or too few inputs, or a value that is no array.
    """
    places = schema.assign(len(flat))
    usual = _usual(flat)
    return [
        given
        if given is None or isinstance(given, (Tensor, Constant))
        else constant(schema.op_type, place, given, usual)
        for place, given in zip(places, flat, strict=True)
    ]


def own_constants(op_type: str, flat: Sequence[object]) -> list[Operand]:
    """Return a flat list of inputs as operands of an operator that the catalogue does not know; numbers as NumPy does.

    Raises:
        InvalidArgument: a value is no array.
    """
    found: list[Operand] = []
    for place, given in enumerate(flat):
        if given is None or isinstance(given, (Tensor, Constant)):
            found.append(given)
            continue
        try:
            array = np.asarray(given)
            found.append(Constant(array.astype(array.dtype.newbyteorder("="), copy=False)))
        except (TypeError, ValueError, OverflowError, UnsupportedDataType) as error:
            raise InvalidArgument(
                f"operator {op_type}: input {place} is {given!r}; pass a tensor, an array or numbers ({error})"
            ) from None
    return found


def _usual(flat: Sequence[object]) -> DataType | None:
    """Return the dtype for plain numbers: the first tensor's; without one the first array's that can hold them."""
    tensor = next((given for given in flat if isinstance(given, Tensor)), None)
    if tensor is not None:
        return tensor.dtype
    is_fractional = any(map(_is_fractional, flat))
    for given in flat:
        # Whole numbers are indices and shapes as a rule: they say nothing of fractions.
        if isinstance(given, np.ndarray) and given.ndim and not (is_fractional and given.dtype.kind in "iub"):
            with suppress(UnsupportedDataType):  # which `constant` tells
                return DataType.of(given.dtype.newbyteorder("="))
    return DataType.FLOAT if is_fractional else None


def _is_fractional(given: object) -> bool:
    """Whether plain numbers are among the operands that no whole type holds; they decide for the others."""
    return isinstance(given, float) or (isinstance(given, list | tuple) and any(map(_is_fractional, given)))


def constant(op_type: str, place: Parameter, value: Any, usual: DataType | None) -> Constant:
    """Return a host value as an operand; plain numbers take the dtype of their place."""
    if isinstance(value, Work):
        raise InvalidArgument(
            f"operator {op_type}: input {place.name} is {value!r}, which has no result before it is executed; pass "
            "what stream.execute returns for it"
        )
    try:
        array = np.asarray(value)
        if not isinstance(value, (np.ndarray, np.generic)):
            array = _fitted(array, _dtype_for(place, array, usual))
        elif not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        return Constant(array)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgument(
            f"operator {op_type}: input {place.name} is {value!r}; pass a tensor, an array or numbers ({error})"
        ) from None


def _fitted(array: Array, wanted: DataType) -> Array:
    """Return plain numbers in a dtype that holds them: rounding is fine, cutting off is not."""
    if array.dtype.kind not in "biuf":
        raise ValueError(f"not real numbers that {wanted.name} could hold")
    with np.errstate(invalid="ignore", over="ignore"):
        cast = array.astype(wanted.numpy_dtype)
    is_whole = cast.dtype.kind in "biu"
    if not (np.array_equal(cast, array) if is_whole else np.isfinite(cast).all() or not np.isfinite(array).all()):
        raise ValueError(f"{wanted.name}, the type of that place, does not hold them; pass an array of another type")
    return cast


def _dtype_for(place: Parameter, array: Array, usual: DataType | None) -> DataType:
    """Return the dtype for plain numbers: shapes and indices int64 or int32, other values that of the tensors."""
    whole = [kind for kind in (DataType.INT64, DataType.INT32) if kind in place.dtypes]
    fractional = DataType.FLOAT in place.dtypes or DataType.FLOAT16 in place.dtypes
    if usual is not None and usual in place.dtypes and (fractional or not whole):
        return usual
    if array.dtype.kind in "iub" and whole:
        return whole[0]
    if array.size == 0 and whole and not fractional:
        return whole[0]
    return DataType.FLOAT if DataType.FLOAT in place.dtypes else DataType.of(array.dtype)
