"""An operator model: what ``atc --singleop`` compiled, and which requests it serves. Pure."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np

from aacl.dtypes import DataType, Format
from aacl.tensors import UNKNOWN_RANK, TensorDesc

__all__ = ("OperatorModel",)

Slot = TensorDesc | None


def _frozen(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType({name: _tupled(value) for name, value in attributes.items()})


def _tupled(value: Any) -> Any:
    return tuple(_tupled(item) for item in value) if isinstance(value, list | tuple) else value


@attrs.frozen
class OperatorModel:
    """One operator compiled for given descriptions and attributes.

    Attributes:
        name: the file's name without the suffix.
        op_type: the operator's type, as in the catalogue.
        inputs: a description each, None for an absent optional input; -1 dims are free within
            the description's ranges; an input with a value is a constant of the model.
        outputs: a description each.
        attributes: every attribute, defaults filled in; lists as tuples.
        soc_version: the SoC it was compiled for; the CPU device runs it whatever it says.
    """

    name: str
    op_type: str
    inputs: tuple[Slot, ...]
    outputs: tuple[TensorDesc, ...]
    attributes: Mapping[str, Any] = attrs.field(converter=_frozen, factory=dict)
    soc_version: str = ""

    def serves(
        self, op_type: str, inputs: Sequence[Slot], outputs: Sequence[TensorDesc], attributes: Mapping[str, Any]
    ) -> bool:
        """Whether a request is one that this model was compiled for.

        Dtypes, formats and attributes (defaults filled in on both sides) must be equal, dims equal
        or free and in range, and a constant of the model must come with the same known value.
        """
        return (
            self.op_type == op_type
            and len(self.inputs) == len(inputs)
            and len(self.outputs) == len(outputs)
            and all(_covers(mine, theirs) for mine, theirs in zip(self.inputs, inputs, strict=True))
            and all(_covers(mine, theirs) for mine, theirs in zip(self.outputs, outputs, strict=True))
            and dict(self.attributes) == dict(_frozen(attributes))
        )

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "name": self.name,
            "op_type": self.op_type,
            "inputs": [_desc_to_json(desc) for desc in self.inputs],
            "outputs": [_desc_to_json(desc) for desc in self.outputs],
            "attributes": {name: _plain(value) for name, value in self.attributes.items()},
            "soc_version": self.soc_version,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> OperatorModel:
        """Return the value of a JSON form; KeyError, TypeError or ValueError when it is not one."""
        outputs = [_desc_from_json(desc) for desc in document["outputs"]]
        return cls(
            name=str(document["name"]),
            op_type=str(document["op_type"]),
            inputs=tuple(_desc_from_json(desc) for desc in document["inputs"]),
            outputs=tuple(desc for desc in outputs if desc is not None),
            attributes=dict(document["attributes"]),
            soc_version=str(document["soc_version"]),
        )


def _covers(mine: Slot, theirs: Slot) -> bool:
    if mine is None or theirs is None:
        return mine is None and (theirs is None or theirs.dtype is DataType.UNDEFINED)
    return (
        mine.dtype is theirs.dtype
        and mine.format is theirs.format
        and _covers_shape(mine, theirs.shape)
        and (mine.value is None or _same_value(mine.value, theirs.value))
    )


def _covers_shape(mine: TensorDesc, dims: tuple[int, ...]) -> bool:
    if mine.shape == UNKNOWN_RANK:
        return True
    if len(mine.shape) != len(dims):
        return False
    ranges = mine.ranges or ((0, -1),) * len(dims)
    return all(
        dim == given or (dim == -1 and (given == -1 or low <= given <= (high if high >= 0 else given)))
        for dim, given, (low, high) in zip(mine.shape, dims, ranges, strict=True)
    )


def _same_value(mine: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any] | None) -> bool:
    return theirs is not None and mine.tobytes() == theirs.tobytes()


def _plain(value: Any) -> Any:
    """Make a value JSON's: tuples and NumPy values as lists and numbers, data types as their numbers."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, DataType) else value


def _desc_to_json(desc: Slot) -> dict[str, Any] | None:
    if desc is None:
        return None
    document: dict[str, Any] = {
        "dtype": desc.dtype.name, "shape": list(desc.shape), "format": desc.format.name, "name": desc.name
    }  # fmt: skip
    if desc.ranges:
        document["ranges"] = [list(pair) for pair in desc.ranges]
    if (desc.origin_format, desc.origin_shape) != (desc.format, desc.shape):
        document["origin"] = {"format": desc.origin_format.name, "shape": list(desc.origin_shape)}
    if desc.value is not None:
        document["value"] = base64.b64encode(desc.value.tobytes()).decode()
    return document


def _desc_from_json(document: Mapping[str, Any] | None) -> Slot:
    if document is None:
        return None
    dtype, shape = DataType[document["dtype"]], tuple(document["shape"])
    value, origin = document.get("value"), document.get("origin")
    return TensorDesc.of(
        dtype,
        shape,
        Format[document["format"]],
        ranges=tuple((low, high) for low, high in document.get("ranges", ())),
        value=None if value is None else np.frombuffer(base64.b64decode(value), dtype.numpy_dtype).reshape(shape),
        name=str(document["name"]),
        origin=None if origin is None else (Format[origin["format"]], tuple(origin["shape"])),
    )
