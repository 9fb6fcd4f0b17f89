"""Data types of outputs, inferred, and those that do not fit."""

from __future__ import annotations

import pytest

from aacl.dtypes import DataType
from aacl.errors import UnsupportedDataType
from aacl.tensors._desc import TensorDesc
from tests.helpers.descs import f32, i64, infer


@pytest.mark.parametrize(
    ("op_type", "dtypes", "attributes", "expected"),
    [
        ("Equal", ("int32", "int32"), {}, "BOOL"),
        ("RealDiv", ("bool", "bool"), {}, "FLOAT"),
        ("RealDiv", ("int32", "int32"), {}, "INT32"),
        ("Log", ("int32",), {}, "FLOAT"),
        ("Mul", ("float16", "int32"), {}, "FLOAT16"),
        ("Mul", ("float16", "bfloat16"), {}, "FLOAT"),
        ("Mul", ("int8", "uint8"), {}, "INT16"),
        ("Mul", ("float32", "complex64"), {}, "COMPLEX64"),
        ("Mul", ("float64", "complex64"), {}, "COMPLEX128"),
        ("Pow", ("bfloat16", "float64"), {}, "DOUBLE"),
        ("Cast", ("float32",), {"dst_type": "bfloat16"}, "BF16"),
        ("IsNan", ("float16",), {}, "BOOL"),
        ("SoftmaxV2", ("float16",), {"half_to_float": True}, "FLOAT"),
        ("SoftmaxV2", ("float16",), {}, "FLOAT16"),
    ],
)
def test_data_types(op_type: str, dtypes: tuple[str, ...], attributes: dict[str, object], expected: str) -> None:
    """The output's dtype follows the inputs, the attributes and the prototype."""
    (found,) = infer(op_type, *(TensorDesc.of(dtype, (2, 2)) for dtype in dtypes), **attributes)

    assert found.dtype.name == expected


def test_special_data_types() -> None:
    """Quantised products give int32; ArgMaxD gives int32 whatever its dtype attribute says."""
    int8 = TensorDesc.of("int8", (2, 2))
    assert infer("MatMulV2", int8, int8)[0].dtype is DataType.INT32
    assert infer("ArgMaxD", f32(2, 3), dimension=0)[0].dtype is DataType.INT32
    assert infer("ArgMaxV2", f32(2, 3), i64(0))[0].dtype is DataType.INT64
    assert infer("ArgMaxV2", f32(2, 3), i64(0), dtype="int32")[0].dtype is DataType.INT32


def test_data_types_that_do_not_fit() -> None:
    """Dtypes outside the prototype, unequal ones, and an impossible dst_type."""
    with pytest.raises(UnsupportedDataType, match="operator Sub: input x1 has data type STRING"):
        infer("Sub", TensorDesc.of(DataType.STRING, (2,)), TensorDesc.of(DataType.STRING, (2,)))
    with pytest.raises(UnsupportedDataType, match="input x1 is FLOAT and input x2 is INT32; they must be equal"):
        infer("Add", f32(2), TensorDesc.of("int32", (2,)))
    with pytest.raises(UnsupportedDataType, match=r"dst_type is STRING \(13\); it takes FLOAT"):
        infer("Cast", f32(2), dst_type=DataType.STRING)
