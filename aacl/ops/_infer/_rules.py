"""Rules of shape inference: what they see of a request, and how they are found.

A rule takes a `Call` and returns an `Output` for each output. It serves a family of operator
types; a further operator is one more name in the decorator of its family's rule.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import attrs

from aacl.dtypes import DataType, Format
from aacl.errors import InvalidArgument, NotSupported
from aacl.ops._infer._dims import Dim, Shape, bounds, shape_of, shown, written
from aacl.tensors._desc import DIMS_MOST, UNKNOWN_RANK, TensorDesc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from aacl.ops._schema import OperatorSchema

__all__ = ("RULES", "Call", "Output", "Rule", "apply", "rule")


class Output(NamedTuple):
    """What a rule says of an output."""

    dtype: DataType
    shape: Shape
    format: Format = Format.ND

    def described(self) -> TensorDesc:
        """Return it as a description."""
        if self.shape is None:
            return TensorDesc.of(self.dtype, UNKNOWN_RANK, self.format)
        return TensorDesc.of(self.dtype, tuple(map(written, self.shape)), self.format, ranges=bounds(self.shape))


Rule: TypeAlias = "Callable[[Call], Sequence[Output]]"

RULES: dict[str, Rule] = {}


def rule(*op_types: str) -> Callable[[Rule], Rule]:
    """Register a rule for operator types.

    Raises:
        ValueError: one of them has another rule already.
    """

    def register(function: Rule) -> Rule:
        for op_type in op_types:
            # An import that was interrupted is done again, and registers its rules again.
            if op_type in RULES and not _same_source(RULES[op_type], function):
                raise ValueError(f"operator {op_type} has two rules of shape inference")
            RULES[op_type] = function
        return function

    return register


def _same_source(rule: Rule, other: Rule) -> bool:
    return (rule.__module__, rule.__qualname__) == (other.__module__, other.__qualname__)


@attrs.define(slots=False)
class Call:
    """One request as a rule sees it; inputs are named by their position in the flat list."""

    schema: OperatorSchema
    inputs: tuple[TensorDesc | None, ...]
    attributes: Mapping[str, Any]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each input; those of a dynamic input are numbered."""
        names, counts = [], dict[str, int]()
        for parameter in self.schema.assign(len(self.inputs)):
            number = counts[parameter.name] = counts.get(parameter.name, -1) + 1
            names.append(f"{parameter.name}[{number}]" if parameter.is_dynamic else parameter.name)
        return tuple(names)

    def desc(self, index: int) -> TensorDesc:
        """Return the description of an input that must be there."""
        found = self.inputs[index]
        if found is None:
            raise self.error(f"input {self.names[index]} is absent")
        return found

    def has(self, index: int) -> bool:
        """Whether an input is there."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def shape(self, index: int) -> Shape:
        """Return the dims of an input."""
        return shape_of(self.desc(index))

    def integers(self, index: int) -> tuple[int, ...] | None:
        """Return the integers that an input holds; None where they are not known beforehand."""
        value = self.desc(index).value
        return None if value is None else tuple(int(item) for item in value.reshape(-1))

    def integer(self, index: int) -> int | None:
        """Return the one integer that an input holds; None where it is not known beforehand.

        Raises:
            InvalidArgument: it holds another number of elements, known beforehand or not.
        """
        shape = self.shape(index)
        if shape is not None and not all(dim.meets(Dim(1, 1)) for dim in shape):
            raise self.error(f"{self.titled(index)} must hold one element")
        found = self.integers(index)
        return None if found is None else found[0]

    def length(self, index: int) -> int | None:
        """Return how many elements a value input holds; None where it is not known.

        Raises:
            InvalidArgument: it has more than one dim, or more elements than a tensor has dims.
        """
        shape = self.shape(index)
        if shape is None:
            return None
        if len(shape) > 1:
            raise self.error(f"{self.titled(index)} must have at most one dim")
        if shape and shape[0].least > DIMS_MOST:
            raise self.error(
                f"{self.titled(index)} must have at most {DIMS_MOST} elements, one for each dim of a tensor"
            )
        return 1 if not shape else int(shape[0].most) if shape[0].is_fixed else None

    def axis(self, value: int, rank: int, name: str, index: int = 0) -> int:
        """Return an axis counted from the front.

        Raises:
            InvalidArgument: it lies outside the rank.
        """
        if not -rank <= value < rank:
            raise self.error(f"{name} {value} lies outside [{-rank}, {rank}) for {self.titled(index)}")
        return value % rank

    def like(self, index: int, shape: Shape, output: int = 0) -> Output:
        """Return an output of an input's dtype; it keeps the input's format while it keeps its rank."""
        source = self.desc(index)
        return Output(self.result(source.dtype, output), shape, self.kept_format(index, shape))

    def kept_format(self, index: int, shape: Shape) -> Format:
        """Return an input's format for an output of its rank, else ND."""
        source = self.shape(index)
        is_kept = shape is None or source is None or len(shape) == len(source)
        return self.desc(index).format if is_kept else Format.ND

    def result(self, dtype: DataType, output: int = 0) -> DataType:
        """Return the dtype of an output that follows an input's.

        Where the operator does not give that one, it is the only one that it gives, or float.
        """
        allowed = self.schema.outputs[output].dtypes
        if dtype in allowed:
            return dtype
        return next(iter(allowed)) if len(allowed) == 1 else DataType.FLOAT

    def titled(self, index: int) -> str:
        """Return an input's name and shape as error texts give them."""
        return f"input {self.names[index]} {_shape_text(self.shape(index))}"

    def error(self, text: str) -> InvalidArgument:
        """Return an error that names the operator."""
        return InvalidArgument(f"operator {self.schema.op_type}: {text}")

    def mismatch(self, left: int, right: int, text: str) -> InvalidArgument:
        """Return an error that names two inputs and shows both shapes."""
        first, second = (f"{self.names[index]} {_shape_text(self.shape(index))}" for index in (left, right))
        return self.error(f"inputs {first} and {second} {text}")


def _shape_text(shape: Shape) -> str:
    return shown(shape) if shape is None else f"of shape {shown(shape)}"


def apply(
    schema: OperatorSchema, inputs: Sequence[TensorDesc | None], attributes: Mapping[str, Any]
) -> tuple[TensorDesc, ...]:
    """Run the rule of an operator type; see `aacl.ops._infer.infer_outputs`."""
    found = RULES.get(schema.op_type)
    if found is None:
        raise NotSupported(
            f"operator {schema.op_type} is known by name only: this runtime has no rule for the shapes of its outputs, "
            "so that it cannot run it yet; compute it on the host with stream.call, or as part of a model"
        )
    present = tuple(None if desc is None or desc.dtype is DataType.UNDEFINED else desc for desc in inputs)
    schema.check_inputs(present)
    return tuple(output.described() for output in found(Call(schema, present, attributes)))
