"""The JSON of ``atc --singleop``: an array of operators with their tensors and attributes. Pure.

The keys and their rules follow the public ATC guide's page on the single
operator description file. ``origin_format`` and ``origin_shape`` are a framework's
view of a tensor that lies in a device's layout; descriptions keep them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from aacl.converter._reports import OperatorFileInvalid
from aacl.dtypes import DataType, Format
from aacl.tensors import UNKNOWN_RANK, TensorDesc

__all__ = ("OperatorRequest", "file_name", "parse_operator_file")

_NAME_LENGTH = 128
_ABSENT_NUMBERS = (28, 40)  # ge::DT_UNDEFINED and ge::FORMAT_RESERVED: an absent optional input in a file name

_TYPES = {
    "bool": DataType.BOOL, "int8": DataType.INT8, "uint8": DataType.UINT8, "int16": DataType.INT16,
    "uint16": DataType.UINT16, "int32": DataType.INT32, "uint32": DataType.UINT32, "int64": DataType.INT64,
    "uint64": DataType.UINT64, "float16": DataType.FLOAT16, "half": DataType.FLOAT16, "fp16": DataType.FLOAT16,
    "float": DataType.FLOAT, "float32": DataType.FLOAT, "double": DataType.DOUBLE, "complex64": DataType.COMPLEX64,
    "complex128": DataType.COMPLEX128, "uint1": DataType.UINT1, "int4": DataType.INT4, "bfloat16": DataType.BF16,
    "bf16": DataType.BF16,
}  # fmt: skip


@attrs.frozen
class OperatorRequest:
    """One element of the file.

    Attributes:
        op_type: the operator's type.
        name: the file's name that the element asks for, or "" where it asks for none that is valid.
        inputs: a description each, None for an absent optional input.
        outputs: a description each.
        attributes: the values given, by name.
        groups: how many tensors each dynamic input has, by its name.
        is_fuzzy: whether an element before it has turned fuzzy compilation on.
    """

    op_type: str
    name: str
    inputs: tuple[TensorDesc | None, ...]
    outputs: tuple[TensorDesc, ...]
    attributes: Mapping[str, Any]
    groups: Mapping[str, int]
    is_fuzzy: bool = False


def parse_operator_file(text: bytes) -> list[OperatorRequest]:
    """Read the operators of a file, in order; elements that only set ``compile_flag`` are not among them.

    Raises:
        OperatorFileInvalid: the text is no JSON array of operators, or an element breaks a rule; the text
            says which element and key.
    """
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:  # RecursionError: what nests deeper than anybody writes
        raise OperatorFileInvalid("E10025", f"the single-operator file is no JSON: {error}") from error
    if not isinstance(document, list) or not document:
        raise OperatorFileInvalid("E10032", "the single-operator file must be a JSON array of operators, one at least")
    requests: list[OperatorRequest] = []
    is_fuzzy = False
    for element in document:
        where = f"operator {len(requests)}"
        if not isinstance(element, dict):
            raise OperatorFileInvalid("E10032", f"{where} must be a JSON object, not {element!r}")
        if "compile_flag" in element and "op" not in element:
            is_fuzzy = element["compile_flag"] == 1
            continue
        requests.append(_operator(element, where, is_fuzzy or element.get("compile_flag") == 1))
    return requests


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def file_name(index: int, request: OperatorRequest) -> str:
    """Return the file's name, without ``.om``: the one asked for, or ``<index>_<Op>`` and every tensor's
    ``_<dtype>_<format>_<dims>``, cut to 128 characters.
    """
    if request.name:
        return request.name[:_NAME_LENGTH]
    parts: list[object] = [index, request.op_type]
    for desc in (*request.inputs, *request.outputs):
        parts += _ABSENT_NUMBERS if desc is None else (int(desc.dtype), int(desc.format), *desc.shape)
    return "_".join(map(str, parts))[:_NAME_LENGTH]


def _operator(element: Mapping[str, Any], where: str, is_fuzzy: bool) -> OperatorRequest:
    op_type = element.get("op")
    if not isinstance(op_type, str) or not op_type:
        raise OperatorFileInvalid("E10026", f'{where} has no operator type; give "op": "Add"')
    where = f"{where} ({op_type})"
    names, groups = _input_names(_array(element, "input_desc", where))
    inputs = [
        _tensor(item, f"{where}, input {place}", name, is_input=True)
        for place, (item, name) in enumerate(zip(_array(element, "input_desc", where), names, strict=True))
    ]
    outputs = [
        _tensor(item, f"{where}, output {place}", str(item.get("name", "")), is_input=False)
        for place, item in enumerate(_array(element, "output_desc", where))
    ]
    return OperatorRequest(
        op_type,
        _valid_name(element.get("name")),
        tuple(inputs),
        tuple(desc for desc in outputs if desc is not None),
        dict(_attribute(item, where) for item in _array(element, "attr", where)),
        groups,
        is_fuzzy,
    )


def _array(element: Mapping[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    items = element.get(key, [])
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise OperatorFileInvalid("E10032", f'{where}: "{key}" must be an array of objects, not {items!r}')
    return items


def _valid_name(name: object) -> str:
    is_valid = isinstance(name, str) and re.fullmatch(r"[\w.-]+", name, re.ASCII) and name not in (".", "..")
    return str(name) if is_valid else ""


def _input_names(items: Sequence[Mapping[str, Any]]) -> tuple[list[str], dict[str, int]]:
    """Name the inputs (members of a dynamic input by its name and their place) and count the groups."""
    names: list[str] = []
    groups: dict[str, int] = {}
    for item in items:
        group = item.get("dynamic_input")
        generated = ""
        if isinstance(group, str) and group:
            generated = f"{group}{groups.get(group, 0)}"
            groups[group] = groups.get(group, 0) + 1
        names.append(str(item.get("name") or generated))
    return names, groups


def _tensor(item: Mapping[str, Any], where: str, name: str, *, is_input: bool) -> TensorDesc | None:
    type_name, format_name = str(item.get("type", "")).lower(), str(item.get("format", "")).upper()
    if is_input and type_name == "undefined" and format_name == "RESERVED":
        return None
    dtype = _TYPES.get(type_name)
    if dtype is None:
        raise _bad_tensor(where, "type", item, f"one of {', '.join(_TYPES)}")
    layout, shape = _format(item, "format", where), _shape(item, "shape", where)
    return TensorDesc.of(
        dtype,
        shape,
        layout,
        ranges=_ranges(item, shape, where),
        value=_constant(item, dtype, shape, where),
        name=name,
        origin=(
            _format(item, "origin_format", where) if "origin_format" in item else layout,
            _shape(item, "origin_shape", where) if "origin_shape" in item else shape,
        ),
    )


def _format(item: Mapping[str, Any], key: str, where: str) -> Format:
    layout = Format.__members__.get(str(item.get(key, "")).upper(), Format.UNDEFINED)
    if layout is Format.UNDEFINED:
        raise _bad_tensor(where, key, item, f"one of {', '.join(f.name for f in Format if f >= 0)}")
    return layout


def _shape(item: Mapping[str, Any], key: str, where: str) -> tuple[int, ...]:
    dims = item.get(key)
    if not isinstance(dims, list) or not all(type(dim) is int for dim in dims):
        raise _bad_tensor(where, key, item, "a list of whole numbers; [] is a scalar")
    if tuple(dims) != UNKNOWN_RANK and any(dim < -1 for dim in dims):
        raise _bad_tensor(where, key, item, "dims from 0 up, -1 for a free dim, or [-2] alone for an unknown rank")
    return tuple(dims)


def _ranges(item: Mapping[str, Any], shape: tuple[int, ...], where: str) -> tuple[tuple[int, int], ...]:
    """Return a range for each dim; the file has one for each free dim."""
    given = item.get("shape_range")
    if not given:
        return ()
    free = sum(dim == -1 for dim in shape)
    is_sound = isinstance(given, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(type(end) is int for end in pair) for pair in given
    )
    if not is_sound or len(given) != free or any(low < 0 or (high != -1 and high < low) for low, high in given):
        raise OperatorFileInvalid(
            "E19014",
            f'{where}: "shape_range" must hold one [low, high] for each of the {free} free dims of {list(shape)}; '
            f"{given!r} was given",
        )
    spans: Iterator[list[int]] = iter(given)
    return tuple((*next(spans),) if dim == -1 else (dim, dim) for dim in shape)  # type: ignore[misc] # pairs, checked above


def _constant(item: Mapping[str, Any], dtype: DataType, shape: tuple[int, ...], where: str) -> Any:
    if not item.get("is_const"):
        return None
    values = item.get("const_value")
    if any(dim < 0 for dim in shape) or not isinstance(values, list) or len(values) != math.prod(shape):
        raise _bad_tensor(
            where, "const_value", item, f"a flat list of as many values as shape {list(shape)} has elements"
        )
    array = _elements(values, dtype)
    if array is None:
        raise _bad_tensor(where, "const_value", item, f"values of type {dtype.name}")
    return array.reshape(shape)


def _elements(values: Sequence[object], dtype: DataType) -> np.ndarray[Any, np.dtype[Any]] | None:
    """Return numbers as an array of a type; None where one is no number, or none of that type."""
    is_whole = dtype.numpy_dtype.kind in "biu" or dtype is DataType.INT4
    kinds = (bool, int) if dtype is DataType.BOOL else (int,) if is_whole else (int, float)
    if any(type(value) not in kinds for value in values):
        return None
    try:
        with np.errstate(over="ignore"):
            array = np.array(values, dtype.numpy_dtype)
    except (TypeError, ValueError, OverflowError):
        return None
    # What the type cannot hold is another number now, or an infinity.
    is_held = array.tolist() == list(values) if is_whole else np.isfinite(array).all()
    return array if is_held else None


def _bad_tensor(where: str, key: str, item: Mapping[str, Any], wanted: str) -> OperatorFileInvalid:
    found = f"{item[key]!r} was given" if key in item else "it is missing"
    return OperatorFileInvalid("E10027", f'{where}: "{key}" must be {wanted}; {found}')


def _attribute(item: Mapping[str, Any], where: str) -> tuple[str, Any]:
    name, kind, value = item.get("name"), item.get("type"), item.get("value")
    if not isinstance(name, str) or not name:
        raise OperatorFileInvalid("E10029", f'{where}: an attribute has no name; give "name": {dict(item)!r}')
    if value is None or value == "":
        raise OperatorFileInvalid("E10030", f'{where}: attribute {name!r} has no value; give "value"')
    check = _KINDS.get(str(kind))
    if check is None:
        found = f"is {kind!r}" if "type" in item else "is missing"
        raise OperatorFileInvalid(
            "E10032", f'{where}: "type" of attribute {name!r} {found}; it must be one of {", ".join(_KINDS)}'
        )
    if not check(value):
        raise OperatorFileInvalid("E10032", f"{where}: attribute {name!r} is {value!r}, which is no {kind}")
    return name, value


def _is_int(value: object) -> bool:
    return type(value) is int


def _is_number(value: object) -> bool:
    return type(value) in (int, float)


def _is_type(value: object) -> bool:
    return isinstance(value, str) or _is_int(value)


def _each(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(map(check, value))


_KINDS: dict[str, Callable[[object], bool]] = {
    "bool": lambda value: type(value) is bool,
    "int": _is_int,
    "float": _is_number,
    "string": lambda value: isinstance(value, str),
    "list_bool": _each(lambda value: type(value) is bool),
    "list_int": _each(_is_int),
    "list_float": _each(_is_number),
    "list_string": _each(lambda value: isinstance(value, str)),
    "list_list_int": _each(_each(_is_int)),
    "data_type": _is_type,
}
