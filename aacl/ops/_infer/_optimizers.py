"""Outputs of training steps: the variables and slots that they update."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.ops._infer._agreement import equal_shapes, require_equal_dtypes
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ()

# How many inputs at the front have the variable's shape, and where the gradient is.
_STEPS = {
    "ApplyGradientDescent": (1, (2,)),
    "ApplyMomentum": (2, (3,)),
    "ApplyMomentumD": (2, (3,)),
    "FusedMulApplyMomentum": (2, ()),
    "ApplyKerasMomentum": (2, (3,)),
    "ApplyKerasMomentumD": (2, (3,)),
    "FusedMulApplyKerasMomentum": (2, ()),
    "ApplyAdam": (3, (9,)),
    "ApplyAdamD": (3, (9,)),
    "ApplyAdamWithAmsgrad": (4, (10,)),
    "ApplyAdamWithAmsgradD": (4, (7,)),
    "ApplyAdamWithAmsgradV2": (4, (10,)),
    "ApplyAdamW": (3, (10,)),
    "ApplyAdaMax": (3, (8,)),
    "ApplyAdaMaxD": (3, (8,)),
    "ApplyAdadelta": (3, (6,)),
    "ApplyAdadeltaD": (3, (6,)),
    "ApplyAdagrad": (2, (3,)),
    "ApplyAdagradD": (2, (3,)),
    "ApplyAdagradV2": (2, (4,)),
    "ApplyAdagradV2D": (2, (3,)),
    "ApplyRMSProp": (3, (7,)),
    "ApplyRMSPropD": (3, (4,)),
    "ApplyCenteredRMSProp": (4, (8,)),
    "ApplyCenteredRMSPropD": (4, (8,)),
    "ApplyFtrl": (3, (3,)),
    "ApplyFtrlD": (3, (3,)),
    "ApplyFtrlV2": (3, (3,)),
    "ApplyFtrlV2D": (3, (3,)),
    "ApplyProximalGradientDescent": (1, (4,)),
    "ApplyProximalAdagrad": (2, (5,)),
    "ApplyProximalAdagradD": (2, (5,)),
    "ApplyAddSign": (2, (6,)),
    "ApplyAddSignD": (2, (6,)),
    "ApplyPowerSign": (2, (6,)),
    "ApplyPowerSignD": (2, (6,)),
    "ApplyAdagradDA": (3, (3,)),
    "ApplyAdagradDAD": (3, (3,)),
    "SGD": (1, (1, 3, 5)),
}


@rule(*_STEPS)
def step(call: Call) -> Sequence[Output]:
    """Each output is as the input of its name; rates are one element, and a factor of the gradient may be."""
    op_type, names = call.schema.op_type, [parameter.name for parameter in call.schema.inputs]
    slots, gradients = _STEPS[op_type]
    whole = (*range(slots), *gradients)
    shape = equal_shapes(call, whole)
    require_equal_dtypes(call, [index for index in range(len(call.inputs)) if _is_number(call, index)])
    for index in range(len(call.inputs)):
        if index not in whole and not _is_factor(call, index):
            _require_one(call, index)
    if op_type.startswith("FusedMul"):
        _check_product(call)
    return [call.like(names.index(output.name), shape, place) for place, output in enumerate(call.schema.outputs)]


def _is_number(call: Call, index: int) -> bool:
    return call.has(index) and call.names[index] != "global_step"


def _is_factor(call: Call, index: int) -> bool:
    return call.schema.op_type.startswith("FusedMul") and call.names[index] in ("x1", "x2")


def _check_product(call: Call) -> None:
    """One factor of the gradient has the variable's shape, the other one too, or one element."""
    for index in (3, 5):
        if call.desc(index).element_count != 1:
            equal_shapes(call, (0, index))


def _require_one(call: Call, index: int) -> None:
    if call.has(index) and call.desc(index).element_count not in (1, -1):
        raise call.error(f"{call.titled(index)} must have one element")
