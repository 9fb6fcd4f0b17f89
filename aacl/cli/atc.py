"""The ``atc`` command: the real converter's command line.

It prints the real tool's first line, then its success line and warnings, or its
failure line and an error report; the exit status is 0 or 255. ``--help`` imports nothing heavy.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aacl.cli._progress import ConversionProgress
from aacl.converter._options import ARGUMENTS, UsageError, check_options, parse_arguments, usage
from aacl.converter._reports import InvalidOption, Unconvertible, report_of
from aacl.errors import AclError

__all__ = ("main",)

_FAILURE = 255
_START = "ATC start working now, please wait for a moment."
_SUCCESS = "ATC run success, welcome to the next use."
_FAILED = "ATC run failed, Please check the detail log, Try 'atc --help' for more information"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (by default the process's) and return its exit status."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        return _main(arguments)
    except BrokenPipeError:
        # Who reads has read enough, as `head` does. Python writes what is left at its exit, and would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILURE


def _main(arguments: Sequence[str]) -> int:
    if {"--help", "-help", "--h", "-h"}.intersection(arguments):
        print(usage(), flush=True)
        return 0
    try:
        options = parse_arguments(arguments)
    except UsageError as error:
        print(error, file=sys.stderr)
        return _FAILURE
    print(_START, flush=True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _run(options)
    except AclError as error:
        print("\n".join([_FAILED, *report_of(error).lines()]))
        return _FAILURE
    except MemoryError:
        print(f"{_FAILED}\nE19999: Inner Error! there is not enough memory for this model or file")
        return _FAILURE
    print(_SUCCESS)
    for warning in caught:
        print(f"WARNING: {warning.message}")
    return 0


def _run(options: Mapping[str, str]) -> None:
    check_options(options)
    if "singleop" in options:
        _convert_operators(options)
    else:
        _MODES[options.get("mode", "0")](options)


def _convert_operators(options: Mapping[str, str]) -> None:
    from aacl.converter import convert_operators

    _require(options, "soc_version", "E10054")
    rest = {name: value for name, value in options.items() if name not in ("singleop", "output", "soc_version")}
    convert_operators(options["singleop"], options.get("output", "."), soc_version=options["soc_version"], options=rest)


def _convert_model(options: Mapping[str, str]) -> None:
    from aacl.converter import convert, inspect_om

    _require(options, "model", "E10004")
    _require(options, "framework", "E10007")
    _require(options, "output", "E10004")
    _require(options, "soc_version", "E10054")
    arguments: dict[str, Any] = {name: value for name, value in options.items() if name in ARGUMENTS}
    arguments["framework"] = int(options["framework"])
    rest = {name: value for name, value in options.items() if name not in ARGUMENTS}
    with ConversionProgress() as progress:
        path = convert(arguments.pop("model"), arguments.pop("output"), **arguments, options=rest, progress=progress)
    if options.get("display_model_info") == "1":
        print("\n".join(inspect_om(path).lines()))


def _write_json(options: Mapping[str, str]) -> None:
    from aacl.converter import write_json

    _require(options, "om", "E10004")
    _require(options, "json", "E10004")
    framework = options.get("framework")
    if framework not in (None, "5"):
        raise Unconvertible("E10055", f"--mode=1 reads .om files, and ONNX models with --framework=5, not {framework}")
    write_json(options["om"], options["json"], is_onnx=framework == "5")


def _check_only(options: Mapping[str, str]) -> None:
    from aacl.converter import check_model

    _require(options, "model", "E10004")
    _require(options, "framework", "E10007")
    if options["framework"] != "5":
        raise Unconvertible("E10055", f"--mode=3 checks ONNX models (--framework=5), not {options['framework']}")
    report = options.get("check_report", "check_result.json")
    failed = check_model(options["model"], report)
    if failed:
        listed = "; ".join(f"{entry['op_name']}: {entry['reason']}" for entry in failed)
        raise Unconvertible("E16002", f"{len(failed)} nodes cannot be converted, see {report}: {listed}")


def _dump_graph(options: Mapping[str, str]) -> None:
    raise Unconvertible("E10055", f"--mode={options['mode']} reads graph dumps of the device's compiler; use --mode=1")


def _display(options: Mapping[str, str]) -> None:
    from aacl.converter import inspect_om

    _require(options, "om", "E10004")
    print("\n".join(inspect_om(options["om"]).lines()))


_MODES: dict[str, Callable[[Mapping[str, str]], None]] = {
    "0": _convert_model,
    "1": _write_json,
    "3": _check_only,
    "5": _dump_graph,
    "6": _display,
}


def _require(options: Mapping[str, str], name: str, code: str) -> None:
    if name not in options:
        raise InvalidOption(code, f"--{name} is missing")
