"""Prototypes: attributes, numbers of inputs, data types."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aacl.dtypes import DataType
from aacl.errors import InvalidArgument, UnsupportedDataType
from aacl.ops._prototype import parse_prototype
from aacl.ops._schema import OperatorSchema
from aacl.tensors._desc import TensorDesc

_INPUTS = "x:0:0:FLOAT,RealNumberType;parts:0:1:ALL;bias:1:0:INT32"
_OUTPUTS = "y:0:0:FLOAT;rest:0:1:ALL"
_OPTIONAL = (
    'axis:Int=-1;scale:Float=0.5;keep:Bool=true;mode:String="fast";dtype:Type=DT_INT64;'
    "sizes:ListInt={1,2};pads:ListListInt={{},{}};names:ListString={}"
)
_LINE = f"Demo\t{_INPUTS}\t{_OUTPUTS}\t{_OPTIONAL}\tdst_type:Int;rates:ListFloat"


def _demo() -> OperatorSchema:
    return parse_prototype(_LINE)


def _required() -> dict[str, object]:
    return {"dst_type": 1, "rates": [0.5]}


def test_defaults_are_filled_in() -> None:
    """Attributes that are not given get the header's defaults, lists as tuples."""
    assert _demo().complete(_required()) == {
        "axis": -1,
        "scale": 0.5,
        "keep": True,
        "mode": "fast",
        "dtype": DataType.INT64,
        "sizes": (1, 2),
        "pads": ((), ()),
        "names": (),
        "dst_type": 1,
        "rates": (0.5,),
    }


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("axis", np.int64(3), 3),
        ("axis", np.array(3, np.int8), 3),
        ("axis", DataType.BF16, 27),
        ("scale", 2, 2.0),
        ("scale", np.float32(0.25), 0.25),
        ("scale", np.float16(0.25), 0.25),
        ("keep", np.False_, False),
        ("keep", 1, True),
        ("mode", b"slow", "slow"),
        ("dtype", "int32", DataType.INT32),
        ("dtype", "DT_BF16", DataType.BF16),
        ("dtype", "ACL_FLOAT16", DataType.FLOAT16),
        ("dtype", 12, DataType.BOOL),
        ("dtype", np.float32, DataType.FLOAT),
        ("dtype", np.dtype(ml_dtypes.bfloat16), DataType.BF16),
        ("sizes", np.array([4, 5]), (4, 5)),
        ("sizes", range(2), (0, 1)),
        ("sizes", [], ()),
        ("pads", np.ones((2, 2), int), ((1, 1), (1, 1))),
        ("names", ["a", "b"], ("a", "b")),
        ("dst_type", "bfloat16", 27),
        ("dst_type", DataType.FLOAT16, 1),
        ("dst_type", np.int8, 2),
        ("rates", (1, np.float64(2.5)), (1.0, 2.5)),
    ],
)
def test_values_are_converted(name: str, value: object, expected: object) -> None:
    """NumPy scalars and arrays, ints for floats, and every spelling of a data type are taken."""
    converted = _demo().complete(_required() | {name: value})[name]

    assert converted == expected
    assert type(converted) is type(expected)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("axis", 1.5),
        ("axis", True),
        ("axis", "1"),
        ("scale", "1"),
        ("scale", False),
        ("keep", 2),
        ("keep", "yes"),
        ("mode", 3),
        ("dtype", "floot"),
        ("dtype", 999),
        ("sizes", 3),
        ("sizes", "12"),
        ("sizes", [1, 2.5]),
        ("pads", [1, 2]),
        ("rates", ["a"]),
        ("dst_type", "floot"),
        ("dst_type", None),
    ],
)
def test_wrong_kinds_of_value_are_refused(name: str, value: object) -> None:
    """The text names the operator, the attribute, the value and what is taken."""
    with pytest.raises(InvalidArgument) as caught:
        _demo().complete(_required() | {name: value})

    text = str(caught.value)
    assert f"operator Demo: attribute {name} was given {value!r}" in text
    assert "it takes" in text


def test_the_number_of_tensors_follows_from_the_inputs() -> None:
    """``N`` need not be given where the inputs are known; a given one is kept."""
    schema = parse_prototype("AddN\tx:0:1:FLOAT\ty:0:0:FLOAT\t\tN:Int")

    assert schema.complete({}, 3) == {"N": 3}
    assert schema.complete({"N": 2}, 3) == {"N": 2}
    with pytest.raises(InvalidArgument, match="needs attribute N"):
        schema.complete({})


def test_unknown_attribute_is_refused() -> None:
    """The text names what the operator has, and a close name."""
    with pytest.raises(
        InvalidArgument, match=r"operator Demo has no attribute 'axes'; did you mean axis\? it has axis,"
    ):
        _demo().complete(_required() | {"axes": 1})


def test_missing_attribute_is_refused() -> None:
    """A required attribute has no default."""
    with pytest.raises(InvalidArgument, match="operator Demo needs attribute rates"):
        _demo().complete({"dst_type": 1})


@settings(deadline=None)
@given(st.integers(3, 40))
def test_a_dynamic_input_takes_what_is_left(count: int) -> None:
    """Every other input keeps its one place."""
    names = [parameter.name for parameter in _demo().assign(count)]

    assert names == ["x", *["parts"] * (count - 2), "bias"]


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(1, 9))
def test_several_dynamic_inputs(first: int, second: int) -> None:
    """They share equally, unless their lengths are said."""
    schema = parse_prototype("Two\ta:0:1:FLOAT;b:0:1:FLOAT\ty:0:0:FLOAT\t\t")

    assert [p.name for p in schema.assign(2 * first)] == ["a"] * first + ["b"] * first
    spread = schema.assign(first + second, lengths={"a": first})
    assert [p.name for p in spread] == ["a"] * first + ["b"] * second
    with pytest.raises(InvalidArgument, match="cannot be shared equally by the dynamic inputs a, b"):
        schema.assign(2 * first + 1)


@pytest.mark.parametrize("count", [0, 1, 4])
def test_wrong_number_of_inputs(count: int) -> None:
    """The text names the inputs; an optional one at the end may be left out."""
    schema = parse_prototype("M\tx1:0:0:FLOAT;x2:0:0:FLOAT;bias:1:0:FLOAT\ty:0:0:FLOAT\t\t")

    assert [p.name for p in schema.assign(2)] == ["x1", "x2"]
    given = "1 input" if count == 1 else f"{count} inputs"
    with pytest.raises(
        InvalidArgument, match=rf"operator M was given {given}; it takes x1, x2, bias\? \(\? may be absent\)$"
    ):
        schema.assign(count)
    with pytest.raises(InvalidArgument, match="operator M was given 2 inputs"):
        schema.assign(2, omit_optional=False)


def test_a_wrong_number_of_inputs_explains_the_marks_that_it_shows() -> None:
    """No legend for marks that are not there."""
    plain = parse_prototype("M\tx1:0:0:FLOAT;x2:0:0:FLOAT\ty:0:0:FLOAT\t\t")
    with pytest.raises(InvalidArgument, match=r"was given 1 input; it takes x1, x2$"):
        plain.assign(1)
    dynamic = parse_prototype("M\tx:0:1:FLOAT;bias:1:0:FLOAT\ty:0:0:FLOAT\t\t")
    with pytest.raises(InvalidArgument, match=r"x\*, bias\? \(\? may be absent, \* stands for one or more\)$"):
        dynamic.assign(0)


def test_data_types_are_checked() -> None:
    """The text names the operator, the input, its dtype and the allowed ones."""
    schema, x = _demo(), TensorDesc.of(DataType.FLOAT, (2,))

    schema.check_inputs([x, x, None])
    with pytest.raises(
        UnsupportedDataType, match="operator Demo: input x has data type BOOL; it takes FLOAT, FLOAT16,"
    ):
        schema.check_inputs([TensorDesc.of(DataType.BOOL, (2,)), x, None])
    with pytest.raises(UnsupportedDataType, match="input bias has data type FLOAT; it takes INT32"):
        schema.check_inputs([x, x, x])
    with pytest.raises(InvalidArgument, match="input 0, x, is absent and not optional"):
        schema.check_inputs([TensorDesc.of(DataType.UNDEFINED), x, None])
    schema.check_inputs([x, x, TensorDesc.of(DataType.UNDEFINED)])


def test_outputs_are_checked() -> None:
    """Number and data types; what the fixed outputs leave belongs to the dynamic one."""
    schema, x, flag = _demo(), TensorDesc.of(DataType.FLOAT, (2,)), TensorDesc.of(DataType.BOOL, (2,))

    schema.check_outputs([x, flag, x])
    with pytest.raises(UnsupportedDataType, match="output y has data type BOOL; it takes FLOAT"):
        schema.check_outputs([flag, x])
    with pytest.raises(InvalidArgument, match="operator Demo was given 0 outputs; it has y, rest"):
        schema.check_outputs([])


@pytest.mark.parametrize(
    ("group", "inside", "outside"),
    [
        ("NumberType", "BF16 INT8 UINT64 COMPLEX128 FLOAT16", "BOOL STRING"),
        ("RealNumberType", "BF16 DOUBLE UINT16", "BOOL COMPLEX64"),
        ("BasicType", "COMPLEX32 INT64 BF16", "BOOL STRING"),
        ("FloatingDataType", "FLOAT FLOAT16 DOUBLE", "BF16 INT32"),
        ("UnaryDataType", "BF16 COMPLEX64 FLOAT", "INT32 BOOL"),
        ("IndexNumberType", "INT32 INT64", "INT16 FLOAT"),
        ("IntegerDataType", "UINT8 INT64", "FLOAT BOOL"),
        ("ALL", "BOOL STRING INT4 BF16", "UNDEFINED"),
        ("QINT8,INT8", "INT8", "UINT8"),
    ],
)
def test_groups_of_data_types(group: str, inside: str, outside: str) -> None:
    """Groups are those of the public headers; types that no description can have are left out."""
    (parameter,) = parse_prototype(f"G\tx:0:0:{group}\ty:0:0:{group}\t\t").inputs

    assert {DataType[name] for name in inside.split()} <= parameter.dtypes
    assert not {DataType[name] for name in outside.split()} & parameter.dtypes
