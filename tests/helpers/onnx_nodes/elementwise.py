"""Operators with a counterpart that needs nothing changed, and arithmetic."""

from __future__ import annotations

from functools import partial

import numpy as np

from aacl import DataType, Tensor
from aacl.ops import schema_of
from tests.helpers.onnx_nodes._mapping import NotMapped, mapping
from tests.helpers.onnx_nodes._node import Node

__all__ = ("widened",)

_DIRECT = {
    **{
        name: name
        for name in (
            *("Abs", "Acos", "Acosh", "Add", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Equal", "Erf"),
            *("Exp", "Floor", "Greater", "HardSwish", "Less", "Log", "Mish", "Mul", "Neg", "Reciprocal", "Relu"),
            *("Round", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Sub", "Tan", "Tanh"),
        )
    },
    "And": "LogicalAnd",
    "BitwiseAnd": "BitwiseAnd",
    "BitwiseNot": "Invert",
    "BitwiseOr": "BitwiseOr",
    "BitwiseXor": "BitwiseXor",
    "GreaterOrEqual": "GreaterEqual",
    "Identity": "Identity",
    "IsNaN": "IsNan",
    "LessOrEqual": "LessEqual",
    "Not": "LogicalNot",
    "Or": "LogicalOr",
    "Where": "SelectV2",
}

_WIDER = {
    DataType.BOOL: DataType.INT32,
    DataType.INT8: DataType.INT32,
    DataType.UINT8: DataType.INT32,
    DataType.INT16: DataType.INT32,
    DataType.UINT16: DataType.INT32,
    DataType.UINT32: DataType.INT64,
}
"""A type that every operator on whole numbers lists, and that holds these."""


def _direct(operator: str, node: Node) -> Tensor:
    inputs = [node.tensor(index) for index in range(len(node.case.inputs))]
    return node.run(operator, *inputs)


for _onnx_type, _operator in _DIRECT.items():
    if _onnx_type not in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
        mapping(_onnx_type)(partial(_direct, _operator))


def widened(node: Node, *tensors: Tensor, operator: str) -> tuple[Tensor, ...]:
    """Return tensors in a wider type, where an operator does not list their own and the wider one holds it."""
    dtype = tensors[0].dtype
    if dtype in schema_of(operator).inputs[0].dtypes or dtype not in _WIDER:
        return tensors
    return tuple(node.cast(tensor, _WIDER[dtype]) for tensor in tensors)


def _compare(operator: str, node: Node) -> Tensor:
    tensors = widened(node, node.tensor(0), node.tensor(1), operator=operator)
    return node.run(operator, *tensors)


for _onnx_type in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"):
    mapping(_onnx_type)(partial(_compare, _DIRECT[_onnx_type]))


@mapping("Div")
def _div(node: Node) -> Tensor:
    """Whole numbers are divided towards zero in ONNX."""
    is_whole = node.value(0).dtype.kind in "iu"
    return node.run("Div" if is_whole else "RealDiv", node.tensor(0), node.tensor(1))


@mapping("Mod")
def _mod(node: Node) -> Tensor:
    """The sign is the divisor's, with fmod that of the dividend."""
    operator = "Mod" if node.attribute("fmod", 0) else "FloorMod"
    tensors = widened(node, node.tensor(0), node.tensor(1), operator=operator)
    return node.cast(node.run(operator, *tensors), node.tensor(0).dtype)


@mapping("Pow")
def _pow(node: Node) -> Tensor:
    """Pow takes two inputs of one type; the result has that of the base."""
    base, exponent = node.tensor(0), node.tensor(1)
    common = _common(base.dtype, exponent.dtype)
    return node.cast(node.run("Pow", node.cast(base, common), node.cast(exponent, common)), base.dtype)


def _common(base: DataType, exponent: DataType) -> DataType:
    if base is exponent or not _is_whole(base):
        return base
    return exponent if not _is_whole(exponent) or exponent.itemsize > base.itemsize else base


def _is_whole(dtype: DataType) -> bool:
    return dtype.numpy_dtype.kind in "iu"


@mapping("BitShift")
def _bit_shift(node: Node) -> Tensor:
    operator = "LeftShift" if node.attribute("direction") == "LEFT" else "RightShift"
    shifts = node.value(1)
    if np.any(shifts < 0) or np.any(shifts >= 8 * node.value(0).itemsize):
        raise NotMapped(f"{operator} counts shifts below zero, or past the type's width, as its ends")
    return node.run(operator, node.tensor(0), node.tensor(1))


@mapping("Xor")
def _xor(node: Node) -> Tensor:
    """NotEqual lists number types only."""
    tensors = [node.cast(node.tensor(index), DataType.INT8) for index in (0, 1)]
    return node.run("NotEqual", *tensors)


@mapping("IsInf")
def _is_inf(node: Node) -> Tensor:
    if not node.attribute("detect_negative", 1) or not node.attribute("detect_positive", 1):
        raise NotMapped("IsInf cannot be told the sign to look for")
    return node.run("IsInf", node.tensor(0))


@mapping("Max", "Min")
def _extreme(node: Node) -> Tensor:
    operator = {"Max": "Maximum", "Min": "Minimum"}[node.case.op_type]
    first, *others = widened(node, *_all(node), operator=operator)
    for other in others:
        first = node.run(operator, first, other)
    return node.cast(first if others else node.run("Identity", first), node.tensor(0).dtype)


@mapping("Sum")
def _sum(node: Node) -> Tensor:
    return _added(node, _all(node))


@mapping("Mean")
def _mean(node: Node) -> Tensor:
    tensors = _all(node)
    return node.run("Muls", _added(node, tensors), value=1 / len(tensors))


def _added(node: Node, tensors: list[Tensor]) -> Tensor:
    """AddN takes equal shapes; others are broadcast by Add."""
    total = tensors[0]
    if all(tensor.shape == total.shape for tensor in tensors):
        total = node.run("AddN", tensors)
        return total
    for other in tensors[1:]:
        total = node.run("Add", total, other)
    return total


def _all(node: Node) -> list[Tensor]:
    return [node.tensor(index) for index in range(len(node.case.inputs))]


@mapping("Clip")
def _clip(node: Node) -> Tensor:
    x = node.tensor(0)
    if node.has(1) and node.has(2):
        x = _between(node, x)
    elif node.has(1) or node.has(2):
        operator = "Maximum" if node.has(1) else "Minimum"
        both = widened(node, x, node.tensor(1 if node.has(1) else 2), operator=operator)
        x = node.cast(node.run(operator, *both), x.dtype)
    else:
        x = node.run("Identity", x)
    return x


def _between(node: Node, x: Tensor) -> Tensor:
    """ClipByValue lets the lower bound win where it is above the upper one; in ONNX the upper one does."""
    if np.all(node.value(1) <= node.value(2)):
        return node.run("ClipByValue", x, node.tensor(1), node.tensor(2))
    return node.run("Minimum", node.run("Maximum", x, node.tensor(1)), node.tensor(2))


@mapping("Dropout")
def _dropout(node: Node) -> list[Tensor]:
    """Inference copies the input, and so does training that drops nothing."""
    if node.has(2) and node.value(2) and not (node.has(1) and node.value(1) == 0):
        raise NotMapped("what is dropped in training is random, and differs between generators")
    results = [node.run("Identity", node.tensor(0))]
    if len(node.case.outputs) > 1:
        results.append(node.run("Fill", np.array(node.value(0).shape), np.array(True)))
    return results
