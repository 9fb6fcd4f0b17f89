"""The catalogue of operator types, and the tool that writes it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import aacl
from aacl.dtypes import DataType
from aacl.errors import OperatorNotFound
from aacl.ops._catalogue import operator_types, schema_of

_ROOT = Path(aacl.__file__).parents[1]
_TOOL = _ROOT / "tools" / "make_catalogue.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """Return the tool as a module."""
    spec = importlib.util.spec_from_file_location("make_catalogue", _TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_line_is_a_prototype() -> None:
    """1853 types, sorted; each has unique names, outputs or inputs, and at most one default an attribute."""
    names = operator_types()

    assert len(names) == len(set(names)) == 1853
    assert list(names) == sorted(names)
    for name in names:
        schema = schema_of(name)
        assert schema.op_type == name
        for parts in (schema.inputs, schema.outputs):
            assert len({part.name for part in parts}) == len(parts)
        assert len({attribute.name for attribute in schema.attributes}) == len(schema.attributes)
        assert all(attribute.is_required is False or attribute.default is None for attribute in schema.attributes)


def test_defaults_satisfy_their_own_kind() -> None:
    """A default given back as a value is taken, and unchanged."""
    for name in operator_types():
        for attribute in schema_of(name).attributes:
            if not attribute.is_required and attribute.kind != "Tensor":
                assert attribute.convert(name, attribute.default) == attribute.default, (name, attribute)


def test_known_prototypes() -> None:
    """Some prototypes, read against the headers' text."""
    softmax = schema_of("SoftmaxV2")
    assert [(a.name, a.kind, a.default) for a in softmax.attributes] == [
        ("axes", "ListInt", (-1,)),
        ("half_to_float", "Bool", False),
    ]
    matmul = schema_of("MatMulV2")
    assert matmul.signature == "x1, x2, bias?, offset_w?"
    assert DataType.INT8 in matmul.inputs[0].dtypes
    assert schema_of("ConcatV2").signature == "x*, concat_dim"
    assert schema_of("Split").outputs[0].is_dynamic
    assert schema_of("ArgMaxV2").attributes[0].default is DataType.INT64
    assert schema_of("Shape").attributes[0].default == 3


def test_old_spellings_are_known() -> None:
    """Types that only older headers have, and old names beside new ones."""
    for name in ("Softmax", "GeluV2", "Activation", "ConcatD", "ReduceSumD", "LogSoftmax", "ArgMax", "Muls", "Adds"):
        assert schema_of(name).outputs


def test_schemas_are_cached() -> None:
    """A second look-up gives the same object."""
    assert schema_of("Add") is schema_of("Add")


@pytest.mark.parametrize(("asked", "close"), [("Addd", "Add"), ("matmul", "MatMul"), ("ReducSum", "ReduceSum")])
def test_unknown_type_names_close_ones(asked: str, close: str) -> None:
    """A slip of spelling or case is answered with the right name."""
    with pytest.raises(OperatorNotFound) as caught:
        schema_of(asked)

    assert repr(asked) in str(caught.value)
    assert close in str(caught.value)


def test_unknown_type_without_close_ones() -> None:
    """The text says where the names are."""
    with pytest.raises(OperatorNotFound, match=r"no operator type 'qqqqqq'; aacl\.ops\.operator_types\(\) lists them"):
        schema_of("qqqqqq")


def test_tool_is_deterministic(tool: ModuleType) -> None:
    """Lines are sorted whatever the table's order, and the header column is left out."""
    head = "op\tkind_of_ops_file\tinputs\toutputs\tattrs\trequired_attrs\n"
    lines = ["B\tb.h\tx:0:0:FLOAT\ty:0:0:FLOAT\t\t\n", "A\ta.h\tx:0:0:INT8\ty:0:0:INT8\taxis:Int=0\t\n"]

    result = tool.catalogue(head + "".join(lines))

    assert result == tool.catalogue(head + "".join(reversed(lines)))
    assert result == "A\tx:0:0:INT8\ty:0:0:INT8\taxis:Int=0\t\nB\tx:0:0:FLOAT\ty:0:0:FLOAT\t\t\n"


def test_tool_refuses_a_wrong_table(tool: ModuleType) -> None:
    """Other columns, a short line, a name that stands twice."""
    head = "op\tkind_of_ops_file\tinputs\toutputs\tattrs\trequired_attrs\n"
    line = "A\ta.h\tx:0:0:INT8\ty:0:0:INT8\t\t\n"
    for table in ("op\tinputs\n", head + "A\ta.h\n", head + line + line):
        with pytest.raises(ValueError, match=r"columns are|operator 'A'"):
            tool.catalogue(table)


def test_tool_reproduces_the_packaged_file(tmp_path: Path) -> None:
    """Run as a program on a table made from the packaged file, it writes the same bytes."""
    packaged = _ROOT / "aacl" / "ops" / "catalogue.tsv"
    rows = [line.partition("\t") for line in packaged.read_text(encoding="utf-8").splitlines()]
    table = "op\tkind_of_ops_file\tinputs\toutputs\tattrs\trequired_attrs\n"
    table += "".join(f"{name}\tsome.h\t{rest}\n" for name, _, rest in reversed(rows))
    (tmp_path / "table.tsv").write_text(table, encoding="utf-8")

    command = [sys.executable, str(_TOOL), str(tmp_path / "table.tsv"), str(tmp_path / "out.tsv")]
    subprocess.run(command, check=True)

    assert (tmp_path / "out.tsv").read_bytes() == packaged.read_bytes()
    assert subprocess.run([sys.executable, str(_TOOL)], capture_output=True, check=False).returncode == 2
