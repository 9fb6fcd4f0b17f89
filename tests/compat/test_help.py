"""What `help` says of every function, and that all say it in one form."""

from __future__ import annotations

import inspect
import pydoc
import re
from collections.abc import Callable
from typing import Any

import acl
from tools.acl_page import entries, functions

HERE = functions()
C_FUNCTIONS = {each.function: each.c_function for each in entries() if each.c_function != "-"}
WITH_CODE = {each.function for each in entries() if each.returns.endswith("ret")}

Function = Callable[..., Any]


def _section(function: Function, title: str) -> str | None:
    """Return a section's text without its indentation, or None if there is none."""
    found = re.search(rf"^{title}:\n((?:    .*\n|\n)+)", f"{inspect.getdoc(function)}\n", re.MULTILINE)
    return None if found is None else inspect.cleandoc(found[1])


def _words(text: str | None) -> str:
    return " ".join((text or "").split())


def test_summaries_are_sentences() -> None:
    """The first paragraph says what the call does, and does not hide what it returns."""
    assert [name for name, function in HERE.items() if not _has_summary(function)] == []


def _has_summary(function: Function) -> bool:
    summary = _words((inspect.getdoc(function) or "").partition("\n\n")[0])
    return bool(re.match(r"[A-Z].*[.:]$", summary)) and not re.search(r"\bReturns? 0\b|\bReturns? \(", summary)


def test_every_argument_is_explained() -> None:
    """Args names the arguments in their order, each with a sentence; calls without arguments have none."""
    assert [name for name, function in HERE.items() if not _explains_arguments(function)] == []


def _explains_arguments(function: Function) -> bool:
    section, parameters = _section(function, "Args"), list(inspect.signature(function).parameters)
    return re.findall(r"^(\w+): ", section or "", re.MULTILINE) == parameters and (section is None) == (not parameters)


def test_results_and_codes_are_explained() -> None:
    """Returns says what comes back, and with which codes a call with arguments fails, or where that stands."""
    assert [name for name, function in HERE.items() if not _explains_results(name, function)] == []


def _explains_results(name: str, function: Function) -> bool:
    section, signature = _words(_section(function, "Returns")), inspect.signature(function)
    if signature.return_annotation == "None":
        return not section
    if name not in WITH_CODE or re.search(r"\b[Aa]s (for )?`", section):
        return section.endswith(".")
    succeeds = re.search(r"\b0\b", section) or hasattr(function, "refused")
    fails = re.search(r"\b[1-5]\d{5}\b", section) or not signature.parameters
    return bool(section.endswith(".") and succeeds and fails)


def test_sources_are_named() -> None:
    """The last line is the C function under which the public documentation describes the call."""
    assert [name for name in sorted(C_FUNCTIONS.keys() & HERE.keys()) if not _names_source(name)] == []


def _names_source(name: str) -> bool:
    last = _words((inspect.getdoc(HERE[name]) or "").rpartition("\n\n")[2])
    return bool(re.match(rf"Source: {C_FUNCTIONS[name]}\b.*\.$", last))


def test_help_shows_arguments_results_and_codes() -> None:
    """`help(acl.rt.malloc)` shows the call with its types, the units, the tuple and the codes."""
    text = pydoc.plain(pydoc.render_doc(acl.rt.malloc))

    assert "malloc in module acl.rt" in text
    assert "malloc(size: 'int', policy: 'int', /) -> 'tuple[int, int]'" in text
    for part in ("size: bytes", "(address, 0)", "207001", "Source: aclrtMalloc"):
        assert part in text


def test_help_of_a_namespace_lists_its_functions() -> None:
    """`help(acl.rt)` lists the functions and what the namespace is for."""
    text = pydoc.plain(pydoc.render_doc(acl.rt))

    assert "devices, contexts, streams" in text
    assert "memcpy_async(" in text
