"""Outputs of the Foreach operators: one for each tensor of a list, none where the list is updated instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.ops._infer._agreement import equal_shapes, require_equal_dtypes
from aacl.ops._infer._dims import Dim, product
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()

_UNARY = ("Abs", "ACos", "ASin", "ATan", "Cos", "Cosh", "Exp", "Expm1", "Log", "Log10", "Log1p", "Log2", "Neg",
          "Reciprocal", "Sigmoid", "Sin", "Sinh", "Sqrt", "Tan", "Tanh")  # fmt: skip
_BINARY = ("Add", "Div", "Maximum", "Minimum", "Mul", "Pow", "Sub")
_TYPES = (
    *(f"Foreach{name}" for name in _UNARY),
    *(f"Foreach{name}{kind}" for name in _BINARY for kind in ("List", "Scalar", "ScalarList")),
    *(f"Foreach{name}{kind}" for name in ("Addcdiv", "Addcmul", "Lerp") for kind in ("List", "Scalar")),
)


@rule(*_TYPES, *(f"{name}Inplace" for name in _TYPES), "ForeachScalarPowTensor", "ForeachZeroInplace")
def each(call: Call) -> Sequence[Output]:
    """An output like each tensor of the first list, unless that is updated; the other lists have the same shapes.

    A scalar is one element; a list of scalars is one element for each tensor, or one for all.
    """
    lists = _lists(call)
    count = len(lists[0])
    outputs = []
    for tensors in zip(*lists, strict=True):
        require_equal_dtypes(call, (lists[0][0], *tensors))
        shape = equal_shapes(call, tensors)
        if call.schema.outputs:
            outputs.append(call.like(tensors[0], shape))
    for index, parameter in enumerate(call.schema.assign(len(call.inputs))):
        if not parameter.is_dynamic:
            _check_scalars(call, index, count if parameter.name.endswith("s") or "List" in call.schema.op_type else 1)
    return outputs


@rule("ForeachNonFiniteCheckAndUnscale")
def unscaled(call: Call) -> Sequence[Output]:
    """No output; the gradients have one dtype, the flag and the factor one element each."""
    count = len(call.inputs) - 2
    require_equal_dtypes(call, range(count))
    for index in (count, count + 1):
        _check_scalars(call, index, 1)
    return []


def _lists(call: Call) -> list[list[int]]:
    """Return the places of each list's tensors."""
    found: dict[str, list[int]] = {}
    for index, parameter in enumerate(call.schema.assign(len(call.inputs))):
        if parameter.is_dynamic:
            found.setdefault(parameter.name, []).append(index)
    return list(found.values())


def _check_scalars(call: Call, index: int, count: int) -> None:
    shape = call.shape(index)
    if shape is None:
        return
    size = product(shape)
    if not (size.meets(Dim(1, 1)) or size.meets(Dim(count, count))):
        raise call.error(
            f"{call.titled(index)} must hold {'one element' if count == 1 else f'{count} elements, or one'}"
        )
