"""Which files to label: a folder's, or a mixed bag of what is on this machine."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path

__all__ = ("files_in", "mixed_files")

REPOSITORY = Path(__file__).resolve().parents[2]

_SKIPPED = frozenset({"__pycache__", "node_modules", "build", "dist", "out"})
_SCANNED = 20_000
"""Files looked at below one root: enough to meet every kind, and soon over on a large disk."""


def files_in(folder: Path) -> list[Path]:
    """Return every regular file below a folder that can be read, sorted."""
    return sorted(_walk(folder))


def mixed_files(count: int) -> list[Path]:
    """Return at most ``count`` files: this repository's first, then installed packages' and the system's.

    Of every root each suffix comes before any suffix comes twice, so that few files show many kinds.
    """
    paths = sysconfig.get_paths()
    roots = ((REPOSITORY, 0.4), (Path(paths["purelib"]), 0.3), (Path(paths["stdlib"]), 0.15), (Path("/usr/share"), 0.1),
             (Path("/usr/bin"), 1.0))  # fmt: skip
    chosen: dict[Path, None] = {}
    for root, share in roots:
        room = min(round(count * share), count - len(chosen))
        fresh = (path for path in _kinds_first(root) if path not in chosen)
        chosen.update(dict.fromkeys(islice(fresh, room)))
    return list(chosen)


def _kinds_first(root: Path) -> Iterator[Path]:
    """Yield files below a root: the first of each suffix, then the second of each, and so on."""
    kinds: dict[str, list[Path]] = {}
    for path in islice(_walk(root), _SCANNED):
        kinds.setdefault(path.suffix.lower(), []).append(path)
    for several in zip_longest(*(kinds[kind] for kind in sorted(kinds))):
        yield from (path for path in several if path is not None)


def _walk(root: Path) -> Iterator[Path]:
    """Yield regular, readable files below a root in a fixed order; hidden folders and what builds made are left out."""
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith(".") and name not in _SKIPPED)
        for name in sorted(names):
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink() and os.access(path, os.R_OK):
                yield path
