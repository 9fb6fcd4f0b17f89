"""The ``atc`` command: the real converter's command line.

It prints the real tool's first line, then its success line, or its failure line
and an error report; the exit status is 0 or 255. ``--help`` imports nothing heavy.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from aacl.converter._options import UsageError, check_options, parse_arguments, usage
from aacl.converter._reports import InvalidOption, report_of
from aacl.errors import AclError

__all__ = ("main",)

_FAILURE = 255
_START = "ATC start working now, please wait for a moment."
_SUCCESS = "ATC run success, welcome to the next use."
_FAILED = "ATC run failed, Please check the detail log, Try 'atc --help' for more information"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (by default the process's) and return its exit status."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if {"--help", "-help", "--h", "-h"}.intersection(arguments):
        print(usage())
        return 0
    try:
        options = parse_arguments(arguments)
    except UsageError as error:
        print(error, file=sys.stderr)
        return _FAILURE
    print(_START, flush=True)
    try:
        _run(options)
    except AclError as error:
        print("\n".join([_FAILED, *report_of(error).lines()]))
        return _FAILURE
    print(_SUCCESS)
    return 0


def _run(options: Mapping[str, str]) -> None:
    check_options(options)
    if "singleop" in options:
        _convert_operators(options)
    else:
        _convert_model(options)


def _convert_operators(options: Mapping[str, str]) -> None:
    from aacl.converter import convert_operators

    _require(options, "soc_version", "E10054")
    rest = {name: value for name, value in options.items() if name not in ("singleop", "output", "soc_version")}
    convert_operators(options["singleop"], options.get("output", "."), soc_version=options["soc_version"], options=rest)


_KEYWORDS = ("model", "output", "framework", "soc_version", "input_shape", "input_format", "out_nodes", "output_type")


def _convert_model(options: Mapping[str, str]) -> None:
    from aacl.converter import convert

    _require(options, "model", "E10004")
    _require(options, "framework", "E10007")
    _require(options, "output", "E10004")
    _require(options, "soc_version", "E10054")
    rest = {name: value for name, value in options.items() if name not in _KEYWORDS}
    convert(
        options["model"],
        options["output"],
        framework=int(options["framework"]),
        input_shape=options.get("input_shape"),
        input_format=options.get("input_format", "NCHW"),
        soc_version=options["soc_version"],
        out_nodes=options.get("out_nodes"),
        output_type=options.get("output_type"),
        options=rest,
    )


def _require(options: Mapping[str, str], name: str, code: str) -> None:
    if name not in options:
        raise InvalidOption(code, f"--{name} is missing")
