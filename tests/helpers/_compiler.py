"""Kernels of a program's own, compiled for this machine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import aacl

__all__ = ("build_kernels",)


def build_kernels(folder: Path, source: str, *options: str, language: str = "c", shared: bool = True) -> Path:
    """Compile a source that includes ``aacl_kernel.h``; every warning is an error. Skips where there is no compiler.

    Args:
        folder: where the files go.
        source: what follows the include.
        *options: more options of the compiler.
        language: ``"c"`` or ``"c++"``.
        shared: whether to link, to a shared object.
    """
    compiler = shutil.which("cc" if language == "c" else "c++")
    if compiler is None:
        pytest.skip(f"no compiler of {language} is installed: kernels of shared objects cannot be made here")
    kind = ["-shared"] if shared else ["-c"]
    made = folder / f"kernels{len(list(folder.iterdir()))}{'.so' if shared else '.o'}"
    subprocess.run(
        [compiler, "-x", language, *kind, "-O2", "-fPIC", "-Wall", "-Wextra", "-pedantic", "-Werror", *options,
         f"-I{aacl.kernel_include_dir()}", "-o", str(made), "-"],
        input=f'#include "aacl_kernel.h"\n{source}', text=True, check=True,
    )  # fmt: skip
    return made
