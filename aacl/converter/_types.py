"""ONNX element numbers and data types, both ways. Pure."""

from __future__ import annotations

from aacl.converter._reports import Unconvertible
from aacl.dtypes import DataType

__all__ = ("NAMED_TYPES", "data_type_named", "data_type_of", "element_of")

_BY_ELEMENT = {
    1: DataType.FLOAT, 2: DataType.UINT8, 3: DataType.INT8, 4: DataType.UINT16, 5: DataType.INT16, 6: DataType.INT32,
    7: DataType.INT64, 9: DataType.BOOL, 10: DataType.FLOAT16, 11: DataType.DOUBLE, 12: DataType.UINT32,
    13: DataType.UINT64, 16: DataType.BF16, 17: DataType.FLOAT8_E4M3FN, 19: DataType.FLOAT8_E5M2,
}  # fmt: skip
_BY_DATA_TYPE = {data_type: element for element, data_type in _BY_ELEMENT.items()}
_STRING = 8
_SPELLINGS = {"tensor(float8e4m3fn)": "FLOAT8E4M3FN", "tensor(float8e5m2)": "FLOAT8E5M2"}

NAMED_TYPES: dict[str, DataType] = {
    "FP32": DataType.FLOAT, "FP16": DataType.FLOAT16, "BF16": DataType.BF16, "UINT8": DataType.UINT8,
    "INT8": DataType.INT8, "INT16": DataType.INT16, "UINT16": DataType.UINT16, "INT32": DataType.INT32,
    "UINT32": DataType.UINT32, "INT64": DataType.INT64, "UINT64": DataType.UINT64, "DOUBLE": DataType.DOUBLE,
    "FP8E5M2": DataType.FLOAT8_E5M2, "FP8E4M3FN": DataType.FLOAT8_E4M3FN,
}  # fmt: skip
"""The types that ``--output_type`` names."""


def data_type_of(element: int, what: str) -> DataType:
    """Return the data type of an ONNX element number.

    Raises:
        Unconvertible: models cannot take or give such elements, strings for one.
    """
    if element in _BY_ELEMENT:
        return _BY_ELEMENT[element]
    kind = "holds strings" if element == _STRING else f"has ONNX element type {element}"
    raise Unconvertible(
        "E10055",
        f"{what} {kind}; inputs and outputs hold {', '.join(known.name for known in _BY_DATA_TYPE)}",
        solution="Do that step outside the model, and cut the graph there.",
    )


def data_type_named(kind: str, what: str) -> DataType:
    """Return the data type of ONNX Runtime's name of a tensor type, such as ``tensor(float)``.

    Raises:
        Unconvertible: it is no tensor, or has elements that no device holds.
    """
    import onnx

    name = _SPELLINGS.get(kind, kind.removeprefix("tensor(").removesuffix(")").upper())
    if not kind.startswith("tensor(") or name not in list(onnx.TensorProto.DataType.keys()):
        raise Unconvertible("E10055", f"{what} is no tensor but a {kind}")
    return data_type_of(onnx.TensorProto.DataType.Value(name), what)


def element_of(data_type: DataType) -> int:
    """Return the ONNX element number of a data type that `data_type_of` gives."""
    return _BY_DATA_TYPE[data_type]
