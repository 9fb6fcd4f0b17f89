"""What one input or output of a model is. A pure value with a JSON form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs

from aacl.dtypes import DataType, Format

__all__ = ("Range", "TensorSpec")

Range = tuple[int, int]


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
