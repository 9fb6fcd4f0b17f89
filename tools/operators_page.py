"""Write ``docs/operators.md``: the operator types that run, in which dtypes, and which test compares each.

Usage: python -m tools.operators_page

It runs every sample in every dtype, and the tests of the kernels to see which file compares what.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from aacl.ops import operator_types, schema_of
from tests.helpers.samples import samples
from tests.helpers.samples._probe import supported
from tests.helpers.samples._record import covered

if TYPE_CHECKING:
    from aacl.ops._attribute import Attribute

__all__ = ("PAGE", "Row", "page", "rows")

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "operators.md"
TESTS = ROOT / "tests" / "backends" / "cpu" / "kernels"

Row = tuple[str, str, str, str, str]
"""Family, operator type, prototype, dtypes, test file."""

_INTRODUCTION = """\
# Operators

{count} of the {known} operator types of the catalogue run on the software device. The others are known by name and
prototype, and are refused when an operation is prepared; the error says what is missing.

A prototype reads `inputs -> outputs; attributes`: `?` marks an optional input, `*` one that stands for several
tensors; `[name=default]` is an attribute that may be left out. An output
that is named like an input is a tensor of its own, or that input where a program brings it as `out`. Optimizers whose
slots are no outputs, and operators without outputs, update these inputs where they lie; `Operation.updates` tells
which. *Data types* are those of the first input in which the operator really ran when this table was made (`make docs`); every
other one is refused when the operation is prepared. *Test* is the file of `tests/backends/cpu/kernels` that compares
the results with an independent reference.
"""


def rows(tests: Mapping[str, str]) -> list[Row]:
    """Return the lines of the table, by family and name.

    Args:
        tests: the test file of each operator type.
    """
    found = []
    for op_type, (family, sample) in samples().items():
        names = " ".join(dtype.name.lower() for dtype in supported(op_type, sample))
        found.append((family, op_type, _prototype(op_type), names, tests.get(op_type, "test_samples.py")))
    return sorted(found)


def page(lines: list[Row]) -> str:
    """Return the page."""
    parts = [_INTRODUCTION.format(count=len(lines), known=len(operator_types()))]
    for family in sorted({line[0] for line in lines}):
        parts.append(f"\n## {family.replace('_', ' ').capitalize()}\n")
        parts.append("| type | prototype | data types | test |\n|---|---|---|---|")
        parts += [
            f"| {op} | `{proto}` | {names} | {test} |" for each, op, proto, names, test in lines if each == family
        ]
    return "\n".join(parts) + "\n"


def _prototype(op_type: str) -> str:
    schema = schema_of(op_type)
    outputs = ", ".join(output.name + "*" * output.is_dynamic for output in schema.outputs)
    attributes = "".join(f"; {_attribute(each)}" for each in schema.attributes)
    return f"{'' if schema.signature == 'none' else schema.signature + ' '}-> {outputs or 'none'}{attributes}"


def _attribute(attribute: Attribute) -> str:
    if attribute.is_required:
        return attribute.name
    default = attribute.default
    text = ",".join(map(str, default)) if isinstance(default, tuple) else str(default)
    return f"[{attribute.name}={text}]"


def _compared() -> dict[str, str]:
    """Run the kernels' tests and return the file that ran each operator type; the last one that names it most narrowly."""
    import pytest

    status = pytest.main(["-q", "-p", "no:cacheprovider", str(TESTS)])
    if status != 0:
        sys.exit(f"the kernels' tests failed ({status}); the table says only what is true")
    found: dict[str, str] = {}
    for name, types in sorted(covered.items(), key=lambda item: -len(item[1])):
        found |= dict.fromkeys(types, name)
    return found


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(rows(_compared())))
    print(f"wrote {PAGE.relative_to(ROOT)}")
