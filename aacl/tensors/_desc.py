"""Tensor descriptions: immutable, interned values."""

from __future__ import annotations

import math
from operator import index
from typing import TYPE_CHECKING, Any, final
from weakref import WeakValueDictionary

import numpy as np

from aacl.dtypes import DataType, Format
from aacl.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aacl.abc import Array

__all__ = ("DIMS_MOST", "UNKNOWN_RANK", "TensorDesc")

UNKNOWN_RANK = (-2,)
"""The shape of a tensor whose number of dimensions is unknown (``ACL_UNKNOWN_RANK``)."""

Range = tuple[int, int]

DIMS_MOST = 64
"""Dims that a tensor may have, as a NumPy array."""
_BYTES_MOST = (1 << 63) - 1  # of one, dims of 0 left aside

_interned: WeakValueDictionary[tuple[object, ...], TensorDesc] = WeakValueDictionary()


@final
class TensorDesc:
    """What a tensor is, apart from its bytes: dtype, shape, format, ranges, known contents.

    Descriptions are interned: equal descriptions are one object, so they
    compare and hash by identity. Make them with `of`.

    Attributes:
        dtype: the type of the elements; ``UNDEFINED`` marks an absent optional input.
        shape: dims; -1 is a free dim, ``(-2,)`` an unknown rank, ``()`` a scalar.
        format: the layout of the dims.
        ranges: for each dim its (min, max), max -1 without limit; empty when all dims are fixed.
        value: the contents where they are known beforehand (a constant), read-only, else None.
        placement: 0 device memory, 1 host memory (``aclMemType``).
        name: of the tensor in its operator, or "".
        origin_format: the layout that a framework sees, where ``format`` is a device's own; else the same.
        origin_shape: the dims in that layout; else the same as ``shape``.
        is_static: whether every dim is known.
        element_count: the number of elements; -1 when a dim is unknown.
        nbytes: bytes of the elements; 0 when a dim is unknown. Packed types take a byte an element, as in NumPy.
    """

    __slots__ = ("__weakref__", "dtype", "element_count", "format", "is_static", "name", "nbytes", "origin_format",
                 "origin_shape", "placement", "ranges", "shape", "value")  # fmt: skip

    dtype: DataType
    shape: tuple[int, ...]
    format: Format
    ranges: tuple[Range, ...]
    value: Array | None
    placement: int
    name: str
    origin_format: Format
    origin_shape: tuple[int, ...]
    is_static: bool
    element_count: int
    nbytes: int

    def __init__(self) -> None:
        raise TypeError("descriptions are interned; call TensorDesc.of(dtype, shape, format)")

    @classmethod
    def of(
        cls,
        dtype: DataType | np.dtype[Any] | type[Any] | str,
        shape: Sequence[int] = (),
        format: Format = Format.ND,  # noqa: A002 - the field's own name
        *,
        ranges: Sequence[Range] = (),
        value: Array | None = None,
        placement: int = 0,
        name: str = "",
        origin: tuple[Format, Sequence[int]] | None = None,
    ) -> TensorDesc:
        """Return the description with these parts; ``origin`` is a framework's layout and dims where they are others.

        Raises:
            InvalidArgument: a dim below -1 (other than an unknown rank's ``(-2,)``), more than 64 dims, a dim of 0
                beside others whose product no NumPy array takes, ranges that are no pairs of whole numbers, that end
                below their start, or that are not as many as dims, a value that is no array or of another shape or
                dtype, or an origin that is no Format with dims.
        """
        data_type = DataType.of(dtype)
        try:
            dims, layout = tuple(map(index, shape)), Format(format)
        except (TypeError, ValueError):
            raise InvalidArgument(
                f"a tensor has whole numbers as dims and a Format; {shape!r} and {format!r} were given"
            ) from None
        spans = _pairs(ranges) if ranges else ()
        known = None if value is None else _contents(value)
        source = None if origin is None else _origin(layout, dims, origin)
        key = (data_type, dims, format, spans, known, placement, name, source)
        found = _interned.get(key)
        if found is None:
            found = _checked(data_type, dims, layout, spans, value, placement, name)
            found.origin_format, found.origin_shape = source or (layout, dims)
            found = _interned.setdefault(key, found)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        origin = (self.origin_format, self.origin_shape)
        return _remake, (
            self.dtype, self.shape, self.format, self.ranges, self.value, self.placement, self.name, origin
        )  # fmt: skip

    def __repr__(self) -> str:
        extra = f", ranges={self.ranges}" if self.ranges else ""
        extra += f", name={self.name!r}" if self.name else ""
        extra += f", value={self.value.tolist()}" if self.value is not None else ""
        if (self.origin_format, self.origin_shape) != (self.format, self.shape):
            extra += f", origin={self.origin_format.name} {list(self.origin_shape)}"
        return f"TensorDesc({self.dtype.name}, {list(self.shape)}, {self.format.name}{extra})"


def _checked(
    dtype: DataType,
    shape: tuple[int, ...],
    format: Format,  # noqa: A002 - the field's own name
    ranges: tuple[Range, ...],
    value: Array | None,
    placement: int,
    name: str,
) -> TensorDesc:
    if shape != UNKNOWN_RANK and any(dim < -1 for dim in shape):
        raise InvalidArgument(f"shape {list(shape)} has a dim below -1; -1 is a free dim, [-2] an unknown rank")
    if len(shape) > DIMS_MOST:
        raise InvalidArgument(f"a tensor has at most {DIMS_MOST} dims; {len(shape)} were given")
    if 0 in shape and math.prod([dim for dim in shape if dim > 0]) * dtype.itemsize > _BYTES_MOST:
        raise InvalidArgument(f"shape {list(shape)} has no elements, and dims too large for any tensor beside that")
    if any(least < 0 or -1 != most < least for least, most in ranges):
        raise InvalidArgument(
            f"ranges {list(ranges)} were given; each is the least and the most, 0 or more, and -1 for no end"
        )
    if ranges and len(ranges) != len(shape):
        raise InvalidArgument(f"{len(ranges)} ranges were given for shape {list(shape)}; give one a dim, or none")
    if value is not None and (value.shape != shape or value.dtype != dtype.numpy_dtype):
        raise InvalidArgument(
            f"a constant of shape {value.shape} and dtype {value.dtype} does not fit "
            f"a description of shape {shape} and dtype {dtype.name}"
        )
    desc = object.__new__(TensorDesc)
    desc.dtype, desc.shape, desc.format, desc.ranges = dtype, shape, format, ranges
    if value is not None:
        value = value.copy()
        value.flags.writeable = False
    desc.value, desc.placement, desc.name = value, placement, name
    desc.is_static = all(dim >= 0 for dim in shape)
    desc.element_count = math.prod(shape) if desc.is_static else -1
    desc.nbytes = desc.element_count * dtype.itemsize if desc.is_static else 0
    return desc


def _pairs(ranges: Sequence[Range]) -> tuple[Range, ...]:
    try:
        return tuple([(index(least), index(most)) for least, most in ranges])
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"ranges are a pair of whole numbers a dim, the least and the most (-1: no end); {ranges!r} was given"
        ) from None


def _contents(value: Array) -> bytes:
    if not isinstance(value, np.ndarray):
        raise InvalidArgument(f"known contents are a NumPy array; {value!r} was given, make one with numpy.asarray")
    return value.tobytes()


def _origin(
    layout: Format, dims: tuple[int, ...], origin: tuple[Format, Sequence[int]]
) -> tuple[Format, tuple[int, ...]] | None:
    """Return a framework's layout and dims, None where they are the tensor's own."""
    try:
        format_, shape = origin
        found = Format(format_), tuple(map(index, shape))
    except (TypeError, ValueError):
        raise InvalidArgument(f"an origin is a Format and whole numbers as dims; {origin!r} was given") from None
    return None if found == (layout, dims) else found


def _remake(*parts: Any) -> TensorDesc:
    dtype, shape, format_, ranges, value, placement, name, origin = parts
    return TensorDesc.of(
        dtype, shape, format_, ranges=ranges, value=value, placement=placement, name=name, origin=origin
    )
