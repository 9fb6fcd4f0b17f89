"""Attributes of operators: their kinds, and how a program's value becomes one."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from aacl.dtypes import DataType
from aacl.errors import InvalidArgument, UnsupportedDataType

__all__ = ("Attribute", "attribute_key")


@attrs.frozen
class Attribute:
    """An attribute of an operator type.

    Attributes:
        name: the header's name of it.
        kind: ``Int``, ``Float``, ``Bool``, ``String``, ``Type``, ``Tensor``, ``Graph``,
            or one of these behind ``List`` or ``ListList``.
        default: its value when not given; None when required.
        is_required: whether it must be given.
    """

    name: str
    kind: str
    default: Any
    is_required: bool

    def convert(self, op_type: str, value: object) -> Any:
        """Return a program's value in this attribute's kind: int, float, bool, str, `DataType`, or tuples of them.

        Raises:
            InvalidArgument: the value is of another kind.
        """
        try:
            return _convert(self.kind, value, _names_a_type(self.name))
        except (TypeError, ValueError, OverflowError, UnsupportedDataType):
            raise InvalidArgument(
                f"operator {op_type}: attribute {self.name} was given {value!r} ({type(value).__name__}); "
                f"it takes {_WANTED.get(self.kind, self.kind)}"
            ) from None


_WANTED = {
    "Int": "an int",
    "Float": "a float or an int",
    "Bool": "True or False",
    "String": "a str",
    "Type": "a DataType, its name or its number",
    "ListInt": "a sequence of ints",
    "ListFloat": "a sequence of floats",
    "ListBool": "a sequence of bools",
    "ListString": "a sequence of strs",
    "ListType": "a sequence of DataTypes, their names or numbers",
    "ListListInt": "a sequence of sequences of ints",
}


def _names_a_type(name: str) -> bool:
    """Whether an Int attribute holds a data type's number, as ``dst_type`` does."""
    return name.lower().endswith(("dtype", "dst_type", "data_type", "src_type", "out_type"))


def _convert(kind: str, value: object, is_type: bool) -> Any:
    if kind.startswith("List"):
        return tuple(_convert(kind[4:], item, is_type) for item in _items(value))
    if isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0:
        value = value.item()
    convert = _SCALARS.get(kind)
    if convert is None:  # graphs and tensors: the device's business
        return value
    if kind == "Int" and is_type and not isinstance(value, int):
        return int(_type(value))
    return convert(value)


def _items(value: object) -> Sequence[object]:
    if isinstance(value, np.ndarray) and value.ndim:
        items: list[object] = value.tolist()
        return items
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise TypeError(value)
    return value


def _int(value: object) -> int:
    if isinstance(value, bool):
        raise TypeError(value)
    return operator.index(value)  # type: ignore[arg-type] # refuses what is no integer


def _float(value: object) -> float:
    if isinstance(value, (bool, str, bytes)):
        raise TypeError(value)
    return float(value)  # type: ignore[arg-type] # refuses what is no number


def _bool(value: object) -> bool:
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise TypeError(value)


def _string(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, str):
        return value
    raise TypeError(value)


def _type(value: object) -> DataType:
    if value is None or isinstance(value, bool):  # NumPy takes None for float64
        raise TypeError(value)
    if isinstance(value, int):
        return DataType(value)
    if isinstance(value, str):
        name = value.upper().removeprefix("ACL_").removeprefix("DT_")
        if name in DataType.__members__:
            return DataType[name]
    try:
        return DataType.of(value)  # type: ignore[arg-type] # refuses what is no data type
    except InvalidArgument:
        raise TypeError(value) from None


_SCALARS: dict[str, Callable[[object], Any]] = {
    "Int": _int,
    "Float": _float,
    "Bool": _bool,
    "String": _string,
    "Type": _type,
}


def attribute_key(value: object) -> Hashable:
    """Return what plans are looked up by: equal for the same values in the same order, and for them alone.

    The same attributes in another order make another plan, which costs less than sorting them for every operation.

    Raises:
        InvalidArgument: a value is nothing that an attribute can be.
    """
    if isinstance(value, Mapping):
        return tuple([(name, attribute_key(each)) for name, each in value.items()])
    if isinstance(value, tuple):
        return tuple([attribute_key(each) for each in value])
    if isinstance(value, float):
        return (float, value.hex())  # 0.0 equals -0.0, and no NaN equals another
    if not isinstance(value, Hashable):
        raise InvalidArgument(
            f"{value!r} cannot be an attribute; pass a bool, number, string, DataType or list of them"
        )
    return (type(value), value)
