"""The module, the table of pyACL's functions and the page on what is covered agree."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acl
from tests.compat._programs import ok
from tools.acl_page import PAGE, Entry, covering, entries, functions, page, split
from tools.acl_tests import ROOT, references

ENTRIES = entries()
HERE = functions()
REFUSED = sorted(name for name, function in HERE.items() if hasattr(function, "refused"))
PRESENT = [each for each in ENTRIES if each.function in HERE]

NOT_SUPPORTED = (207000, 200006, 200007)
WORKING = 320

ARRAY = np.zeros(4, np.int8)
Function = Callable[..., Any]


def test_every_function_that_pyacl_has_is_here() -> None:
    """Each function that programs call or the public documentation names exists; most of them work."""
    required = [each.function for each in ENTRIES if each.evidence in ("client", "doc")]

    assert [name for name in required if name not in HERE] == []
    assert len(required) == 360
    assert len([name for name in required if not hasattr(HERE[name], "refused")]) >= WORKING


def test_arguments_are_those_of_the_table() -> None:
    """As many arguments as the table says, the same ones may be left out, and all go by position."""
    assert [each.function for each in PRESENT if not _takes(HERE[each.function], split(each.arguments))] == []


def _takes(function: Function, names: list[str]) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return [each.default is not each.empty for each in parameters] == [name.startswith("[") for name in names] and all(
        each.kind is each.POSITIONAL_ONLY for each in parameters
    )


def test_results_are_those_of_the_table() -> None:
    """The annotation has as many results as the table, and the last one is the code where there is one."""
    assert [each.function for each in PRESENT if not _gives(HERE[each.function], split(each.returns))] == []


def _gives(function: Function, names: list[str]) -> bool:
    found = _items(str(inspect.signature(function).return_annotation))
    return len(found) == len(names) and found[-1] == {"ret": "int", "None": "None"}.get(names[-1], found[-1])


def _items(annotation: str) -> list[str]:
    """Return the types of a tuple, or the one other type."""
    node = ast.parse(annotation, mode="eval").body
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "tuple" and isinstance(node.slice, ast.Tuple):
        return [ast.unparse(each) for each in node.slice.elts]
    return [annotation]


@pytest.mark.parametrize("entry", PRESENT, ids=lambda each: each.function)
def test_answers_have_the_shape_of_the_table(entry: Entry) -> None:
    """Whether a call works or fails, before ``acl.init`` or on a device, as many values come back, the code last."""
    _check_shape(entry)
    ok(acl.init() % 100002)
    ok(acl.rt.set_device(0))
    _check_shape(entry)


def _check_shape(entry: Entry) -> None:
    answer, names = HERE[entry.function](*_arguments(entry.function)), split(entry.returns)
    values = answer if isinstance(answer, tuple) else (answer,)

    assert isinstance(answer, tuple) == (len(names) > 1)
    assert len(values) == len(names)
    if names[-1] == "ret":
        assert type(values[-1]) is int
    if names == ["None"]:
        assert answer is None


_PLAIN: dict[str, object] = {"int": 0, "float": 0.0, "str": "", "bytes": b"", "bool": False, "object": None}


def _arguments(name: str) -> list[object]:
    """Return arguments of the right Python types that name nothing; memory for what raises for other addresses."""
    if name in ("acl.util.ptr_to_bytes", "acl.util.ptr_to_numpy"):
        address = acl.util.numpy_to_ptr(ARRAY)
        return [address, 4] if name.endswith("bytes") else [address, (4,), 1]
    parameters = inspect.signature(HERE[name]).parameters.values()
    return [_argument(str(each.annotation)) for each in parameters if each.default is each.empty]


def _argument(annotation: str) -> object:
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if annotation.startswith("Callable"):
        return lambda *_: 0
    if annotation.endswith("Array"):
        return ARRAY
    return {} if annotation.startswith(("dict", "Mapping")) else []


@pytest.mark.parametrize("name", REFUSED)
def test_what_only_hardware_can_serve_is_refused_with_the_reason(name: str, stream: int) -> None:
    """A refused function returns the documented code, and the text is the reason that the page gives."""
    function = HERE[name]
    code, reason = function.refused  # type: ignore[attr-defined]
    answer = function(*[_valid(each, stream) for each in inspect.signature(function).parameters.values()])

    assert (answer[-1] if isinstance(answer, tuple) else answer) == code
    assert code in NOT_SUPPORTED
    assert acl.get_recent_err_msg() == f"{name} failed with {code}: {reason}"
    assert len(reason) > 20


def _valid(parameter: inspect.Parameter, stream: int) -> object:
    """Return an argument that is right, so that nothing else is wrong."""
    known = {"stream": stream, "config_type": 1}
    return known[parameter.name] if parameter.name in known else _argument(str(parameter.annotation))


def test_the_page_is_what_make_docs_writes() -> None:
    """Functions, refusals and tests are those of now; a stale page says: run make docs."""
    assert PAGE.read_text() == page()


def test_every_function_has_a_test() -> None:
    """For each function there is a file whose tests name it."""
    named = references()
    files = {name: covering(function, name, named) for name, function in HERE.items()}

    assert [name for name, file in files.items() if not file] == []
    assert all((ROOT / file).is_file() for file in files.values())


def test_references_are_found_by_every_spelling(tmp_path: Path) -> None:
    """Plain names, aliases, texts, programs, helpers, fixtures and tables count; docstrings and unused helpers do not."""
    (tmp_path / "test_it.py").write_text(SPELLINGS)

    found = references(tmp_path)

    assert [name for name in USED if dict(found.get(f"acl.rt.{name}", {})) != {"test_it.py": 1}] == []
    assert [name for name in UNUSED if f"acl.rt.{name}" in found] == []


USED = ("plain", "imported", "named", "text", "begun_end", "program", "helped", "fixed", "tabled")
UNUSED = ("unused", "docstring", "module_docstring")
SPELLINGS = '''
"""acl.rt.module_docstring"""
import acl
import acl.rt as r
from acl.rt import imported

table = [acl.rt.tabled]

def helper(): acl.rt.helped()

def unused(): acl.rt.unused()

def fixed(): acl.rt.fixed()

def test_one(fixed):
    """acl.rt.docstring"""
    acl.rt.plain(), r.named(), imported(), helper(), table
    getattr(r, "text")
    getattr(acl.rt, f"begun_{'end'}")
    run("import acl; acl.rt.program()")
'''
