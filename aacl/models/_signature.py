"""A model's signature: what goes in and what comes out. Pure values with a JSON form."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from typing import Any

import attrs

from aacl.dtypes import DataType, Format

__all__ = ("GearKind", "Gears", "ModelSignature", "TensorSpec")

Range = tuple[int, int]
Shapes = tuple[tuple[int, ...], ...]


class GearKind(enum.Enum):
    """Which dims a model's gears set; the values are atc's options."""

    BATCH = "dynamic_batch_size"
    SIZE = "dynamic_image_size"
    DIMS = "dynamic_dims"


@attrs.frozen
class TensorSpec:
    """One input or output of a model.

    Attributes:
        name: an input's ONNX name; an output's is ``node:index:ONNX name``.
        dtype: the type of the elements.
        shape: dims; -1 is a free dim, ``()`` a scalar.
        format: the layout of the dims.
        ranges: for each dim its (min, max), max -1 without limit; empty when all dims are fixed.
    """

    name: str
    dtype: DataType
    shape: tuple[int, ...]
    format: Format = Format.ND
    ranges: tuple[Range, ...] = ()

    @property
    def is_static(self) -> bool:
        """Whether every dim is known."""
        return all(dim >= 0 for dim in self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, without padding; 0 when a dim is free."""
        return math.prod(self.shape) * self.dtype.itemsize if self.is_static else 0

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        document: dict[str, Any] = {
            "name": self.name,
            "dtype": self.dtype.name,
            "shape": list(self.shape),
            "format": self.format.name,
        }
        if self.ranges:
            document["ranges"] = [list(pair) for pair in self.ranges]
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> TensorSpec:
        """Return the value of a JSON form; KeyError, TypeError or ValueError when it is not one."""
        return cls(
            name=str(document["name"]),
            dtype=DataType[document["dtype"]],
            shape=tuple(int(dim) for dim in document["shape"]),
            format=Format[document["format"]],
            ranges=tuple((int(low), int(high)) for low, high in document.get("ranges", ())),
        )


@attrs.frozen
class Gears:
    """The sizes that a model was converted for: no others run.

    Attributes:
        kind: what a gear's numbers are.
        values: the gears in the order given: (batch,), (height, width), or one number a free dim.
        inputs: for each gear the shape of every input.
        outputs: for each gear the shape of every output.
    """

    kind: GearKind
    values: Shapes
    inputs: tuple[Shapes, ...]
    outputs: tuple[Shapes, ...]

    @property
    def largest(self) -> int:
        """The position of the gear whose inputs have most elements; it is the one in force until one is chosen."""
        sizes = [sum(math.prod(shape) for shape in shapes) for shapes in self.inputs]
        return sizes.index(max(sizes))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"kind": self.kind.value, "values": self.values, "inputs": self.inputs, "outputs": self.outputs}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Gears:
        """Return the value of a JSON form; KeyError, TypeError or ValueError when it is not one."""
        inputs, outputs = (
            tuple(tuple(tuple(map(int, shape)) for shape in shapes) for shapes in document[key])
            for key in ("inputs", "outputs")
        )
        return cls(
            GearKind(document["kind"]), tuple(tuple(map(int, gear)) for gear in document["values"]), inputs, outputs
        )


@attrs.frozen
class ModelSignature:
    """What a model takes and gives.

    Attributes:
        name: the model's name, its file's without the suffix.
        inputs: in the model's order.
        outputs: in the model's order.
        soc_version: the SoC it was converted for; the CPU device runs it whatever it says.
        weight_nbytes: bytes of its constants.
        gears: the sizes that it was converted for, where it was for several; its inputs' free dims are -1 then,
            and its outputs' dims are those of the largest gear.
    """

    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    soc_version: str = ""
    weight_nbytes: int = 0
    gears: Gears | None = None

    @property
    def is_static(self) -> bool:
        """Whether every input and output has fixed dims."""
        return all(spec.is_static for spec in (*self.inputs, *self.outputs))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        document: dict[str, Any] = {
            "name": self.name,
            "inputs": [spec.to_json() for spec in self.inputs],
            "outputs": [spec.to_json() for spec in self.outputs],
            "soc_version": self.soc_version,
            "weight_nbytes": self.weight_nbytes,
        }
        if self.gears is not None:
            document["gears"] = self.gears.to_json()
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> ModelSignature:
        """Return the value of a JSON form; KeyError, TypeError or ValueError when it is not one."""
        return cls(
            name=str(document["name"]),
            inputs=tuple(TensorSpec.from_json(spec) for spec in document["inputs"]),
            outputs=tuple(TensorSpec.from_json(spec) for spec in document["outputs"]),
            soc_version=str(document["soc_version"]),
            weight_nbytes=int(document["weight_nbytes"]),
            gears=Gears.from_json(document["gears"]) if "gears" in document else None,
        )
