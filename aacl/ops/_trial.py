"""Loading shared objects: tried in another process, then done on a thread that ends with it."""

from __future__ import annotations

import _ctypes
import os
import sys
import threading

from aacl.errors import KernelLoadError

__all__ = ("load_library", "try_library")

_PATIENCE = 60.0  # seconds that a trial may take: a library may do much when it is loaded

_TRIAL = """
import _ctypes, ctypes, sys
handle = _ctypes.dlopen(sys.argv[1], 2)  # RTLD_NOW
for name in sys.argv[2:]:
    try:
        address = _ctypes.dlsym(handle, name)
    except OSError:
        break
    if name == sys.argv[2]:
        ctypes.CFUNCTYPE(ctypes.c_int)(address)()
_ctypes.dlclose(handle)
"""
"""All that loading does, for a process that nobody misses: the library's path, the function that tells its version,
and the kernel are its arguments. What is not there is told by the loading itself."""


def try_library(path: str, descriptor: int, names: tuple[str, str], what: str) -> None:
    """Load a library, call the function that tells its version and look for a kernel, in another process.

    Args:
        path: of the library, by the descriptor.
        descriptor: of the open file, for the other process.
        names: of the function and of the kernel.
        what: texts call the library so.

    Raises:
        KernelLoadError: that failed, or ended the process.
    """
    import subprocess

    command = [sys.executable, "-I", "-S", "-c", _TRIAL, path, *names]
    try:
        tried = subprocess.run(
            command, pass_fds=(descriptor,), stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE,
            check=False,
        )  # fmt: skip
    except (OSError, ValueError):
        return  # where no process can be started there is no trial
    except subprocess.TimeoutExpired:
        raise KernelLoadError(f"the ELF file {what} was not loaded within {_PATIENCE:.0f} seconds") from None
    if tried.returncode < 0:
        raise KernelLoadError(
            f"the ELF file {what} is damaged: loading it ended a process with signal {-tried.returncode}"
        )
    if tried.returncode:
        text = tried.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise KernelLoadError(f"the ELF file {what} cannot be loaded: {text.removeprefix('OSError: ')}")


def load_library(path: str) -> int:
    """Load a library and return the loader's handle.

    What a library does to the thread that loads it ends with that thread: older compilers link code into what
    is built with ``-ffast-math`` that rounds small numbers to zero from then on.

    Raises:
        OSError: the loader's text.
    """
    handles: list[int] = []
    errors: list[BaseException] = []

    def load() -> None:
        try:
            handles.append(_ctypes.dlopen(path, os.RTLD_NOW | os.RTLD_LOCAL))
        except BaseException as error:  # for the thread that waits
            errors.append(error)

    thread = threading.Thread(target=load, name="aacl-load")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return handles[0]
