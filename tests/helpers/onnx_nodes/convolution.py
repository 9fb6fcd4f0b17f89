"""Convolutions and what folds columns into pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from aacl import DataType, Tensor
from aacl.abc import Array
from aacl.ops import schema_of
from tests.helpers.onnx_nodes._geometry import Geometry, geometry
from tests.helpers.onnx_nodes._mapping import NotMapped, mapping
from tests.helpers.onnx_nodes._node import Node
from tests.helpers.onnx_nodes.matrix import centred, rescaled
from tests.helpers.onnx_nodes.reduction import int64

__all__ = ()

_LAYOUT = {2: "NCHW", 3: "NCDHW"}


@mapping("Conv")
def _conv(node: Node) -> Tensor:
    return _convolved(node, node.tensor(0), node.tensor(1), node.optional(2))


def _convolved(node: Node, x: Tensor, weights: Tensor, bias: Tensor | None = None) -> Tensor:
    """Run Conv2D or Conv3D; a single spatial axis gets one of length one beside it."""
    windows = geometry(node, x.shape[2:], weights.shape[2:])
    is_line = windows.rank == 1
    x, weights = (node.run("Unsqueeze", each, axes=[2]) if is_line else each for each in (x, weights))
    operator, attributes = _attributes(node, windows.widened(), "Conv{}D")
    y = node.run(operator, _listed(node, operator, x), _listed(node, operator, weights), bias, **attributes)
    y = node.cast(y, x.dtype)
    return node.run("Squeeze", y, axis=[2]) if is_line else y


def _attributes(node: Node, windows: Geometry, name: str) -> tuple[str, dict[str, Any]]:
    """Return an operator for the number of axes, and its attributes, which go by the tensor's format."""
    if windows.rank not in _LAYOUT:
        raise NotMapped(f"no convolution has {windows.rank} spatial axes")
    return name.format(windows.rank), {
        "strides": [1, 1, *windows.strides],
        "dilations": [1, 1, *windows.dilations],
        "pads": windows.flat_pads,
        "groups": node.attribute("group", 1),
        "data_format": _LAYOUT[windows.rank],
    }


def _listed(node: Node, operator: str, tensor: Tensor) -> Tensor:
    """Return a tensor in float16 where the operator lists no float, as a converter would."""
    if tensor.dtype in schema_of(operator).inputs[-3].dtypes or tensor.dtype is not DataType.FLOAT:
        return tensor
    return node.cast(tensor, DataType.FLOAT16)


@mapping("ConvTranspose")
def _conv_transpose(node: Node) -> Tensor:
    """The operator is told the shape of its output."""
    x, weights = node.tensor(0), node.tensor(1)
    windows = geometry(node, x.shape[2:], weights.shape[2:])
    extra = node.attribute("output_padding", [0] * windows.rank)
    sizes, pads = _transposed_sizes(node, windows, x.shape[2:], extra)
    windows = Geometry(windows.kernel, windows.strides, windows.dilations, tuple(pads))
    channels = weights.shape[1] * node.attribute("group", 1)
    is_line = windows.rank == 1
    shape = [x.shape[0], channels, *([1] if is_line else []), *sizes]
    operator, attributes = _attributes(node, windows.widened(), "Conv{}DTranspose")
    attributes["output_padding"] = [0, 0, *([0] if is_line else []), *extra]
    inputs = [node.run("Unsqueeze", each, axes=[2]) if is_line else each for each in (x, weights)]
    halves = [_listed(node, operator, each) for each in inputs]
    y = node.run(operator, int64(shape), *halves, node.optional(2), **attributes)
    y = node.cast(y, x.dtype)
    return node.run("Squeeze", y, axis=[2]) if is_line else y


def _transposed_sizes(
    node: Node, windows: Geometry, spatial: tuple[int, ...], extra: list[int]
) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the output's sizes and the pads; where the node states sizes, pads follow from them."""
    numbers = zip(spatial, windows.strides, windows.kernel, windows.dilations, extra, strict=True)
    full = [(n - 1) * s + (k - 1) * d + 1 + more for n, s, k, d, more in numbers]
    mode, stated = node.attribute("auto_pad", "NOTSET"), node.attribute("output_shape")
    if stated is None and not mode.startswith("SAME"):
        return [size - sum(pair) for size, pair in zip(full, windows.pads, strict=True)], list(windows.pads)
    wanted = stated or [n * s for n, s in zip(spatial, windows.strides, strict=True)]
    totals = [max(size - want, 0) for size, want in zip(full, wanted, strict=True)]
    less_first = mode == "SAME_UPPER"
    pads = [(t // 2, t - t // 2) if less_first else (t - t // 2, t // 2) for t in totals]
    return list(wanted), pads


@mapping("ConvInteger")
def _conv_integer(node: Node) -> Tensor:
    """Bytes less their zero points take nine bits; float holds their products and sums."""
    zeros = [node.value(index) if node.has(index) else None for index in (2, 3)]
    x = centred(node, node.tensor(0), zeros[0], DataType.FLOAT)
    weights = centred(node, node.tensor(1), _per_filter(zeros[1]), DataType.FLOAT)
    return node.cast(_convolved(node, x, weights), DataType.INT32)


def _per_filter(zero: Array | None) -> Array | None:
    return zero if zero is None or zero.size == 1 else zero.reshape(-1, 1, 1, 1)


@mapping("QLinearConv")
def _q_linear_conv(node: Node) -> Tensor:
    """As ConvInteger; then the scales meet in one factor."""
    x = centred(node, node.tensor(0), node.value(2), DataType.FLOAT)
    weights = centred(node, node.tensor(3), _per_filter(node.value(5)), DataType.FLOAT)
    y = _convolved(node, x, weights)
    return rescaled(node, y, node.value(1), node.value(4), node.value(6), node.value(7))


@mapping("Col2Im")
def _col2im(node: Node) -> Tensor:
    size, kernel = (np.array(node.whole(index), np.int32) for index in (1, 2))
    if len(size) != 2:
        raise NotMapped("Col2ImV2 makes pictures of two axes")
    windows = geometry(node, size.tolist(), kernel.tolist())
    attributes = {"dilation": windows.dilations, "padding": windows.flat_pads, "stride": windows.strides}
    return node.run("Col2ImV2", node.tensor(0), size, kernel, **attributes)


@mapping("DeformConv")
def _deform_conv(node: Node) -> Tensor:
    """ONNX has row and column of each element in turn; the operator all columns, then all rows, then the masks."""
    x, weights, offsets = (node.tensor(index) for index in range(3))
    rows = np.arange(0, offsets.shape[1], 2)
    shifts = node.run("GatherV2", offsets, int64([*rows + 1, *rows]), int64(1))
    if node.has(4):
        shifts = node.run("ConcatD", [shifts, node.tensor(4)], concat_dim=1)
    _, attributes = _attributes(node, geometry(node, x.shape[2:], weights.shape[2:]), "")
    attributes |= {"deformable_groups": node.attribute("offset_group", 1), "modulated": node.has(4)}
    return node.run("DeformableConv2D", x, weights, shifts, node.optional(3), **attributes)
