"""A model's signature: what goes in and what comes out. Pure values with a JSON form."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from aacl.models._spec import Range as Range
from aacl.models._spec import TensorSpec as TensorSpec

if TYPE_CHECKING:
    from aacl.models._aipp import Aipp

__all__ = ("GearKind", "Gears", "ModelSignature", "TensorSpec")

Shapes = tuple[tuple[int, ...], ...]


class GearKind(enum.Enum):
    """Which dims a model's gears set; the values are atc's options."""

    BATCH = "dynamic_batch_size"
    SIZE = "dynamic_image_size"
    DIMS = "dynamic_dims"


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
        aipp: what is done to pictures in front of inputs; `inputs` has the pictures then, not what the graph takes.
    """

    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    soc_version: str = ""
    weight_nbytes: int = 0
    gears: Gears | None = None
    aipp: tuple[Aipp, ...] = ()

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
        if self.aipp:
            document["aipp"] = [aipp.to_json() for aipp in self.aipp]
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
            aipp=_aipp(document["aipp"]) if "aipp" in document else (),
        )


def _aipp(documents: list[Any]) -> tuple[Aipp, ...]:
    from aacl.models._aipp import Aipp

    return tuple(map(Aipp.from_json, documents))
