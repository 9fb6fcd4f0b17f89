"""Operators as functions: ``ops.Add(a, b)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from aacl.errors import InvalidArgument
from aacl.ops._catalogue import schema_of
from aacl.ops._operation import Operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.ops._schema import OperatorSchema
    from aacl.tensors._tensor import Tensor

__all__ = ("Operator",)


@final
class Operator:
    """An operator type of the catalogue; calling it makes an `Operation`.

    Inputs come in the schema's order, or by their names; attributes by name.
    """

    __slots__ = ("_schema", "op_type")

    def __init__(self, op_type: str) -> None:
        """Name an operator type.

        Raises:
            OperatorNotFound: the catalogue has no such type.
        """
        self.op_type = op_type
        self._schema = schema_of(op_type)

    @property
    def schema(self) -> OperatorSchema:
        """The prototype: inputs, outputs and attributes."""
        return self._schema

    def __call__(self, *inputs: object, out: Tensor | Sequence[Tensor] | None = None, **named: object) -> Operation:
        """Apply the operator; see `Operation`."""
        if named:
            return Operation(self.op_type, *self._sort(inputs, named), out=out)
        return Operation(self.op_type, inputs, out=out)

    def _sort(self, inputs: tuple[object, ...], named: dict[str, object]) -> tuple[list[object], dict[str, object]]:
        """Return the inputs in order and the attributes, from what was given by name."""
        attributes = dict(named)
        placed = list(inputs)
        names = [parameter.name for parameter in self._schema.inputs]
        for position, name in enumerate(names):
            if name not in attributes:
                continue
            if position < len(inputs):
                raise InvalidArgument(f"operator {self.op_type}: input {name} was given by place and by name")
            placed += [None] * (position + 1 - len(placed))
            placed[position] = attributes.pop(name)
        return placed, attributes

    def __repr__(self) -> str:
        return f"<Operator {self.op_type}({self._schema.signature})>"
