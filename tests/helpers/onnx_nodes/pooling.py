"""Pools."""

from __future__ import annotations

from math import prod

from aacl import Tensor
from tests.helpers.onnx_nodes._geometry import Geometry, geometry
from tests.helpers.onnx_nodes._mapping import NotMapped, mapping
from tests.helpers.onnx_nodes._node import Node
from tests.helpers.onnx_nodes.reduction import int64

__all__ = ()


@mapping("AveragePool")
def _average_pool(node: Node) -> Tensor:
    counts_pads = bool(node.attribute("count_include_pad", 0))
    return _averaged(node, node.tensor(0), counts_pads=counts_pads)


def _averaged(node: Node, x: Tensor, *, counts_pads: bool) -> Tensor:
    """Run AvgPoolV2 or AvgPool3D; a single spatial axis gets one of length one beside it."""
    windows = _windows(node, x)
    if windows.is_dilated:
        raise NotMapped("AvgPoolV2 and AvgPool3D have no dilations")
    if windows.rank == 1:
        return _flattened(node, _planar_average(node, _lifted(node, x), windows.widened(), counts_pads=counts_pads))
    if windows.rank == 2:
        return _planar_average(node, x, windows, counts_pads=counts_pads)
    return node.run(
        "AvgPool3D",
        x,
        ksize=[1, 1, *windows.kernel],
        strides=[1, 1, *windows.strides],
        pads=windows.flat_pads,
        ceil_mode=bool(node.attribute("ceil_mode", 0)),
        count_include_pad=counts_pads,
        data_format="NCDHW",
    )


def _planar_average(node: Node, x: Tensor, windows: Geometry, *, counts_pads: bool) -> Tensor:
    return node.run(
        "AvgPoolV2",
        x,
        ksize=[1, 1, *windows.kernel],
        strides=[1, 1, *windows.strides],
        pads=windows.flat_pads,
        padding_mode="CALCULATED",
        ceil_mode=bool(node.attribute("ceil_mode", 0)),
        exclusive=not counts_pads,
        data_format="NCHW",
    )


@mapping("LpPool")
def _lp_pool(node: Node) -> Tensor:
    """The p-th root of the sum of p-th powers: an average that counts pads, times the window's size."""
    p, size = float(node.attribute("p", 2)), prod(node.attribute("kernel_shape"))
    powers = node.run("Power", node.run("Abs", node.tensor(0)), power=p)
    sums = node.run("Muls", _averaged(node, powers, counts_pads=True), value=size)
    return node.run("Power", sums, power=1 / p)


@mapping("MaxPool")
def _max_pool(node: Node) -> Tensor:
    if len(node.case.outputs) > 1:
        raise NotMapped("MaxPoolV3 gives no indices, and MaxPoolWithArgmax numbers them differently")
    x = node.tensor(0)
    windows = _windows(node, x)
    if windows.rank == 3:
        return _spatial_maximum(node, x, windows)
    if windows.is_dilated:
        raise NotMapped("MaxPoolV3 has no dilations")
    is_line = windows.rank == 1
    y = _planar_maximum(node, _lifted(node, x) if is_line else x, windows.widened())
    return _flattened(node, y) if is_line else y


def _planar_maximum(node: Node, x: Tensor, windows: Geometry) -> Tensor:
    return node.run(
        "MaxPoolV3",
        x,
        ksize=[1, 1, *windows.kernel],
        strides=[1, 1, *windows.strides],
        pads=windows.flat_pads,
        padding_mode="CALCULATED",
        ceil_mode=bool(node.attribute("ceil_mode", 0)),
        data_format="NCHW",
    )


def _spatial_maximum(node: Node, x: Tensor, windows: Geometry) -> Tensor:
    return node.run(
        "MaxPool3D",
        x,
        ksize=[1, 1, *windows.kernel],
        strides=[1, 1, *windows.strides],
        padding="CALCULATED",
        pads=windows.flat_pads,
        dilation=[1, 1, *windows.dilations],
        ceil_mode=node.attribute("ceil_mode", 0),
        data_format="NCDHW",
    )


def _windows(node: Node, x: Tensor) -> Geometry:
    return geometry(node, x.shape[2:], node.attribute("kernel_shape"))


def _lifted(node: Node, x: Tensor) -> Tensor:
    return node.run("Unsqueeze", x, axes=[2])


def _flattened(node: Node, x: Tensor) -> Tensor:
    return node.run("Squeeze", x, axis=[2])


@mapping("GlobalAveragePool")
def _global_average_pool(node: Node) -> Tensor:
    return node.run("GlobalAveragePool", node.tensor(0))


@mapping("GlobalMaxPool")
def _global_max_pool(node: Node) -> Tensor:
    x = node.tensor(0)
    return node.run("ReduceMax", x, int64(range(2, len(x.shape))), keep_dims=True)
