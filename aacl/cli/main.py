"""The `aacl` command: ``aacl info``, ``aacl run``.

Nothing but argparse is imported before it is needed, so that ``--help`` and
``--version`` answer at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

__all__ = ("main",)


_VARIABLES = (
    "environment: AACL_BACKEND, the backend (cpu); AACL_DEVICES, how many devices there are (2); AACL_DEVICE_MEMORY, "
    "the memory of each (8G); AACL_CORES, the threads of each (the process's cores); AACL_SOC, its name (Ascend310P3); "
    "AACL_CANN_VERSION, the release of CANN that acl says it is (8.5.0); "
    "AACL_CHECK_KERNELS=1 looks for writes of own kernels outside their outputs; AACL_STRICT=1 makes acl refuse what the "
    "product lacks; ASCEND_GLOBAL_LOG_LEVEL, from 0 (DEBUG) to 4 (nothing), and ASCEND_SLOG_PRINT_TO_STDOUT=1 are those of "
    "the logger acl"
)


class _Version(argparse.Action):
    """Prints the version; it is looked up only when asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"aacl {version('aacl')}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="aacl", description="An asyncio-native AscendCL runtime.", epilog=_VARIABLES, allow_abbrev=False
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    commands.add_parser("info", help="say what devices there are, and which versions of what", allow_abbrev=False)
    # Listed for --help; `aacl run` reads its own words, because most of them belong to the script.
    commands.add_parser("run", help="run a script with our acl module, and say what it left open", add_help=False)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the `aacl` command.

    Args:
        argv: the words after ``aacl``; those of the process if None.

    Returns:
        The exit status: 0, the script's own for ``aacl run``, 1 for a failure.

    Raises:
        SystemExit: help or the version was asked for (0), or the words make no command (2).
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["run"]:
        from aacl.cli import run

        return run.main(words[1:])
    _parser().parse_args(words)
    from aacl.cli import info

    return info.main()
