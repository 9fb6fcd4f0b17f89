"""``aacl info``: the devices, and the versions of what runs them."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from aacl import _runtime, blocking
from aacl.cli._words import size
from aacl.errors import AclError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ("main",)

_PACKAGES = ("aacl", "numpy", "onnx", "onnxruntime")
_COLUMNS = ("device", "backend", "name", "SoC", "cores", "memory")


def main() -> int:
    """Print the report: a table on a terminal, plain text in a pipe; return the exit status."""
    try:
        devices = _devices()
    except AclError as error:
        print(f"aacl info: the devices cannot be asked: {error}", file=sys.stderr)
        return 1
    show = _show_tables if sys.stdout.isatty() else _show_plain
    show(_versions(), devices)
    return 0


def _versions() -> list[tuple[str, str]]:
    return [("python", platform.python_version()), *((name, _version(name)) for name in _PACKAGES)]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _devices() -> list[tuple[str, ...]]:
    backend = _runtime.backend().name
    return [_row(index, backend) for index in range(_runtime.device_count())]


def _row(index: int, backend: str) -> tuple[str, ...]:
    with blocking.Device(index) as device:
        facts = device.properties
    return (str(index), backend, facts.name, facts.soc, str(facts.cores), size(facts.memory))


def _show_plain(versions: Sequence[tuple[str, str]], devices: Sequence[tuple[str, ...]]) -> None:
    for table in (versions, [_COLUMNS, *devices]):
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for row in table:
            print("  ".join(map(str.ljust, row, widths)).rstrip())
        if table is versions:
            print()


def _show_tables(versions: Sequence[tuple[str, str]], devices: Sequence[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for columns, rows in ((("package", "version"), versions), (_COLUMNS, devices)):
        table = Table(*columns)
        for row in rows:
            table.add_row(*row)
        console.print(table)
