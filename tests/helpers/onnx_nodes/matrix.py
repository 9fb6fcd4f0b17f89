"""Products of matrices."""

from __future__ import annotations

import numpy as np

from aacl import DataType, Tensor
from aacl.abc import Array
from tests.helpers.onnx_nodes._mapping import mapping
from tests.helpers.onnx_nodes._node import Node
from tests.helpers.onnx_nodes.conversion import quantized

__all__ = ("product",)


@mapping("MatMul")
def _mat_mul(node: Node) -> Tensor:
    """Vectors become matrices of one row or column, which the result then loses."""
    a, b = node.tensor(0), node.tensor(1)
    row, column = len(a.shape) == 1, len(b.shape) == 1
    left = node.run("Unsqueeze", a, axes=[0]) if row else a
    right = node.run("Unsqueeze", b, axes=[1]) if column else b
    y = product(node, left, right)
    dropped = [-2] * row + [-1] * column
    return node.run("Squeeze", y, axis=dropped) if dropped else y


def product(node: Node, a: Tensor, b: Tensor, *, transposed: bool = False) -> Tensor:
    """Multiply matrices, or batches of them."""
    if len(a.shape) == len(b.shape) == 2:
        return node.run("MatMulV2", a, b, transpose_x2=transposed)
    return node.run("BatchMatMulV2", a, b, adj_x2=transposed)


@mapping("Gemm")
def _gemm(node: Node) -> Tensor:
    alpha, beta = node.attribute("alpha", 1.0), node.attribute("beta", 1.0)
    turned = [bool(node.attribute(name, 0)) for name in ("transA", "transB")]
    y = node.run("MatMulV2", node.tensor(0), node.tensor(1), transpose_x1=turned[0], transpose_x2=turned[1])
    if alpha != 1:
        y = node.run("Muls", y, value=alpha)
    if node.has(2):
        bias = node.tensor(2) if beta == 1 else node.run("Muls", node.tensor(2), value=beta)
        y = node.run("Add", y, bias)
    return y


@mapping("Einsum")
def _einsum(node: Node) -> Tensor:
    """Einsum lists float, float16 and int32; what it does not list passes through float."""
    tensors = [node.tensor(index) for index in range(len(node.case.inputs))]
    through = DataType.FLOAT if tensors[0].dtype in (DataType.DOUBLE, DataType.BF16) else tensors[0].dtype
    equation = node.attribute("equation")
    y = node.run("Einsum", [node.cast(tensor, through) for tensor in tensors], equation=equation)
    return node.cast(y, tensors[0].dtype)


@mapping("Det")
def _det(node: Node) -> Tensor:
    return node.run("MatrixDeterminant", node.tensor(0))


@mapping("MatMulInteger")
def _mat_mul_integer(node: Node) -> Tensor:
    zeros = [node.value(index) if node.has(index) else None for index in (2, 3)]
    return product(node, centred(node, node.tensor(0), zeros[0]), centred(node, node.tensor(1), zeros[1]))


def centred(node: Node, x: Tensor, zero: Array | None, dtype: DataType = DataType.INT32) -> Tensor:
    """Return quantised numbers less their zero point, which broadcasts, in a type that holds them."""
    wide = node.cast(x, dtype)
    if zero is None or not zero.any():
        return wide
    number = zero.reshape(()) if zero.size == 1 else zero
    return node.run("Sub", wide, number.astype(dtype.numpy_dtype))


@mapping("QLinearMatMul")
def _q_linear_mat_mul(node: Node) -> Tensor:
    """The whole numbers are multiplied as such; the scales meet in one factor."""
    a, b = (centred(node, node.tensor(index), node.value(index + 2)) for index in (0, 3))
    y = node.cast(product(node, a, b), DataType.FLOAT)
    return rescaled(node, y, node.value(1), node.value(4), node.value(6), node.value(7))


def rescaled(node: Node, y: Tensor, a_scale: Array, b_scale: Array, y_scale: Array, y_zero: Array) -> Tensor:
    """Quantise a product of quantised factors."""
    factor = y_scale.astype(np.float64) / (a_scale.astype(np.float64) * b_scale.astype(np.float64))
    return quantized(node, y, factor.reshape(()), y_zero.reshape(()))
