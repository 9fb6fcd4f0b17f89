"""Data types and formats: AscendCL's numbers, NumPy's items."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from aacl import DataType, Format, InvalidArgument, UnsupportedDataType

WITH_NUMPY = [each for each in DataType if each.name not in (
    "UNDEFINED", "STRING", "UINT1", "COMPLEX32", "HIFLOAT8", "FLOAT4_E1M2")]  # fmt: skip


@pytest.mark.parametrize("data_type", WITH_NUMPY, ids=lambda each: each.name)
def test_numpy_and_back(data_type: DataType) -> None:
    """A type's NumPy equivalent leads back to it, and its items have the same size."""
    dtype = data_type.numpy_dtype

    assert DataType.of(dtype) is data_type
    assert DataType.of(dtype.type) is data_type
    assert data_type.itemsize == dtype.itemsize


@pytest.mark.parametrize("data_type", [each for each in DataType if each not in WITH_NUMPY], ids=lambda each: each.name)
def test_types_without_equivalent_say_so(data_type: DataType) -> None:
    """NumPy has no such items: asking names the type."""
    with pytest.raises(UnsupportedDataType, match=data_type.name):
        _ = data_type.numpy_dtype


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (DataType.INT8, DataType.INT8),
        (np.float32, DataType.FLOAT),
        ("float16", DataType.FLOAT16),
        ("bfloat16", DataType.BF16),
        (ml_dtypes.float8_e5m2, DataType.FLOAT8_E5M2),
        (bool, DataType.BOOL),
        (float, DataType.DOUBLE),
        (int, DataType.INT64),
        (np.dtype("complex64"), DataType.COMPLEX64),
    ],
)
def test_what_names_a_type(given: object, expected: DataType) -> None:
    """Data types, NumPy dtypes, scalar types and names are taken."""
    assert DataType.of(given) is expected  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [">f4", np.dtype("U3"), np.dtype("O"), "datetime64[s]", np.dtype([("a", "i4")])])
def test_foreign_items_are_unsupported(given: str | np.dtype[np.void]) -> None:
    """Dtypes that no AscendCL type has, foreign byte order among them, are refused with the ones that are taken."""
    with pytest.raises(UnsupportedDataType, match="float32"):
        DataType.of(given)


@pytest.mark.parametrize("given", ["nonsense", 5, object()])
def test_what_is_no_type_is_an_invalid_argument(given: object) -> None:
    """Something that NumPy does not take as a dtype either is named in the error."""
    with pytest.raises(InvalidArgument, match="not a data type"):
        DataType.of(given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data_type", "bits", "itemsize"),
    [
        (DataType.FLOAT, 32, 4),
        (DataType.INT4, 4, 1),
        (DataType.UINT1, 1, 1),
        (DataType.BF16, 16, 2),
        (DataType.COMPLEX128, 128, 16),
        (DataType.COMPLEX32, 32, 4),
        (DataType.BOOL, 8, 1),
        (DataType.STRING, 0, 0),
        (DataType.UNDEFINED, 0, 0),
    ],
)
def test_sizes(data_type: DataType, bits: int, itemsize: int) -> None:
    """Packed types tell their true bits, and take a whole byte an item."""
    assert (data_type.bits, data_type.itemsize) == (bits, itemsize)


@pytest.mark.parametrize(
    ("member", "number"),
    [
        (DataType.FLOAT, 0), (DataType.INT32, 3), (DataType.DOUBLE, 11), (DataType.BOOL, 12), (DataType.BF16, 27),
        (Format.NCHW, 0), (Format.ND, 2), (Format.NC1HWC0, 3), (Format.FRACTAL_NZ, 29), (Format.NDHWC, 27),
    ],
)  # fmt: skip
def test_numbers_are_ascendcls(member: int, number: int) -> None:
    """Programs pass and store the vendor's numbers."""
    assert member == number
