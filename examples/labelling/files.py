"""Which files to label: a folder's, or a mixed bag of what is on this machine."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Collection, Iterator
from itertools import islice, zip_longest
from pathlib import Path

__all__ = ("REPOSITORY", "files_in", "mixed_files")

REPOSITORY = Path(__file__).resolve().parents[2]

_KINDS = (".whl", ".png", ".gz", ".so", ".zip", ".onnx", ".ttf", ".pdf", ".svg", ".npy", ".npz", ".exe", ".pyc", ".jpg",
          ".gif", ".ico", ".bat", ".c", ".h", ".cpp", ".f90", ".js", ".css", ".html", ".xml", ".json", ".csv", ".pyx",
          ".a", ".mo", ".pl", ".sh", ".deb", ".jar", ".db", "")  # fmt: skip
"""What is looked for outside the repository; the empty one stands for programs and scripts."""
_SKIPPED = frozenset({"__pycache__", "node_modules", "build", "dist", "out"})
_SCANNED = 20_000
"""Names looked at below one root: enough to meet every kind, and soon over on a large disk."""


def files_in(folder: Path) -> list[Path]:
    """Return every regular file below a folder that can be read, sorted; hidden folders are left out."""
    return sorted(path for path in _walk(folder) if _is_readable(path))


def mixed_files(count: int) -> list[Path]:
    """Return at most ``count`` files: this repository's first, then installed packages' and the system's.

    Of every root each kind comes before any kind comes twice, so that few files show many kinds.
    """
    paths = sysconfig.get_paths()
    roots = ((REPOSITORY, 0.4, None), (Path(paths["purelib"]), 0.3, _KINDS), (Path(paths["stdlib"]), 0.15, _KINDS),
             (Path("/usr/share"), 0.05, _KINDS), (Path("/usr/bin"), 1.0, _KINDS))  # fmt: skip
    chosen: dict[Path, None] = {}
    for root, share, kinds in roots:
        room = min(round(count * share), count - len(chosen))
        fresh = (path for path in _kinds_first(root, kinds) if path not in chosen and _is_readable(path))
        chosen.update(dict.fromkeys(islice(fresh, room)))
    return list(chosen)


def _kinds_first(root: Path, wanted: Collection[str] | None) -> Iterator[Path]:
    """Yield names below a root: the first of each kind, then the second of each, and so on."""
    kinds: dict[str, list[Path]] = {kind: [] for kind in wanted or ()}
    for path in islice(_walk(root), _SCANNED):
        kind = path.suffix.lower()
        if wanted is None or kind in kinds:
            kinds.setdefault(kind, []).append(path)
    for several in zip_longest(*kinds.values()):
        yield from (path for path in several if path is not None)


def _walk(root: Path) -> Iterator[Path]:
    """Yield the names below a root in a fixed order, without hidden folders, caches and other installed packages."""
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = sorted(each for each in subfolders if not each.startswith(".") and each not in _SKIPPED
                               and each != "site-packages")  # fmt: skip
        yield from (Path(folder, name) for name in sorted(names))


def _is_readable(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and os.access(path, os.R_OK)
