"""Outputs of losses that compare two tensors element by element, and of their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aacl.dtypes import DataType
from aacl.ops._infer._agreement import broadcast_inputs, equal_shapes, present, require_equal_dtypes, require_spread
from aacl.ops._infer._dims import Shape, broadcast
from aacl.ops._infer._rules import Call, Output, rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ("reduced", "reduction")

_USUAL = ("none", "mean", "sum")


@rule(
    *("BinaryCrossEntropy", "KLDiv", "KLDivV2", "LpLoss", "MseLoss", "PoissonNllLoss"),
    *("SigmoidCrossEntropyWithLogitsV2", "SmoothL1LossV2", "SoftMarginLoss"),
)
def loss(call: Call) -> Sequence[Output]:
    """One element, or with reduction ``none`` as the prediction; weights spread over it."""
    shape = _compared(call, 2)
    return [call.like(0, reduced(call, shape))]


@rule("SigmoidCrossEntropyWithLogits", "SmoothL1Loss")
def loss_each(call: Call) -> Sequence[Output]:
    """As the prediction: nothing is reduced."""
    return [call.like(0, _compared(call, 2))]


@rule("SigmoidCrossEntropyWithLogitsGrad", "SmoothL1LossGrad")
def loss_each_gradient(call: Call) -> Sequence[Output]:
    """As the prediction; so is the gradient that comes in."""
    return [call.like(0, _compared(call, 3))]


@rule(
    *("BinaryCrossEntropyGrad", "MseLossGrad", "SigmoidCrossEntropyWithLogitsGradV2", "SmoothL1LossGradV2"),
    *("SoftMarginLossGrad",),
)
def loss_gradient(call: Call) -> Sequence[Output]:
    """As the prediction; the gradient that comes in, the third input, spreads over it."""
    reduction(call)
    return [call.like(0, _compared(call, 2))]


@rule("KlDivLossGrad", "L1LossGrad")
def loss_gradient_first(call: Call) -> Sequence[Output]:
    """As the prediction, the second input; the gradient that comes in, the first one, spreads over it."""
    reduction(call)
    require_equal_dtypes(call, present(call))
    shape = equal_shapes(call, (1, 2))
    require_spread(call, 0, 1)
    return [call.like(1, shape)]


@rule("CosineSimilarity")
def cosine_similarity(call: Call) -> Sequence[Output]:
    """Both inputs broadcast, without axis ``dim``."""
    return [Output(DataType.FLOAT, _without(call, broadcast_inputs(call), call.attributes["dim"], "dim"))]


@rule("CosineEmbeddingLoss")
def cosine_embedding_loss(call: Call) -> Sequence[Output]:
    """``x1`` and ``x2`` broadcast, without axis 1, and broadcast with the target; or one element."""
    shape = _without(call, broadcast_inputs(call, (0, 1)), 1, "axis")
    target = call.shape(2)
    if shape is not None and target is not None:
        shape = broadcast(shape, target)
        if shape is None:
            raise call.mismatch(0, 2, "do not fit: the target has one element for each pair of vectors along axis 1")
    return [Output(DataType.FLOAT, reduced(call, shape if target is not None else None))]


@rule("MultilabelMarginLoss")
def multilabel_margin_loss(call: Call) -> Sequence[Output]:
    """One element, or with reduction ``none`` one a row; ``is_target`` as the target."""
    shape = equal_shapes(call, (0, 1))
    if shape is not None and len(shape) not in (1, 2):
        raise call.error(f"{call.titled(0)} must have one or two dims: [N, C] or [C]")
    return [
        call.like(0, reduced(call, None if shape is None else shape[:-1])),
        Output(DataType.INT32, shape, call.desc(1).format),
    ]


def reduction(call: Call) -> str:
    """Return the attribute ``reduction``.

    Raises:
        InvalidArgument: it is none of the known ones.
    """
    wanted: str = call.attributes["reduction"]
    allowed = (*_USUAL, "batchmean") if call.schema.op_type.lower().startswith("kldiv") else _USUAL
    if wanted not in allowed:
        raise call.error(f"reduction is {wanted!r}; it is one of {', '.join(map(repr, allowed))}")
    return wanted


def reduced(call: Call, shape: Shape) -> Shape:
    """Return the shape after the reduction: that of a scalar unless it is ``none``."""
    return shape if reduction(call) == "none" else ()


def _compared(call: Call, same: int) -> Shape:
    """Return the shape that the first inputs share, after a look at those that spread over it."""
    require_equal_dtypes(call, present(call))
    shape = equal_shapes(call, tuple(range(same)))
    for index in present(call):
        if index >= same:
            require_spread(call, index)
    return shape


def _without(call: Call, shape: Shape, axis: int, name: str) -> Shape:
    if shape is None:
        return None
    rank = len(shape)
    if not -rank <= axis < rank:
        raise call.mismatch(0, 1, f"broadcast to {rank} dims, in which {name} {axis} does not lie")
    return shape[: axis % rank] + shape[axis % rank + 1 :]
