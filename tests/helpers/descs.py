"""Descriptions of inputs, and what is inferred of outputs from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from aacl.dtypes import DataType
from aacl.ops._catalogue import schema_of
from aacl.ops._infer import infer_outputs
from aacl.tensors._desc import TensorDesc

FREE = -1


def infer(op_type: str, *inputs: TensorDesc | None, **attributes: object) -> tuple[TensorDesc, ...]:
    """Return what an operator would give for these inputs."""
    schema = schema_of(op_type)
    return infer_outputs(schema, inputs, schema.complete(attributes))


def shapes_of(*args: Any, **kwargs: Any) -> list[tuple[int, ...]]:
    """Return its shapes."""
    return [desc.shape for desc in infer(*args, **kwargs)]


def f32(*shape: int, **more: Any) -> TensorDesc:
    """Return a float32 input."""
    return TensorDesc.of(DataType.FLOAT, shape, **more)


def i64(*values: int) -> TensorDesc:
    """Return an int64 input of one dim whose contents are known."""
    array = np.array(values, np.int64)
    return TensorDesc.of(array.dtype, array.shape, value=array)


def i32(value: int) -> TensorDesc:
    """Return an int32 scalar whose value is known."""
    return TensorDesc.of(DataType.INT32, (), value=np.array(value, np.int32))


def blank(*shape: int) -> TensorDesc:
    """Return a value input whose contents are not known."""
    return TensorDesc.of(DataType.INT64, shape)
