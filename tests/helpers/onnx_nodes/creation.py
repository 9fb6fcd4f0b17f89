"""Operators that make tensors."""

from __future__ import annotations

import numpy as np

from aacl import DataType, Tensor
from tests.helpers.onnx_nodes._mapping import NotMapped, mapping
from tests.helpers.onnx_nodes._node import Node
from tests.helpers.onnx_nodes.conversion import data_type
from tests.helpers.onnx_nodes.reduction import int64

__all__ = ()


@mapping("Constant")
def _constant(_node: Node) -> Tensor:
    raise NotMapped("a constant is a weight of the graph; nothing runs")


@mapping("ConstantOfShape")
def _constant_of_shape(node: Node) -> Tensor:
    from onnx.numpy_helper import to_array

    value = node.attribute("value")
    scalar = np.zeros((), np.float32) if value is None else to_array(value).reshape(())
    return node.run("Fill", int64(node.whole(0)), scalar)


@mapping("EyeLike")
def _eye_like(node: Node) -> Tensor:
    """Eye has the main diagonal only; another one is put into zeros."""
    like, to, k = node.value(0), node.attribute("dtype"), node.attribute("k", 0)
    dtype = DataType.of(like.dtype) if to is None else data_type(to)
    rows, columns = like.shape
    if k == 0:
        return node.run("Eye", num_rows=rows, num_columns=columns, dtype=int(dtype))
    length = max(min(rows, columns - k) if k > 0 else min(rows + k, columns), 0)
    ones = node.run("Fill", int64([length]), np.ones((), dtype.numpy_dtype))
    numbers = [np.int32(number) for number in (k, rows, columns)]
    return node.run("MatrixDiagV2", ones, *numbers, np.zeros((), dtype.numpy_dtype))


@mapping("Range")
def _range(node: Node) -> Tensor:
    return node.run("Range", *(node.value(index) for index in range(3)))


@mapping("Bernoulli")
def _bernoulli(_node: Node) -> Tensor:
    raise NotMapped("random numbers differ between generators")
