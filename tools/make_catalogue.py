"""Write ``aacl/ops/catalogue.tsv`` from a table of operator prototypes.

Usage: python tools/make_catalogue.py TABLE.tsv [OUTPUT.tsv]

The table has a header line and the columns op, kind_of_ops_file, inputs, outputs,
attrs, required_attrs. The column that names the header file is left out, and the
lines are sorted by name. The same table gives the same bytes.
"""

from __future__ import annotations

import sys
from pathlib import Path

_COLUMNS = ["op", "kind_of_ops_file", "inputs", "outputs", "attrs", "required_attrs"]
_OUTPUT = Path(__file__).parents[1] / "aacl" / "ops" / "catalogue.tsv"


def read_table(text: str) -> dict[str, tuple[str, ...]]:
    """Return the fields of each operator type of a table.

    Raises:
        ValueError: the columns are others, a line has another number of fields, or a name stands twice.
    """
    header, *lines = text.splitlines()
    if header.split("\t") != _COLUMNS:
        raise ValueError(f"the table's columns are {header!r}; expected {_COLUMNS}")
    rows: dict[str, tuple[str, ...]] = {}
    for line in lines:
        name, _, *fields = line.split("\t")
        if len(fields) != len(_COLUMNS) - 2 or name in rows:
            raise ValueError(f"operator {name!r}: a line of {len(fields) + 2} fields, or the name stands twice")
        rows[name] = tuple(fields)
    return rows


def catalogue(text: str) -> str:
    """Return the catalogue of a table."""
    return "".join("\t".join((name, *fields)) + "\n" for name, fields in sorted(read_table(text).items()))


def main(arguments: list[str]) -> int:
    """Run the tool; return its exit status."""
    if not 1 <= len(arguments) <= 2:
        print(__doc__, file=sys.stderr)
        return 2
    output = Path(arguments[1]) if len(arguments) == 2 else _OUTPUT
    output.write_text(catalogue(Path(arguments[0]).read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
