"""Data types and tensor formats: AscendCL's numbers, sizes and NumPy equivalents.

The numbers are those of ``aclDataType`` and ``aclFormat``; ``ge::DataType``,
which attributes such as ``dst_type`` and file names use, has the same ones.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.errors import InvalidArgument, UnsupportedDataType

if TYPE_CHECKING:
    from typing import TypeAlias

    DTypeLike: TypeAlias = "DataType | np.dtype[Any] | type[Any] | str"

__all__ = ("DataType", "Format")


class DataType(enum.IntEnum):
    """The type of a tensor's elements, by AscendCL's number."""

    # Stand beside each member, filled below: enum members take no annotations of their own.
    bits: int
    itemsize: int

    UNDEFINED = -1
    FLOAT = 0
    FLOAT16 = 1
    INT8 = 2
    INT32 = 3
    UINT8 = 4
    INT16 = 6
    UINT16 = 7
    UINT32 = 8
    INT64 = 9
    UINT64 = 10
    DOUBLE = 11
    BOOL = 12
    STRING = 13
    COMPLEX64 = 16
    COMPLEX128 = 17
    BF16 = 27
    INT4 = 29
    UINT1 = 30
    COMPLEX32 = 33
    HIFLOAT8 = 34
    FLOAT8_E5M2 = 35
    FLOAT8_E4M3FN = 36
    FLOAT8_E8M0 = 37
    FLOAT6_E3M2 = 38
    FLOAT6_E2M3 = 39
    FLOAT4_E2M1 = 40
    FLOAT4_E1M2 = 41

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The NumPy dtype whose items are this type's.

        Raises:
            UnsupportedDataType: NumPy and ml_dtypes have no such type.
        """
        try:
            return _NUMPY[self]
        except KeyError:
            if _learn_ml_dtypes():
                return self.numpy_dtype
            raise UnsupportedDataType(
                f"data type {self.name} has no NumPy equivalent; use one of {', '.join(known.name for known in _NUMPY)}"
            ) from None

    @classmethod
    def of(cls, dtype: DTypeLike) -> DataType:
        """Return the data type of a NumPy dtype, scalar type or type name.

        Args:
            dtype: a `DataType`, anything ``numpy.dtype`` takes, or a name such
                as ``"bfloat16"``.

        Raises:
            UnsupportedDataType: no AscendCL type has these items.
        """
        if isinstance(dtype, DataType):
            return dtype
        found = _as_numpy(dtype)
        if found not in _FROM_NUMPY:
            _learn_ml_dtypes()
        try:
            return _FROM_NUMPY[found]
        except KeyError:
            raise UnsupportedDataType(
                f"NumPy dtype {found} has no AscendCL equivalent; use one of "
                f"{', '.join(str(known) for known in _FROM_NUMPY)} in native byte order"
            ) from None


class Format(enum.IntEnum):
    """The layout of a tensor, by AscendCL's number."""

    UNDEFINED = -1
    NCHW = 0
    NHWC = 1
    ND = 2
    NC1HWC0 = 3
    FRACTAL_Z = 4
    NC1HWC0_C04 = 12
    HWCN = 16
    NDHWC = 27
    FRACTAL_NZ = 29
    NCDHW = 30
    NDC1HWC0 = 32
    FRACTAL_Z_3D = 33
    NC = 35
    NCL = 47
    FRACTAL_NZ_C0_16 = 50
    FRACTAL_NZ_C0_32 = 51
    FRACTAL_NZ_C0_2 = 52
    FRACTAL_NZ_C0_4 = 53
    FRACTAL_NZ_C0_8 = 54


_NUMPY: dict[DataType, np.dtype[Any]] = {
    DataType.FLOAT: np.dtype(np.float32),
    DataType.FLOAT16: np.dtype(np.float16),
    DataType.INT8: np.dtype(np.int8),
    DataType.INT32: np.dtype(np.int32),
    DataType.UINT8: np.dtype(np.uint8),
    DataType.INT16: np.dtype(np.int16),
    DataType.UINT16: np.dtype(np.uint16),
    DataType.UINT32: np.dtype(np.uint32),
    DataType.INT64: np.dtype(np.int64),
    DataType.UINT64: np.dtype(np.uint64),
    DataType.DOUBLE: np.dtype(np.float64),
    DataType.BOOL: np.dtype(np.bool_),
    DataType.COMPLEX64: np.dtype(np.complex64),
    DataType.COMPLEX128: np.dtype(np.complex128),
}
_FROM_NUMPY = {dtype: data_type for data_type, dtype in _NUMPY.items()}

# Types that NumPy learns from ml_dtypes, which is imported when one of them is met.
_ML_DTYPES = {
    DataType.BF16: "bfloat16",
    DataType.INT4: "int4",
    DataType.FLOAT8_E5M2: "float8_e5m2",
    DataType.FLOAT8_E4M3FN: "float8_e4m3fn",
    DataType.FLOAT8_E8M0: "float8_e8m0fnu",
    DataType.FLOAT6_E3M2: "float6_e3m2fn",
    DataType.FLOAT6_E2M3: "float6_e2m3fn",
    DataType.FLOAT4_E2M1: "float4_e2m1fn",
}

# Packed types share bytes on the card. aclDataTypeSize gives each element a whole byte, and so do
# NumPy's stand-ins; `bits` tells the packed size.
_BITS = {"UNDEFINED": 0, "STRING": 0, "BF16": 16, "INT4": 4, "UINT1": 1, "COMPLEX32": 32, "HIFLOAT8": 8,
         "FLOAT8_E5M2": 8, "FLOAT8_E4M3FN": 8, "FLOAT8_E8M0": 8, "FLOAT6_E3M2": 6, "FLOAT6_E2M3": 6,
         "FLOAT4_E2M1": 4, "FLOAT4_E1M2": 4}  # fmt: skip
for _member in DataType:
    _member.bits = _BITS[_member.name] if _member.name in _BITS else _NUMPY[_member].itemsize * 8
    _member.itemsize = -(-_member.bits // 8)


def _as_numpy(dtype: Any) -> np.dtype[Any]:
    try:
        return np.dtype(dtype if dtype is not None else "none")  # NumPy reads None as float64
    except TypeError:
        if _learn_ml_dtypes():  # a name such as "bfloat16" is NumPy's from then on
            return _as_numpy(dtype)
        raise InvalidArgument(f"{dtype!r} is not a data type; pass a DataType or a NumPy dtype") from None


def _learn_ml_dtypes() -> bool:
    """Add the types of ml_dtypes to the tables; False if they are there already."""
    if DataType.BF16 in _NUMPY:
        return False
    import ml_dtypes

    known = {data_type: np.dtype(getattr(ml_dtypes, name)) for data_type, name in _ML_DTYPES.items()}
    _FROM_NUMPY.update({dtype: data_type for data_type, dtype in known.items()})
    _NUMPY.update(known)
    return True
