"""Operators that read and write by index, and that find what they index by."""

from __future__ import annotations

from typing import Any

import numpy as np

from aacl import DataType, Tensor
from tests.helpers.onnx_nodes._mapping import NotMapped, mapping
from tests.helpers.onnx_nodes._node import Node
from tests.helpers.onnx_nodes.reduction import int64

__all__ = ()


@mapping("Gather")
def _gather(node: Node) -> Tensor:
    x, indices, axis = node.tensor(0), node.tensor(1), int64(node.axis(0))
    return node.run("GatherV2", x, indices, axis, negative_index_support=True)


@mapping("GatherElements")
def _gather_elements(node: Node) -> Tensor:
    x, axis = node.tensor(0), node.axis(0)
    indices = _from_front(node, node.tensor(1), x.shape[axis])
    return node.run("GatherElements", x, indices, dim=axis)


def _from_front(node: Node, indices: Tensor, count: int) -> Tensor:
    """Return indices counted from zero up; ONNX counts negative ones from the end."""
    zero, size = (np.array(number, indices.dtype.numpy_dtype) for number in (0, count))
    is_negative, moved = node.run("Less", indices, zero), node.run("Add", indices, size)
    return node.run("SelectV2", is_negative, moved, indices)


@mapping("GatherND")
def _gather_nd(node: Node) -> Tensor:
    if node.attribute("batch_dims", 0):
        raise NotMapped("GatherNd has no batch dims")
    return node.run("GatherNd", node.tensor(0), node.tensor(1), negative_index_support=True)


@mapping("Scatter", "ScatterElements")
def _scatter_elements(node: Node) -> Tensor:
    reduction = node.attribute("reduction", "none")
    if reduction not in ("none", "add", "mul"):
        raise NotMapped(f"ScatterElements has no reduction {reduction}")
    data, indices, updates = node.tensor(0), node.tensor(1), node.tensor(2)
    return node.run("ScatterElements", data, indices, updates, axis=node.axis(0), reduction=reduction)


_SCATTER_ND = {
    "none": "TensorScatterUpdate",
    "add": "TensorScatterAdd",
    "max": "TensorScatterMax",
    "min": "TensorScatterMin",
}


@mapping("ScatterND")
def _scatter_nd(node: Node) -> Tensor:
    reduction = node.attribute("reduction", "none")
    if reduction not in _SCATTER_ND:
        raise NotMapped(f"no TensorScatter operator multiplies: reduction {reduction}")
    return node.run(_SCATTER_ND[reduction], node.tensor(0), node.tensor(1), node.tensor(2))


@mapping("MaxUnpool")
def _max_unpool(node: Node) -> Tensor:
    """The indices number the elements of MaxPool's input, flat; a larger output has zeros behind them."""
    x, indices = node.tensor(0), node.tensor(1)
    natural = _unpooled_shape(node, x.shape)
    zeros = node.run("Fill", int64([int(np.prod(natural))]), np.zeros((), x.dtype.numpy_dtype))
    flat = [node.run("Reshape", tensor, int64([-1])) for tensor in (indices, x)]
    y = node.run("Reshape", node.run("ScatterElements", zeros, *flat, axis=0), int64(natural))
    if node.has(2) and node.whole(2) != natural:
        behind = int64(node.whole(2)) - int64(natural)
        y = node.run("PadV3", y, np.concatenate([np.zeros_like(behind), behind]), paddings_contiguous=False)
    return y


def _unpooled_shape(node: Node, shape: tuple[int, ...]) -> list[int]:
    kernel = node.attribute("kernel_shape")
    strides = node.attribute("strides", [1] * len(kernel))
    pads = np.reshape(node.attribute("pads", [0] * 2 * len(kernel)), (2, -1)).sum(axis=0)
    sides = [(n - 1) * s - p + k for n, s, p, k in zip(shape[2:], strides, pads, kernel, strict=True)]
    return [*shape[:2], *map(int, sides)]


@mapping("OneHot")
def _one_hot(node: Node) -> Tensor:
    depth, (off, on) = int(node.value(1).reshape(-1)[0]), node.value(2)
    counted = _from_front(node, node.cast(node.tensor(0), DataType.INT64), depth)
    axis = node.axis(-1, len(counted.shape) + 1)
    return node.run("OneHot", counted, np.int32(depth), on, off, axis=axis)


@mapping("NonZero")
def _non_zero(node: Node) -> Tensor:
    return node.run("NonZero", node.tensor(0), transpose=True, dtype=DataType.INT64)


@mapping("Compress")
def _compress(node: Node) -> Tensor:
    """The places of true entries pick from the axis; without one the input is flat."""
    x, axis = node.tensor(0), node.attribute("axis")
    if axis is None:
        x = node.run("Reshape", x, int64([-1]))
    places = node.run("Squeeze", node.run("Where", node.tensor(1)), axis=[1])
    return node.run("GatherV2", x, places, int64(node.axis(0, len(x.shape))))


@mapping("TopK")
def _top_k(node: Node) -> tuple[Tensor, Tensor]:
    flags: dict[str, Any] = {name: bool(node.attribute(name, 1)) for name in ("sorted", "largest")}
    k = np.int32(node.whole(1)[0])
    values, indices = node.run_several("TopK", node.tensor(0), k, dim=node.axis(-1), **flags)
    return values, node.cast(indices, DataType.INT64)


@mapping("Unique")
def _unique(_node: Node) -> Tensor:
    raise NotMapped("UniqueWithCountsAndSorting does not tell where values occur first")


@mapping("ReverseSequence")
def _reverse_sequence(node: Node) -> Tensor:
    time, batch = node.attribute("time_axis", 0), node.attribute("batch_axis", 1)
    return node.run("ReverseSequence", node.tensor(0), node.tensor(1), seq_dim=time, batch_dim=batch)
