"""Losses."""

from __future__ import annotations

from aacl import Tensor
from tests.helpers.onnx_nodes._mapping import mapping
from tests.helpers.onnx_nodes._node import Node
from tests.helpers.onnx_nodes.reduction import int64

__all__ = ()

_NONE = -100
"""An index that no target has: ONNX ignores none unless told to."""


@mapping("NegativeLogLikelihoodLoss")
def _nll_loss(node: Node) -> Tensor:
    """NLLLoss has rows of classes; spatial axes are moved among the rows."""
    x, target = node.tensor(0), node.tensor(1)
    shape = target.shape
    if len(x.shape) > 2:
        x, target = _rows(node, x), node.run("Reshape", target, int64([-1]))
    reduction, ignored = node.attribute("reduction", "mean"), node.attribute("ignore_index", _NONE)
    y, _ = node.run_several("NLLLoss", x, target, node.optional(2), reduction=reduction, ignore_index=ignored)
    if reduction == "none" and y.shape != shape:
        y = node.run("Reshape", y, int64(shape))
    return y


def _rows(node: Node, x: Tensor) -> Tensor:
    """Return ``(N, C, d1, ...)`` as ``(N * d1 * ..., C)``."""
    rank = len(x.shape)
    turned = node.run("Transpose", x, int64([0, *range(2, rank), 1]))
    return node.run("Reshape", turned, int64([-1, x.shape[1]]))


@mapping("SoftmaxCrossEntropyLoss")
def _softmax_cross_entropy_loss(node: Node) -> tuple[Tensor, ...]:
    inputs = node.tensor(0), node.tensor(1), node.optional(2)
    reduction, ignored = node.attribute("reduction", "mean"), node.attribute("ignore_index", _NONE)
    outputs = node.run_several("SoftmaxCrossEntropyLoss", *inputs, reduction=reduction, ignore_index=ignored)
    return outputs[: len(node.case.outputs)]
