"""Conversions of data types, and quantisation."""

from __future__ import annotations

import numpy as np

import aacl
from aacl import DataType, Tensor
from aacl.abc import Array
from tests.helpers.onnx_nodes._mapping import NotMapped, mapping
from tests.helpers.onnx_nodes._node import Node
from tests.helpers.onnx_nodes.reduction import int64

__all__ = ("data_type", "dequantized", "quantized")


def data_type(number: int) -> DataType:
    """Return the data type that ONNX numbers so.

    Raises:
        NotMapped: there is none.
    """
    from onnx.helper import tensor_dtype_to_np_dtype

    dtype = tensor_dtype_to_np_dtype(number)
    try:
        return DataType.of(dtype)
    except aacl.UnsupportedDataType:
        raise NotMapped(f"no tensor is of type {dtype}") from None


@mapping("Cast")
def _cast(node: Node) -> Tensor:
    return _converted(node, data_type(node.attribute("to")))


@mapping("CastLike")
def _cast_like(node: Node) -> Tensor:
    return node.run("CastLike", node.tensor(0), node.tensor(1))


@mapping("BitCast")
def _bit_cast(node: Node) -> Tensor:
    return node.run("Bitcast", node.tensor(0), type=data_type(node.attribute("to")))


def _converted(node: Node, dtype: DataType) -> Tensor:
    if dtype not in aacl.ops.schema_of("Cast").outputs[0].dtypes:
        raise NotMapped(f"the prototype of Cast gives no {dtype.name.lower()}")
    return node.run("Cast", node.tensor(0), dst_type=int(dtype))


@mapping("DequantizeLinear")
def _dequantize(node: Node) -> Tensor:
    """AscendAntiQuant takes int8 alone; the formula serves every whole type."""
    if node.value(0).dtype.kind not in "iu":
        raise NotMapped("values of less than a byte, or of eight-bit floats, are no input of Cast")
    zero = node.value(2) if node.has(2) else None
    return dequantized(node, node.tensor(0), node.value(1), zero, *_spread(node))


def dequantized(
    node: Node, x: Tensor, scale: Array, zero: Array | None, axis: int | None = None, block: int = 0
) -> Tensor:
    """Return the numbers that quantised ones stand for: (x - zero) * scale."""
    dtype = DataType.of(scale.dtype)
    wide = node.cast(x, dtype)
    if zero is not None and zero.any():
        wide = node.run("Sub", wide, _placed(zero.astype(scale.dtype), x.shape, axis, block))
    return node.run("Mul", wide, _placed(scale, x.shape, axis, block))


@mapping("QuantizeLinear")
def _quantize(node: Node) -> Tensor:
    """Quantize makes bytes of whole tensors and of channels; the formula serves the other cases."""
    dtype = _quantized_type(node)
    scale, x = node.value(1), node.tensor(0)
    zero = node.value(2) if node.has(2) else np.zeros(scale.shape, dtype.numpy_dtype)
    axis, block = _spread(node)
    if dtype in (DataType.UINT8, DataType.INT8) and not block:
        name = {DataType.UINT8: "torch.quint8", DataType.INT8: "torch.qint8"}[dtype]
        numbers = scale.reshape(-1), zero.reshape(-1)
        return node.run("Quantize", x, *numbers, axis=0 if axis is None else axis, dtype=name)
    return quantized(node, x, scale, zero, axis, block)


def _quantized_type(node: Node) -> DataType:
    if node.has(2):
        dtype = node.value(2).dtype
        if dtype.kind not in "iu":
            raise NotMapped("values of less than a byte, or of eight-bit floats, are no output of Cast")
        return DataType.of(dtype)
    return data_type(node.attribute("output_dtype", 0) or 2)


def quantized(node: Node, x: Tensor, scale: Array, zero: Array, axis: int | None = None, block: int = 0) -> Tensor:
    """Return numbers as whole ones: x / scale, rounded half to even, plus zero, within the type's range."""
    wide = scale.astype(np.float32)
    rounded = node.run("Round", node.run("RealDiv", x, _placed(wide.astype(x.dtype.numpy_dtype), x.shape, axis, block)))
    moved = node.run("Add", node.cast(rounded, DataType.FLOAT), _placed(zero.astype(np.float32), x.shape, axis, block))
    limits = np.iinfo(zero.dtype)
    within = node.run("ClipByValue", moved, np.float32(limits.min), np.float32(limits.max))
    return node.cast(within, DataType.of(zero.dtype))


def _spread(node: Node) -> tuple[int | None, int]:
    """Return the axis along which scales differ, if they do, and how long their blocks are."""
    return (None if node.value(1).size == 1 else node.axis(1)), node.attribute("block_size", 0)


def _placed(numbers: Array, shape: tuple[int, ...], axis: int | None, block: int) -> Array:
    """Return scales or zero points as a constant that broadcasts against a shape."""
    if axis is None:
        return numbers.reshape(())
    if block:
        return np.repeat(numbers, block, axis=axis).take(int64(range(shape[axis])), axis=axis)
    return numbers.reshape([-1 if place == axis else 1 for place in range(len(shape))])
