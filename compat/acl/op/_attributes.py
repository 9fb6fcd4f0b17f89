"""Attributes of operators, collected by name."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from aacl.errors import InvalidArgument
from acl._arguments import check_text
from acl._handles import Handles
from acl._status import INVALID_PARAM, code_alone, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = (
    "NO_ATTRIBUTES",
    "Attributes",
    "attributes_at",
    "create_attr",
    "destroy_attr",
    "set_attr_bool",
    "set_attr_data_type",
    "set_attr_float",
    "set_attr_int",
    "set_attr_list_bool",
    "set_attr_list_data_type",
    "set_attr_list_float",
    "set_attr_list_int",
    "set_attr_list_list_int",
    "set_attr_list_string",
    "set_attr_string",
)


class Attributes:
    """What a program has set so far.

    Attributes:
        values: by name.
        key: the same as something to look up by: equal for equal names, kinds and values.
    """

    __slots__ = ("_kinds", "key", "values")

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self._kinds: dict[str, tuple[str, Any]] = {}
        self.key: tuple[tuple[str, tuple[str, Any]], ...] = ()

    def put(self, name: str, kind: str, value: Any) -> None:
        """Set one; the kind tells 1, 1.0 and True apart."""
        self.values[name], self._kinds[name] = value, (kind, _exact(value))
        self.key = tuple(sorted(self._kinds.items()))


def _exact(value: Any) -> Any:
    """Return something that is equal for the same value alone: 0.0 equals -0.0, and NaN not even itself."""
    if type(value) is float:
        return value.hex()
    return tuple([_exact(item) for item in value]) if type(value) is tuple else value


NO_ATTRIBUTES = Attributes()
"""What handle 0 stands for."""

_attributes: Handles[Attributes] = Handles("operator attribute", INVALID_PARAM)


def attributes_at(handle: int) -> Attributes:
    """Return the attributes of a handle, 0 standing for none.

    Raises:
        Refused: it is no handle of attributes.
    """
    number = index(handle)
    return _attributes.get(number) if number else NO_ATTRIBUTES


@plain(0)
def create_attr() -> int:
    """Make a collection of attributes, to set and to pass on.

    Returns:
        The handle.

    Source: aclopCreateAttr.
    """
    return _attributes.add(Attributes())


@plain(None)
def destroy_attr(attr: int, /) -> None:
    """Destroy a collection; what is none is left alone, with a text for ``get_recent_err_msg``.

    Args:
        attr: of `create_attr`.

    Source: aclopDestroyAttr.
    """
    _attributes.take(attr)


def _set(attr: int, name: str, kind: str, convert: Callable[[Any], Any], value: Any) -> int:
    check_text(name, 2)
    collection = _attributes.get(attr)
    if not name:
        raise InvalidArgument("an attribute needs a name")
    collection.put(name, kind, convert(value))
    return 0


def _items(convert: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    def convert_all(values: Any) -> tuple[Any, ...]:
        if not isinstance(values, (list, tuple, np.ndarray)):
            raise TypeError(f"parameter must be a list or a numpy.ndarray, not '{type(values).__name__}'")
        return tuple([convert(value) for value in values])

    return convert_all


def _bool(value: Any) -> bool:
    number = index(value) if not isinstance(value, np.bool_) else int(value)
    if number not in (0, 1):
        raise InvalidArgument(f"a boolean attribute is 0 or 1, not {value!r}")
    return bool(number)


def _float(value: Any) -> float:
    if isinstance(value, (str, bytes)):
        raise TypeError(f"must be real number, not {type(value).__name__}")
    return float(value)


def _str(value: str) -> str:
    check_text(value, 3)
    return value


@code_alone
def set_attr_bool(attr: int, name: str, value: int, /) -> int:
    """Set an attribute that is a boolean.

    Args:
        attr: the collection, of `create_attr`.
        name: the attribute's name.
        value: 0 or 1.

    Returns:
        0; 100000 for another value, an empty name, or no attributes.

    Source: aclopSetAttrBool.
    """
    return _set(attr, name, "Bool", _bool, value)


@code_alone
def set_attr_int(attr: int, name: str, value: int, /) -> int:
    """Set an attribute that is a whole number.

    Args:
        attr: the collection, of `create_attr`.
        name: the attribute's name.
        value: the number.

    Returns:
        0; 100000 for an empty name, or no attributes.

    Source: aclopSetAttrInt.
    """
    return _set(attr, name, "Int", index, value)


@code_alone
def set_attr_float(attr: int, name: str, value: float, /) -> int:
    """Set an attribute that is a number.

    Args:
        attr: the collection, of `create_attr`.
        name: the attribute's name.
        value: the number.

    Returns:
        0; 100000 for an empty name, or no attributes.

    Source: aclopSetAttrFloat.
    """
    return _set(attr, name, "Float", _float, value)


@code_alone
def set_attr_string(attr: int, name: str, value: str, /) -> int:
    """Set an attribute that is a text.

    Args:
        attr: the collection, of `create_attr`.
        name: the attribute's name.
        value: the text.

    Returns:
        0; 100000 for an empty name, or no attributes.

    Source: aclopSetAttrString.
    """
    return _set(attr, name, "String", _str, value)


@code_alone
def set_attr_data_type(attr: int, name: str, value: int, /) -> int:
    """Set an attribute that is a data type.

    Args:
        attr: the collection, of `create_attr`.
        name: the attribute's name.
        value: an ``aclDataType``.

    Returns:
        0; 100000 for an empty name, or no attributes.

    Source: aclopSetAttrDataType.
    """
    return _set(attr, name, "Type", index, value)


@code_alone
def set_attr_list_bool(attr: int, name: str, values: Sequence[int], /) -> int:
    """Set an attribute that is a list of booleans.

    Args:
        attr: the collection, of `create_attr`.
        name: the attribute's name.
        values: a list or an array of 0 and 1.

    Returns:
        0; 100000 for other values, an empty name, or no attributes.

    Source: aclopSetAttrListBool.
    """
    return _set(attr, name, "ListBool", _items(_bool), values)


@code_alone
def set_attr_list_int(attr: int, name: str, values: Sequence[int], /) -> int:
    """Set an attribute that is a list of whole numbers.

    Args:
        attr: the collection, of `create_attr`.
        name: the attribute's name.
        values: a list or an array.

    Returns:
        0; 100000 for an empty name, or no attributes.

    Source: aclopSetAttrListInt.
    """
    return _set(attr, name, "ListInt", _items(index), values)


@code_alone
def set_attr_list_float(attr: int, name: str, values: Sequence[float], /) -> int:
    """Set an attribute that is a list of numbers.

    Args:
        attr: the collection, of `create_attr`.
        name: the attribute's name.
        values: a list or an array.

    Returns:
        0; 100000 for an empty name, or no attributes.

    Source: aclopSetAttrListFloat.
    """
    return _set(attr, name, "ListFloat", _items(_float), values)


@code_alone
def set_attr_list_string(attr: int, name: str, values: Sequence[str], /) -> int:
    """Set an attribute that is a list of texts.

    Args:
        attr: the collection, of `create_attr`.
        name: the attribute's name.
        values: the texts.

    Returns:
        0; 100000 for an empty name, or no attributes.

    Source: aclopSetAttrListString.
    """
    return _set(attr, name, "ListString", _items(_str), values)


@code_alone
def set_attr_list_data_type(attr: int, name: str, values: Sequence[int], /) -> int:
    """Set an attribute that is a list of data types.

    Args:
        attr: the collection, of `create_attr`.
        name: the attribute's name.
        values: a list or an array of ``aclDataType``.

    Returns:
        0; 100000 for an empty name, or no attributes.

    Source: aclopSetAttrListDataType.
    """
    return _set(attr, name, "ListType", _items(index), values)


@code_alone
def set_attr_list_list_int(attr: int, name: str, values: Sequence[Sequence[int]], /) -> int:
    """Set an attribute that is a list of lists of whole numbers.

    Args:
        attr: the collection, of `create_attr`.
        name: the attribute's name.
        values: lists or arrays.

    Returns:
        0; 100000 for an empty name, or no attributes.

    Source: aclopSetAttrListListInt.
    """
    return _set(attr, name, "ListListInt", _items(_items(index)), values)
