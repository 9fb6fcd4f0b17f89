"""Which tests call which function of `acl`, read from their sources.

A test covers what it names as ``acl.rt.malloc``, by an alias of `acl` or of a namespace, by ``getattr`` and the name
as a text (or its end), or in the source of a program that it runs; what it names through helpers, fixtures and decorators of its
own file counts too. Docstrings do not.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

__all__ = ("ROOT", "references")

ROOT = Path(__file__).parents[1] / "tests" / "compat"

_IN_A_PROGRAM = re.compile(r"\bacl(?:\.[a-z]\w*)+")
_SHARED = "tests.compat._programs"  # where `untyped` stands for `acl`
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@cache
def references(root: Path = ROOT) -> Mapping[str, Counter[str]]:
    """Return for each dotted name how many tests of each file name it.

    Args:
        root: the folder whose ``test_*.py`` are read; files are named relative to it.
    """
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(root.rglob("test_*.py")):
        for names in _tests(ast.parse(path.read_text())):
            for name in names:
                found[name][str(path.relative_to(root))] += 1
    return found


def _tests(module: ast.Module) -> Iterator[set[str]]:
    """Yield for each test of a file the dotted names that it reaches."""
    aliases = _aliases(module)
    parts: dict[str, ast.stmt] = {each.name: each for each in module.body if isinstance(each, _Definition)}
    parts |= {name: each for each in module.body for name in _assigned(each)}  # tables of cases
    for name, part in parts.items():
        if name.startswith(("test_", "Test")):
            yield _reached(part, parts, aliases)


def _assigned(statement: ast.stmt) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    targets = [statement.target] if isinstance(statement, ast.AnnAssign) else targets
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _aliases(module: ast.Module) -> dict[str, str]:
    """Return what the names that a file gives to `acl` and its parts stand for."""
    found = {"acl": "acl"}
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            found |= {each.asname: each.name for each in node.names if each.asname and _is_ours(each.name)}
        elif isinstance(node, ast.ImportFrom) and node.module == _SHARED:
            found |= {each.asname or each.name: "acl" for each in node.names if each.name == "untyped"}
        elif isinstance(node, ast.ImportFrom) and node.module and _is_ours(node.module):
            found |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    for node in module.body:  # names given by assignment, of what the imports brought
        value = getattr(node, "value", None)
        dotted = _dotted(value, found) if isinstance(value, ast.expr) else None
        found |= dict.fromkeys(_assigned(node), dotted) if dotted else {}
    return found


def _is_ours(module: str) -> bool:
    return module == "acl" or module.startswith("acl.")


def _dotted(node: ast.expr, aliases: Mapping[str, str]) -> str | None:
    """Return the full name that an expression spells, or None if it is not one of `acl`."""
    if isinstance(node, ast.Name):
        return aliases.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value, aliases)
        return f"{owner}.{node.attr}" if owner else None
    return None


def _reached(part: ast.stmt, parts: Mapping[str, ast.stmt], aliases: Mapping[str, str]) -> set[str]:
    """Return the names of a test, and of what it uses of its file."""
    seen: set[int] = set()
    waiting: list[ast.stmt] = [part]
    nodes: list[ast.AST] = []
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        inner = [node for node in ast.walk(each) if not _is_docstring(node)]
        nodes += inner
        used = {node.id for node in inner if isinstance(node, ast.Name)}
        used |= {node.arg for node in inner if isinstance(node, ast.arg)}  # fixtures
        waiting += [parts[name] for name in used & parts.keys()]
    return _names(nodes, aliases)


def _is_docstring(node: ast.AST) -> bool:
    # Its text stands in a node of its own below; emptying that one keeps it out of what is read.
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        node.value.value = ""
    return False


def _names(nodes: list[ast.AST], aliases: Mapping[str, str]) -> set[str]:
    spelled = {_dotted(node, aliases) for node in nodes if isinstance(node, (ast.Attribute, ast.Name))}
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    for text in texts:
        spelled |= set(_IN_A_PROGRAM.findall(text))
    for call in nodes:
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "getattr":
            owner = _dotted(call.args[0], aliases)
            spelled |= {f"{owner}.{name}" for name in _meant(call.args[1], texts)} if owner else set()
    return {name for name in spelled if name}


def _meant(name: ast.expr, texts: set[str]) -> set[str]:
    """Return what the second argument of ``getattr`` can be, if all it is made of stands in ``texts``."""
    if isinstance(name, ast.Constant):
        return {str(name.value)}
    first = name.values[0] if isinstance(name, ast.JoinedStr) and name.values else None
    begin = str(first.value) if isinstance(first, ast.Constant) else ""
    return {begin + text for text in texts if (begin + text).replace(".", "").isidentifier()}
