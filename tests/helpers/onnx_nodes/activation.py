"""Activations, softmax and their kin."""

from __future__ import annotations

from typing import Any

import numpy as np

from aacl import Tensor
from tests.helpers.onnx_nodes._mapping import mapping
from tests.helpers.onnx_nodes._node import Node

__all__ = ()

_SELU = (1.6732632423543772, 1.0507009873554805)
"""The alpha and gamma that Selu has, and no others."""


@mapping("Celu")
def _celu(node: Node) -> Tensor:
    return _unary(node, "CeluV2", alpha=node.attribute("alpha", 1.0))


@mapping("Elu")
def _elu(node: Node) -> Tensor:
    return _unary(node, "Elu", alpha=node.attribute("alpha", 1.0))


@mapping("Selu")
def _selu(node: Node) -> Tensor:
    """Selu of other constants is Elu with a scale."""
    alpha, gamma = node.attribute("alpha", _SELU[0]), node.attribute("gamma", _SELU[1])
    if np.allclose((alpha, gamma), _SELU, rtol=1e-6):
        return _unary(node, "Selu")
    return _unary(node, "Elu", alpha=alpha, scale=gamma)


@mapping("Gelu")
def _gelu(node: Node) -> Tensor:
    return _unary(node, "GeluV2", approximate=node.attribute("approximate", "none"))


@mapping("HardSigmoid")
def _hard_sigmoid(node: Node) -> Tensor:
    return _unary(node, "HardSigmoid", alpha=node.attribute("alpha", 0.2), beta=node.attribute("beta", 0.5))


@mapping("Hardmax")
def _hardmax(node: Node) -> Tensor:
    return _unary(node, "HardMax", axis=node.attribute("axis", -1))


@mapping("LeakyRelu")
def _leaky_relu(node: Node) -> Tensor:
    return _unary(node, "LeakyRelu", negative_slope=node.attribute("alpha", 0.01))


@mapping("LogSoftmax")
def _log_softmax(node: Node) -> Tensor:
    return _unary(node, "LogSoftmaxV2", axes=[node.attribute("axis", -1)])


@mapping("Softmax")
def _softmax(node: Node) -> Tensor:
    return _unary(node, "SoftmaxV2", axes=[node.attribute("axis", -1)])


@mapping("PRelu")
def _prelu(node: Node) -> Tensor:
    """PRelu has one slope, or one a channel; a slope that broadcasts takes the long way."""
    x, slope = node.tensor(0), node.tensor(1)
    if slope.shape in ((1,), x.shape[1:2]):
        return _unary(node, "PRelu", slope)
    zero = np.zeros((), x.dtype.numpy_dtype)
    below = node.run("Mul", node.run("Minimum", x, zero), slope)
    return node.run("Add", node.run("Relu", x), below)


@mapping("Shrink")
def _shrink(node: Node) -> Tensor:
    return _unary(node, "Shrink", lambd=node.attribute("lambd", 0.5), bias=node.attribute("bias", 0.0))


@mapping("Swish")
def _swish(node: Node) -> Tensor:
    return _unary(node, "Swish", scale=node.attribute("alpha", 1.0))


@mapping("SwiGLU")
def _swiglu(node: Node) -> Tensor:
    """SwiGlu takes the gate and the other factor as halves of one tensor, and has no alpha."""
    alpha, gate, other = node.attribute("alpha", 1.0), node.tensor(0), node.tensor(1)
    if alpha == 1 and gate.shape == other.shape:
        return node.run("SwiGlu", node.run("ConcatD", [gate, other], concat_dim=-1), dim=-1)
    return node.run("Mul", node.run("Swish", gate, scale=alpha), other)


@mapping("ThresholdedRelu")
def _thresholded_relu(node: Node) -> Tensor:
    """Threshold gives one where the input is above it, and zero elsewhere."""
    is_above = _unary(node, "Threshold", threshold=node.attribute("alpha", 1.0))
    return node.run("Mul", node.tensor(0), is_above)


def _unary(node: Node, operator: str, *others: Tensor, **attributes: Any) -> Tensor:
    return node.run(operator, node.tensor(0), *others, **attributes)
