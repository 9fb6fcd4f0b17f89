"""Where an ``.om`` file goes, and writing it whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from aacl.converter._reports import InvalidOption, OutputNotWritable

if TYPE_CHECKING:
    from aacl.models._package import ModelPackage, OperatorPackage

__all__ = ("om_path", "write_om_file")

_LONGEST, _LONGEST_NAME = 4095, 255  # bytes that the system, and the usual file systems, take


def om_path(output: str | os.PathLike[str]) -> Path:
    """Return the file that ``--output`` names: ``.om`` is appended unless it is there.

    Raises:
        InvalidOption: the value ends in a directory, or is longer than a path may be.
    """
    text = os.fspath(output)
    path = Path(text)
    if not text or text.endswith((os.sep, "/.", "/..")) or text in (".", "..") or os.path.isdir(path):
        raise InvalidOption("E10022", f"--output={text!r} has no file name")
    path = path if text.endswith(".om") else path.with_name(path.name + ".om")
    if len(os.fsencode(path)) > _LONGEST or len(os.fsencode(path.name)) > _LONGEST_NAME:
        raise InvalidOption(
            "E10021",
            f"--output has {len(text)} characters; with .om, a path takes {_LONGEST} bytes, and its last part "
            f"{_LONGEST_NAME}",
        )
    return path


def write_om_file(path: Path, package: ModelPackage | OperatorPackage) -> None:
    """Write a file beside its place and move it there: what is at `path` is whole at any time.

    Raises:
        OutputNotWritable: the directory cannot be made or written.
    """
    from aacl.models._package import package_pieces

    pieces = package_pieces(package)
    scratch = path.with_name(f".{path.name[:40]}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with scratch.open("xb") as file:
            file.writelines(pieces)
        os.replace(scratch, path)
    except (OSError, ValueError) as error:  # ValueError: what no path can have in it
        raise OutputNotWritable(
            "E10001", f"the output {str(path)!r} cannot be written: {getattr(error, 'strerror', None) or error}"
        ) from error
    finally:
        _remove(scratch)


def _remove(scratch: Path) -> None:
    """Remove what a failure left; after a success there is nothing."""
    with contextlib.suppress(OSError, ValueError):
        scratch.unlink()
