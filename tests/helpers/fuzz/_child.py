"""One process that gives cases to a target, and says after each what became of it.

Usage: python -m tests.helpers.fuzz._child KIND SEED FIRST COUNT FOLDER

A line a case goes to the standard output: its number, a tab, and nothing if it was taken or refused, else
what is wrong with it. Before each case a line with only the number says that it begins.
"""

from __future__ import annotations

import os
import resource
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

__all__ = ("main",)

_MEMORY = 1 << 30
"""Bytes that cases may take beyond what the process has when it begins."""
_FORBIDDEN: list[str] = []


def main(arguments: list[str]) -> int:
    """Run cases."""
    kind, seed, first, count, folder = arguments[0], arguments[1], int(arguments[2]), int(arguments[3]), arguments[4]
    warnings.simplefilter("ignore")
    from tests.helpers.fuzz._corpus import corpus
    from tests.helpers.fuzz._mutations import mutated
    from tests.helpers.fuzz._targets import TARGETS

    seeds, target, inner = corpus(kind), TARGETS[kind], Path(folder, "inner")
    inner.mkdir(exist_ok=True)
    path = inner / f"case.{kind}"
    _begin(kind, path, seeds[0], inner)
    for number in range(first, first + count):
        print(number, flush=True)
        path.write_bytes(mutated(seeds, f"{kind}:{seed}:{number}"))
        print(f"{number}\t{_fault(target, path, inner)}", flush=True)
    return 0


def _begin(kind: str, path: Path, good: bytes, folder: Path) -> None:
    """Load everything that a good file needs, then watch what is opened and limit the memory."""
    import acl
    from tests.helpers.fuzz._targets import TARGETS

    assert acl.init() == 0
    assert acl.rt.set_device(0) == 0
    path.write_bytes(good)
    TARGETS[kind](path, folder)
    _limit()
    allowed = (
        str(folder.resolve()),
        sys.prefix,
        sys.base_prefix,
        str(Path(__file__).parents[3]),
        "/proc",
        "/dev",
        "/sys",
    )
    sys.addaudithook(lambda event, details: _watch(event, details, allowed))


def _limit() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + _MEMORY + (1 << 29)  # threads that start later have stacks
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _watch(event: str, details: tuple[object, ...], allowed: tuple[str, ...]) -> None:
    if event == "open" and isinstance(details[0], str | bytes):
        name = os.path.realpath(os.fsdecode(details[0]))
        if not name.startswith(allowed):
            _FORBIDDEN.append(name)


def _fault(target: Callable[[Path, Path], None], path: Path, folder: Path) -> str:
    """Return what is wrong with how a case ended; empty where nothing is."""
    import aacl

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _FORBIDDEN.clear()
    try:
        target(path, folder)
    except aacl.AclError as error:
        if not str(error):
            return "an error without a text"
    except Exception as error:
        return f"{type(error).__name__}: {error} in {traceback.extract_tb(error.__traceback__)[-1]}".replace("\n", " ")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    if grown > _MEMORY:
        return f"{grown >> 20} MiB were taken"
    return f"files were opened outside the folder: {_FORBIDDEN}" if _FORBIDDEN else ""


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
