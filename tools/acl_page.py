"""Write ``docs/acl-coverage.md``: what `acl` has of pyACL, what it refuses and why, and which test covers each.

Usage: python -m tools.acl_page

What is there, its arguments and what it refuses are read from the module; that the refusals are true is for
``tests/compat/test_coverage.py``, which calls them.
"""

from __future__ import annotations

import csv
import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

import acl
from tools.acl_tests import references

__all__ = ("PAGE", "TABLE", "Entry", "covering", "entries", "functions", "page", "split")

PAGE = Path(__file__).parents[1] / "docs" / "acl-coverage.md"
TABLE = Path(__file__).with_name("acl_functions.tsv")

_INTRODUCTION = """\
# What `acl` covers

{here} of the {known} functions of pyACL that are known outside its media namespaces are here: {working} work, {refused}
are refused, for only hardware can serve them. A refused function checks its arguments, then returns the code that the
documentation has for what a product does not support, 207000 (`ACL_ERROR_RT_FEATURE_NOT_SUPPORT`), 200006
(`ACL_ERROR_FEATURE_UNSUPPORTED`) or 200007 (`ACL_ERROR_PROF_MODULES_UNSUPPORTED`), and `acl.get_recent_err_msg()` says
why. Some of those that work give such a code in single cases, which `help(acl.rt.memcpy_async)`, and so on, names.

Arguments go by position; those in brackets may be left out. `ret` is a code, 0 for success; results without it are
plain values. *Evidence*: *client*, published programs call it; *doc*, the public documentation names it; *header*,
inferred from the C function alone, so that the vendor's module may not have it. *Test* is the file of `tests/compat`
that covers it best. `make docs` writes this page.
"""
_REFUSALS = re.compile(r"\b(?:207000|200006|200007|200001)\b")
_TITLES = {
    "acl": "setup, data buffers, tensor descriptions",
    "acl.rt": "devices, contexts, streams, events, callbacks, memory, kernels",
    "acl.op": "single operators and own kernels",
    "acl.blas": "products of matrices",
    "acl.mdl": "models",
    "acl.fv": "feature retrieval",
    "acl.prof": "profiling",
    "acl.util": "pointers and threads",
}
_BEYOND = """
## More than that

Functions of the media namespaces, and names that programs use beside those of the tables.
"""


@attrs.frozen
class Entry:
    """One function of pyACL.

    Attributes:
        function: where programs find it, ``acl.rt.malloc``.
        arguments: in order; one in brackets may be left out.
        returns: what comes back, in order; ``None`` for nothing.
        c_function: the function of the C interface that it stands for; ``-`` for none.
        evidence: ``client``, ``doc`` or ``header``.
    """

    function: str
    arguments: str
    returns: str
    c_function: str
    evidence: str


def entries() -> list[Entry]:
    """Return the functions of pyACL outside media, as public sources have them."""
    lines = [line for line in TABLE.read_text().splitlines() if not line.startswith("#")]
    return [Entry(**line) for line in csv.DictReader(lines, delimiter="\t")]


def split(arguments: str) -> list[str]:
    """Return the single names of ``arguments`` or ``returns``."""
    return [name.strip() for name in arguments.split(",") if name.strip()]


def functions() -> dict[str, Callable[..., Any]]:
    """Return the functions of the module, by the name that programs call."""
    return dict(_functions())


def _functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    spaces = [acl, *(getattr(acl, name) for name in acl.__all__ if inspect.ismodule(getattr(acl, name)))]
    for space in spaces:
        for name in space.__all__:
            if not inspect.ismodule(getattr(space, name)):
                yield f"{space.__name__}.{name}", getattr(space, name)


def covering(function: Callable[..., Any], name: str, named: Mapping[str, Counter[str]]) -> str:
    """Return the file that covers a function best: in its folder, of its noun, with the most tests that name it.

    Args:
        function: the function.
        name: where programs find it.
        named: for each name the files whose tests name it, and how many of them do.

    Returns:
        The file, relative to the folder of the tests; empty if no test names it.
    """
    noun = inspect.unwrap(function).__code__.co_filename.rpartition("/_")[2].removesuffix(".py")
    folder = name.partition(".")[2].rpartition(".")[0]

    def fits(file: str) -> tuple[bool, bool, int]:
        place = file.rpartition("/")[0]
        is_near = place == folder or place.startswith(f"{folder}/")  # where one file is too few, a noun has a folder
        is_named = f"test_{noun}" in file or place == f"{folder}/{noun}"
        return not is_near, not is_named, -named[name][file]

    return min(sorted(named.get(name, ())), key=fits, default="")


def page() -> str:
    """Return the page."""
    known, here, named = entries(), functions(), references()
    listed = {each.function for each in known}
    count = Counter(hasattr(here[name], "refused") for name in listed & here.keys())
    parts = [_INTRODUCTION.format(here=count.total(), known=len(known), working=count[False], refused=count[True])]
    parts.append(_counts(known, here))
    for space, title in _TITLES.items():
        parts.append(f"\n## `{space}`: {title}\n")
        parts.append("| function | returns | C function | evidence | status | test |\n|---|---|---|---|---|---|")
        parts += [_line(each, here, named) for each in known if each.function.rpartition(".")[0] == space]
    parts.append(f"{_BEYOND}\n| function | status | test |\n|---|---|---|")
    parts += [
        f"| {_call(name, _parameters(here[name]))} | {_status(here[name])} | {covering(here[name], name, named)} |"
        for name in sorted(here.keys() - listed)
    ]
    return "\n".join(parts) + "\n"


def _counts(known: list[Entry], here: Mapping[str, Callable[..., Any]]) -> str:
    """Return the table of how many there are of each evidence."""
    lines = ["| evidence | known | work | refused | left out |", "|---|---|---|---|---|"]
    for evidence in ("client", "doc", "header"):
        names = [each.function for each in known if each.evidence == evidence]
        refused = sum(hasattr(here[name], "refused") for name in names if name in here)
        absent = sum(name not in here for name in names)
        lines.append(f"| {evidence} | {len(names)} | {len(names) - refused - absent} | {refused} | {absent} |")
    return "\n".join(lines)


def _line(entry: Entry, here: Mapping[str, Callable[..., Any]], named: Mapping[str, Counter[str]]) -> str:
    function = here.get(entry.function)
    if function is None:
        inferred = entry.evidence == "header"
        status, test = "left out: the vendor's module may not have it" if inferred else "missing", ""
    else:
        status, test = _status(function), covering(function, entry.function, named)
    c_function = "" if entry.c_function == "-" else f"`{entry.c_function}`"
    call = _call(entry.function, split(entry.arguments))
    return f"| {call} | {entry.returns} | {c_function} | {entry.evidence} | {status} | {test} |"


def _call(name: str, arguments: list[str]) -> str:
    return f"`{name}({', '.join(arguments)})`"


def _parameters(function: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [each.name if each.default is each.empty else f"[{each.name}]" for each in parameters]


def _status(function: Callable[..., Any]) -> str:
    if not hasattr(function, "refused"):
        single = _REFUSALS.search(inspect.getdoc(function) or "")
        return f"works; {single[0]} in cases that `help` names" if single else "works"
    code, why = function.refused
    return f"refused, {code}: {why}"


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE.relative_to(PAGE.parents[1])}")
