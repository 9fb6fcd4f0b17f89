"""``aacl run``: a script, a module or a piece of code as ``__main__``, with our `acl`.

The program sees what Python itself would show it: ``sys.argv``, ``sys.path[0]``,
its own exit status, tracebacks without frames of ours. Only two things differ:
``import acl`` finds ours whatever ``PYTHONPATH`` says, and the last line on
stderr tells what was left open; ``--report`` adds tables of it, with the lines
that made each thing. Python programs that it starts choose their `acl`
themselves.
"""

from __future__ import annotations

import atexit
import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING

import aacl
from aacl.cli import _program
from aacl.cli._leaks import leak_of, left_open_table, swept_tables
from aacl.cli._words import counted, size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType, TracebackType

__all__ = ("main",)

_USAGE = "usage: aacl run [-h] [--report] {SCRIPT | -m MODULE | -c CODE} [ARGUMENT ...]"
_HELP = f"""{_USAGE}

Run a Python program as python would, with the acl module of aacl even where
another one is on PYTHONPATH, and say at the end what it left open.

  SCRIPT       a Python file, or a folder or zip file with a __main__.py
  -m MODULE    a module, by name
  -c CODE      the code itself
  --report     list at the end what acl handles it left open, and what acl.finalize,
               reset_device and destroy_context closed for it: kind, handle, size,
               and the line that made it
  -h, --help   show this text and exit
  ARGUMENT     passed to the program, in sys.argv
"""


class _OurAcl:
    """The first finder: `acl` is ours, everything else is somebody else's to find."""

    def __init__(self, folder: Path, *, records: bool) -> None:
        self._folder, self._records = folder, records

    def find_spec(self, name: str, *_where: object) -> ModuleSpec | None:
        if name != "acl":
            return None
        file = str(self._folder / "__init__.py")
        loader = _RecordingLoader(name, file) if self._records else None
        return importlib.util.spec_from_file_location(
            name, file, loader=loader, submodule_search_locations=[str(self._folder)]
        )


class _RecordingLoader(SourceFileLoader):
    """Loads `acl`, and lets it note from then on which line makes what."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        sys.modules["acl._origins"].origins.record()


def main(words: Sequence[str]) -> int:
    """Run what the words after ``aacl run`` name, and return its exit status."""
    if not words or words[0] in ("-h", "--help"):
        print(_HELP if words else _USAGE, file=sys.stdout if words else sys.stderr)
        return 0 if words else 2
    records = words[0] == "--report"
    words = words[records:]
    if not words:
        print(f"{_USAGE}\naacl run: --report needs a program", file=sys.stderr)
        return 2
    kind, rest = (words[0], words[1:]) if words[0] in ("-m", "-c") else ("", words)
    if not rest or (not kind and rest[0].startswith("-")):
        missing = f"{kind} needs a value" if kind else f"unknown option {rest[0]!r}"
        print(f"{_USAGE}\naacl run: {missing}; options of the program stand after it", file=sys.stderr)
        return 2
    folder = _acl_folder()
    if folder is None:
        print("aacl run: the acl module of aacl is not installed beside it; install aacl again", file=sys.stderr)
        return 1
    sys.meta_path.insert(0, _OurAcl(folder, records=records))
    # Registered before the program starts, so it runs after the exit functions of the program.
    atexit.register(_report, details=records)
    return _exit_status({"-m": _program.run_module, "-c": _program.run_code, "": _program.run_script}[kind], rest)


def _acl_folder() -> Path | None:
    """Where our `acl` lies: beside `aacl` when installed, in ``compat`` of a checkout."""
    root = Path(aacl.__file__).parent.parent
    return next(
        (folder for folder in (root / "compat" / "acl", root / "acl") if (folder / "__init__.py").exists()), None
    )


def _exit_status(run: Callable[[Sequence[str]], None], words: Sequence[str]) -> int:
    """Run the program; end as Python ends for the same exception."""
    try:
        run(words)
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return stop.code or 0
        print(stop.code, file=sys.stderr)
        return 1
    except BaseException as error:
        error.with_traceback(_without_ours(error.__traceback__))
        sys.excepthook(type(error), error, error.__traceback__)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """Cut the frames of this file, and of the import that it asks for, off the front."""
    while traceback is not None and _is_ours(traceback.tb_frame.f_code.co_filename):
        traceback = traceback.tb_next
    return traceback


def _is_ours(file: str) -> bool:
    return file in (__file__, _program.__file__, importlib.util.__file__) or file.startswith("<frozen importlib")


def _report(*, details: bool) -> None:
    if _open_counts():
        _program.finish()
    counts = _open_counts()
    lines = [f"aacl run: {_left_open(counts)}"]
    if details:
        lines = [*(f"aacl run: {line}" if line.endswith(":") else line for line in _details(counts)), *lines]
    print(*lines, sep="\n", file=sys.stderr)


def _details(counts: Mapping[str, int]) -> list[str]:
    """Return the tables of what was swept and what is open, headed by lines that end with a colon."""
    if "acl._origins" not in sys.modules:
        return left_open_table([], counts)
    origins = sys.modules["acl._origins"].origins
    swept = [(leak_of(each.thing, each.made), each.call, *each.place) for each in origins.swept]
    things = sys.modules["acl._handles"].open_objects()
    leaks = [leak_of(thing, origins.place_of(thing.kind, thing.handle)) for thing in things]
    return swept_tables(swept) + left_open_table(leaks, counts)


def _open_counts() -> Mapping[str, int]:
    """Count what is open as the program sees it: handles if it called `acl`, whose own resources carry them."""
    handles = sys.modules.get("acl._handles")
    counts: Mapping[str, int] = handles.open_handles() if handles is not None else aacl.open_resources()
    return counts


def _left_open(counts: Mapping[str, int]) -> str:
    """Write counts by kind in words; a kind "buffer bytes" is the size of the buffers.

    >>> _left_open({"device": 1, "buffer": 3, "buffer bytes": 1536})
    'left open: 1 device, 3 buffers (1.5 KiB)'
    """
    parts = []
    for kind, number in counts.items():
        if number and not kind.endswith(" bytes"):
            nbytes = counts.get(f"{kind} bytes")
            parts.append(counted(number, kind) + ("" if nbytes is None else f" ({size(nbytes)})"))
    return f"left open: {', '.join(parts)}" if parts else "nothing left open"
