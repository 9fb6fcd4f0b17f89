"""Reductions, extremes by index, and running sums."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from aacl import DataType, Tensor
from tests.helpers.onnx_nodes._mapping import NotMapped, mapping
from tests.helpers.onnx_nodes._node import Node
from tests.helpers.onnx_nodes.elementwise import widened

__all__ = ("int64",)


def int64(numbers: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return integers as a constant input."""
    return np.array(numbers, np.int64)


def _reduced(node: Node, operator: str, x: Tensor) -> Tensor:
    """Run a reduction over the axes that the node states, as an input or as an attribute."""
    keep = bool(node.attribute("keepdims", 1))
    axes = node.whole(1) if node.has(1) else list(node.attribute("axes", ()))
    if not axes and node.attribute("noop_with_empty_axes", 0):
        return x
    axes = axes or list(range(len(x.shape)))
    return node.run(operator, x, int64(axes), keep_dims=keep)


def _plain(operator: str, node: Node) -> Tensor:
    (x,) = widened(node, node.tensor(0), operator=operator)
    return node.cast(_copied(node, _reduced(node, operator, x)), node.tensor(0).dtype)


def _copied(node: Node, x: Tensor) -> Tensor:
    """A node that reduces nothing still has an output of its own."""
    return x if node.steps else node.run("Identity", x)


@mapping("ReduceMax", "ReduceMin")
def _extreme(node: Node) -> Tensor:
    """The largest of truth values is whether any is true, the smallest whether all are."""
    if node.tensor(0).dtype is DataType.BOOL:
        return _reduced(node, {"ReduceMax": "ReduceAny", "ReduceMin": "ReduceAll"}[node.case.op_type], node.tensor(0))
    return _plain(node.case.op_type, node)


for _operator in ("ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "ReduceProd", "ReduceSum"):
    mapping(_operator)(partial(_plain, _operator))


@mapping("ReduceL1")
def _reduce_l1(node: Node) -> Tensor:
    return _reduced(node, "ReduceSum", node.run("Abs", node.tensor(0)))


@mapping("ReduceL2")
def _reduce_l2(node: Node) -> Tensor:
    return node.run("Sqrt", _reduced(node, "ReduceSum", node.run("Square", node.tensor(0))))


@mapping("ReduceSumSquare")
def _reduce_sum_square(node: Node) -> Tensor:
    return _reduced(node, "ReduceSum", node.run("Square", node.tensor(0)))


@mapping("ArgMax", "ArgMin")
def _arg_extreme(node: Node) -> Tensor:
    """The operators give the first of equal values, and drop the axis."""
    if node.attribute("select_last_index", 0):
        raise NotMapped("ArgMaxV2 and ArgMin give the first of equal values, never the last")
    operator = {"ArgMax": "ArgMaxV2", "ArgMin": "ArgMin"}[node.case.op_type]
    axis = node.axis(0)
    index = node.run(operator, node.tensor(0), int64(axis), dtype=DataType.INT64)
    if node.attribute("keepdims", 1):
        index = node.run("ExpandDims", index, int64(axis))
    return index


@mapping("CumSum", "CumProd")
def _cumulated(node: Node) -> Tensor:
    operator = {"CumSum": "Cumsum", "CumProd": "Cumprod"}[node.case.op_type]
    exclusive, reverse = bool(node.attribute("exclusive", 0)), bool(node.attribute("reverse", 0))
    return node.run(operator, node.tensor(0), node.value(1), exclusive=exclusive, reverse=reverse)
