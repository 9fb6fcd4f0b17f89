"""Single operators: the JSON's rules, the file names, and the check against the prototypes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aacl.converter import InvalidOption, OperatorFileInvalid, convert_operators
from aacl.converter._operator_file import file_name, parse_operator_file
from aacl.dtypes import DataType, Format
from aacl.models._operator import OperatorModel
from aacl.models._package import OperatorPackage, read_package
from aacl.tensors import TensorDesc


def tensor(*shape: int, type: str = "int32", format: str = "ND", **more: Any) -> dict[str, Any]:  # noqa: A002 - the keys' names
    return {"format": format, "shape": list(shape), "type": type, **more}


ADD = {"op": "Add", "input_desc": [tensor(8, 16), tensor(8, 16)], "output_desc": [tensor(8, 16)]}


def save(tmp_path: Path, *elements: Mapping[str, Any]) -> Path:
    path = tmp_path / "ops.json"
    path.write_text(json.dumps(elements))
    return path


def read(path: Path) -> OperatorModel:
    package = read_package(path.read_bytes())
    assert isinstance(package, OperatorPackage)

    return package.operator


def test_documented_file_name(tmp_path: Path) -> None:
    """The documented example has the documented file name, and holds the operator."""
    paths = convert_operators(save(tmp_path, ADD), tmp_path / "out", soc_version="Ascend310P3")

    assert paths == [tmp_path / "out" / "0_Add_3_2_8_16_3_2_8_16_3_2_8_16.om"]
    operator = read(paths[0])
    desc = TensorDesc.of(DataType.INT32, (8, 16))
    assert (operator.op_type, operator.inputs, operator.outputs) == ("Add", (desc, desc), (desc,))
    assert operator.soc_version == "Ascend310P3"


@pytest.mark.parametrize(
    ("element", "name"),
    [
        ({"op": "Neg", "input_desc": [tensor(-1, 16)], "output_desc": [tensor(-1, 16)]}, "4_Neg_3_2_-1_16_3_2_-1_16"),
        ({"op": "Neg", "input_desc": [tensor()], "output_desc": [tensor()]}, "4_Neg_3_2_3_2"),
        ({"op": "Neg", "input_desc": [tensor(-2)], "output_desc": [tensor(-2)]}, "4_Neg_3_2_-2_3_2_-2"),
        (
            {"op": "Neg", "input_desc": [tensor(1, type="fp16", format="nchw")], "output_desc": []},
            "4_Neg_1_0_1",
        ),
        ({"op": "X", "input_desc": [{"format": "RESERVED", "type": "UNDEFINED", "shape": []}]}, "4_X_28_40"),
        ({"op": "X", "name": "my.op-1_a"}, "my.op-1_a"),
        ({"op": "X", "name": "a/b"}, "4_X"),
        ({"op": "X", "name": ".."}, "4_X"),
        ({"op": "X", "name": "n" * 200}, "n" * 128),
        ({"op": "Y" * 200}, ("4_" + "Y" * 200)[:128]),
    ],
)
def test_file_names(element: Mapping[str, Any], name: str) -> None:
    """Free dims and scalars are in the name as documented; a valid ``name`` wins; 128 characters at most."""
    (request,) = parse_operator_file(json.dumps([element]).encode())

    assert file_name(4, request) == name


def test_index_counts_operators_only(tmp_path: Path) -> None:
    """An element that only sets compile_flag is not counted; what follows it is compiled with the flag."""
    first, second = convert_operators(save(tmp_path, ADD, {"compile_flag": 1}, ADD), tmp_path)

    assert second.name == "1_Add_3_2_8_16_3_2_8_16_3_2_8_16.om"
    packages = [read_package(path.read_bytes()) for path in (first, second)]
    assert [package.options.get("compile_flag") for package in packages] == [None, "1"]


def test_attributes_get_their_defaults(tmp_path: Path) -> None:
    """Attributes that are not given have the prototype's defaults; data types may be given by name."""
    ops = [
        {"op": "MatMulV2", "input_desc": [tensor(2, 3, type="float")] * 2, "output_desc": [tensor(3, 3, type="float")],
         "attr": [{"name": "transpose_x1", "type": "bool", "value": True}]},
        {"op": "Cast", "input_desc": [tensor(2, type="float")], "output_desc": [tensor(2, type="int8")],
         "attr": [{"name": "dst_type", "type": "data_type", "value": "DT_INT8"}]},
    ]  # fmt: skip

    matmul, cast = map(read, convert_operators(save(tmp_path, *ops), tmp_path))

    assert matmul.attributes["transpose_x1"] is True
    assert matmul.attributes["transpose_x2"] is False
    assert cast.attributes["dst_type"] == DataType.INT8


def test_ranges_constants_and_groups() -> None:
    """Ranges belong to the free dims in order, constants have their values, group members their numbered names."""
    element = {
        "op": "ConcatD",
        "input_desc": [
            tensor(4, -1, -1, shape_range=[[1, 8], [0, -1]], dynamic_input="x"),
            tensor(2, is_const=True, const_value=[5, -6], dynamic_input="x", name="own"),
            tensor(1, 2, dynamic_input="x", format="NCHW", origin_format="ND", origin_shape=[2]),
        ],
    }

    (request,) = parse_operator_file(json.dumps([element]).encode())

    first, second, third = (desc for desc in request.inputs if desc is not None)
    assert (first.name, first.ranges) == ("x0", ((4, 4), (1, 8), (0, -1)))
    assert second.name == "own"
    assert second.value is not None
    np.testing.assert_array_equal(second.value, np.array([5, -6], np.int32))
    assert (third.name, third.format) == ("x2", Format.NCHW)
    assert request.groups == {"x": 3}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("bool", True), ("int", -3), ("float", 0.5), ("float", 2), ("string", "same"), ("list_bool", [True, False]),
        ("list_int", [1, 2]), ("list_int", []), ("list_float", [1.5, 2]), ("list_string", ["a"]),
        ("list_list_int", [[1], [2, 3]]), ("data_type", "DT_FLOAT"), ("data_type", 0),
    ],
)  # fmt: skip
def test_attribute_kinds(kind: str, value: object) -> None:
    """Every documented kind of attribute is read."""
    (request,) = parse_operator_file(
        json.dumps([{"op": "X", "attr": [{"name": "a", "type": kind, "value": value}]}]).encode()
    )

    assert request.attributes == {"a": value}


@pytest.mark.parametrize(
    ("element", "code", "words"),
    [
        ([], "E10032", "one at least"),
        ({"op": "Add"}, "E10032", "array"),
        ([3], "E10032", "operator 0"),
        ([{"input_desc": []}], "E10026", "operator 0"),
        ([ADD, {"op": ""}], "E10026", "operator 1"),
        ([{"op": "X", "input_desc": [3]}], "E10032", "input_desc"),
        ([{"op": "X", "input_desc": [tensor(1, type="int33")]}], "E10027", '"type".*int33'),
        ([{"op": "X", "input_desc": [tensor(1, format="QRS")]}], "E10027", '"format".*QRS'),
        ([{"op": "X", "input_desc": [{"format": "ND", "type": "int8"}]}], "E10027", '"shape"'),
        ([{"op": "X", "input_desc": [tensor(1, -3)]}], "E10027", "unknown rank"),
        ([{"op": "X", "input_desc": [tensor(-2, 1)]}], "E10027", "unknown rank"),
        ([{"op": "X", "input_desc": [tensor(1, type="undefined")]}], "E10027", "type"),
        ([{"op": "X", "input_desc": [tensor(1, format="RESERVED")]}], "E10027", "format"),
        ([{"op": "X", "output_desc": [{"format": "RESERVED", "type": "UNDEFINED", "shape": []}]}], "E10027", "output 0"),
        ([{"op": "X", "input_desc": [tensor(-1, 2, shape_range=[[1, 2], [2, 2]])]}], "E19014", "1 free dims"),
        ([{"op": "X", "input_desc": [tensor(-2, shape_range=[[1, 2]])]}], "E19014", "0 free dims"),
        ([{"op": "X", "input_desc": [tensor(-1, shape_range=[[5, 2]])]}], "E19014", "shape_range"),
        ([{"op": "X", "input_desc": [tensor(2, is_const=True, const_value=[1])]}], "E10027", "const_value"),
        ([{"op": "X", "input_desc": [tensor(1, is_const=True, const_value=["a"])]}], "E10027", "INT32"),
        ([{"op": "X", "attr": [{"type": "int", "value": 1}]}], "E10029", "no name"),
        ([{"op": "X", "attr": [{"name": "a", "type": "int"}]}], "E10030", "'a' has no value"),
        ([{"op": "X", "attr": [{"name": "a", "type": "int", "value": "1"}]}], "E10032", "no int"),
        ([{"op": "X", "attr": [{"name": "a", "type": "bool", "value": 1}]}], "E10032", "no bool"),
        ([{"op": "X", "attr": [{"name": "a", "type": "complex", "value": 1}]}], "E10032", "complex"),
    ],
)  # fmt: skip
def test_broken_files_are_named(element: object, code: str, words: str) -> None:
    """Each rule that a file breaks has its code, and the text says where."""
    with pytest.raises(OperatorFileInvalid, match=words) as caught:
        parse_operator_file(json.dumps(element).encode())

    assert caught.value.report.code == code


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int32", "1"), ("int32", 1.5), ("int32", True), ("int32", [1]), ("int8", 300), ("uint8", -1),
        ("bool", 2), ("bool", {}), ("bool", 0.5), ("float", None), ("float", "1"), ("float", True), ("float", 1e39),
        ("float16", 70000), ("float16", [1]), ("bf16", 1e39), ("double", 10**400), ("complex64", None), ("int4", 9),
    ],
)  # fmt: skip
def test_constants_are_numbers_of_their_type(kind: str, value: object) -> None:
    """Texts, null, lists, fractions of an integer and what the type cannot hold are refused, not converted."""
    element = {"op": "X", "input_desc": [tensor(1, type=kind, is_const=True, const_value=[value])]}
    with pytest.raises(OperatorFileInvalid, match='"const_value" must be values of type'):
        parse_operator_file(json.dumps([element]).encode())


@pytest.mark.parametrize(
    "text",
    [b"", b"[{", b"\xff\xfe", b"[1,]", b"[" * 50_000 + b"]" * 50_000, b'[{"a":' * 50_000, b"[NaN]", b"[-Infinity]"],
)
def test_text_that_is_no_json(text: bytes) -> None:
    """Text that is no JSON is refused as such."""
    with pytest.raises(OperatorFileInvalid, match="E10025"):
        parse_operator_file(text)


@pytest.mark.parametrize(
    ("element", "code", "words"),
    [
        (ADD | {"op": "Addd"}, "E10501", "Add"),
        (ADD | {"input_desc": [tensor(8, 16)]}, "E19014", "was given 1 input; it takes x1, x2"),
        (ADD | {"output_desc": []}, "E19014", "0 outputs"),
        (ADD | {"input_desc": [tensor(8, 16), tensor(8, 17)]}, "E19014", r"\(8, 16\).*\(8, 17\)"),
        (ADD | {"output_desc": [tensor(8, 17)]}, "E19014", r"\[8, 17\].*\[8, 16\]"),
        (ADD | {"attr": [{"name": "zz", "type": "int", "value": 1}]}, "E19014", "'zz'"),
        (ADD | {"input_desc": [tensor(8, 16, type="uint1")] * 2}, "E19014", "UINT1"),
    ],
)
def test_operators_that_break_their_prototype(
    tmp_path: Path, element: Mapping[str, Any], code: str, words: str
) -> None:
    """An unknown type, a wrong count, shape, dtype or attribute is refused; no file is left, of sound operators neither."""
    with pytest.raises(OperatorFileInvalid, match=words) as caught:
        convert_operators(save(tmp_path, ADD, element), tmp_path / "out")

    assert caught.value.report.code == code
    assert "operator 1" in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_two_operators_of_one_name_are_refused(tmp_path: Path) -> None:
    """Two elements that ask for one file name are refused: one file would overwrite the other."""
    with pytest.raises(OperatorFileInvalid, match="'same'"):
        convert_operators(save(tmp_path, ADD | {"name": "same"}, ADD | {"name": "same"}), tmp_path / "out")


def test_paths(tmp_path: Path) -> None:
    """A missing file, a directory in its place, and an output that is a file are refused by name."""
    with pytest.raises(OperatorFileInvalid, match=r"E10023.*none\.json"):
        convert_operators(tmp_path / "none.json", tmp_path)
    with pytest.raises(OperatorFileInvalid, match="E10024"):
        convert_operators(tmp_path, tmp_path)
    with pytest.raises(InvalidOption, match="directory"):
        convert_operators(source := save(tmp_path, ADD), source)


def test_origin_is_kept(tmp_path: Path) -> None:
    """What a framework sees of a tensor in a device's layout is in the file and its descriptions; left out, it is the same."""
    blocks = tensor(1, 2, 4, 4, 16, type="float16", format="NC1HWC0", origin_format="nchw", origin_shape=[1, 17, 4, 4])
    turned = tensor(1, 17, 4, 4, type="float16", format="NCHW", origin_format="NHWC")
    attr = [{"name": "src_format", "type": "string", "value": "NC1HWC0"},
            {"name": "dst_format", "type": "string", "value": "NCHW"}]  # fmt: skip
    element = {"op": "TransData", "input_desc": [blocks], "output_desc": [turned], "attr": attr}

    (path,) = convert_operators(save(tmp_path, element), tmp_path / "out")

    assert path.stem == "0_TransData_1_3_1_2_4_4_16_1_0_1_17_4_4"
    operator = read(path)
    (source,), (target,) = operator.inputs, operator.outputs
    assert source is not None
    assert (source.format, source.shape) == (Format.NC1HWC0, (1, 2, 4, 4, 16))
    assert (source.origin_format, source.origin_shape) == (Format.NCHW, (1, 17, 4, 4))
    assert (target.origin_format, target.origin_shape) == (Format.NHWC, (1, 17, 4, 4))


def test_the_whole_description_survives_the_file(tmp_path: Path) -> None:
    """Names, ranges, unknown ranks, constants of every type and attributes of every kind are read back as they were."""
    constants = {"int8": [-1], "uint8": [255], "int16": [-300], "int32": [7], "int64": [1 << 40], "uint64": [1 << 63],
                 "float16": [0.5], "float": [1.5], "double": [0.1], "bool": [True]}  # fmt: skip
    elements = [
        {"op": "Identity", "name": f"constant_{kind}", "output_desc": [tensor(1, type=kind)],
         "input_desc": [tensor(1, type=kind, is_const=True, const_value=value, name="x")]}
        for kind, value in constants.items()
    ]  # fmt: skip
    elements += [
        {"op": "Relu", "input_desc": [tensor(-2, type="float")], "output_desc": [tensor(-2, type="float")]},
        {"op": "Relu", "input_desc": [tensor(-1, 3, -1, type="float", shape_range=[[1, 8], [2, -1]])],
         "output_desc": [tensor(-1, 3, -1, type="float")]},
        {"op": "ArgMaxD", "input_desc": [tensor(2, 3, type="float")], "output_desc": [tensor(2)],
         "attr": [{"name": "dimension", "type": "int", "value": 1}, {"name": "dtype", "type": "data_type", "value": 3}]},
    ]  # fmt: skip

    operators = [read(path) for path in convert_operators(save(tmp_path, *elements), tmp_path / "out")]

    for (kind, value), operator in zip(constants.items(), operators, strict=False):
        (desc,) = operator.inputs
        assert desc is not None
        assert desc.value is not None
        assert (operator.name, desc.name, desc.value.tolist()) == (f"constant_{kind}", "x", value)
    unknown, ranged, arguments = operators[len(constants) :]
    assert unknown.inputs[0] is TensorDesc.of(DataType.FLOAT, (-2,))
    assert ranged.inputs[0] is TensorDesc.of(DataType.FLOAT, (-1, 3, -1), ranges=((1, 8), (3, 3), (2, -1)))
    assert dict(arguments.attributes) == {"dimension": 1, "dtype": DataType.INT32}


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("[{", "E10025", "no JSON"),
        ("{}", "E10032", "array"),
        (json.dumps([ADD, {"input_desc": []}]), "E10026", 'operator 1 .*"op"'),
        (json.dumps([ADD, ADD | {"input_desc": [{"format": "ND", "shape": [1]}]}]), "E10027",
         r'operator 1 \(Add\), input 0: "type" .*missing'),
        (json.dumps([ADD, ADD | {"output_desc": [{"type": "int8", "shape": [1]}]}]), "E10027",
         r'operator 1 \(Add\), output 0: "format" .*missing'),
        (json.dumps([ADD | {"input_desc": [{"type": "int8", "format": "ND"}]}]), "E10027",
         r'operator 0 \(Add\), input 0: "shape" .*missing'),
        (json.dumps([ADD | {"input_desc": [tensor(1, origin_format="X")]}]), "E10027", '"origin_format".*X'),
        (json.dumps([ADD | {"input_desc": [tensor(1, origin_shape=3)]}]), "E10027", '"origin_shape".*3'),
        (json.dumps([ADD | {"attr": [{"name": "N", "value": 1}]}]), "E10032", "\"type\" of attribute 'N' is missing"),
        (json.dumps([ADD | {"attr": [{"value": 1}]}]), "E10029", '"name"'),
        (json.dumps([ADD, ADD | {"op": "Addd"}]), "E10501", "operator 1"),
        (json.dumps([ADD | {"name": "same"}] * 2), "E10032", "'same'"),
    ],
)  # fmt: skip
def test_the_file_the_operator_and_the_key_are_named(tmp_path: Path, text: str, code: str, words: str) -> None:
    """Every refusal of a file says which file, which operator of it and which key."""
    path = tmp_path / "bad_ops.json"
    path.write_text(text)
    with pytest.raises(OperatorFileInvalid, match=rf"(?s)bad_ops\.json: .*{words}") as caught:
        convert_operators(path, tmp_path / "out")

    assert caught.value.report.code == code
    assert not (tmp_path / "out").exists()
