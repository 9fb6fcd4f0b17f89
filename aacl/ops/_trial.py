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
sys.exit(77)
"""
"""All that loading does, for a process that nobody misses: the library's path, the function that tells its version,
and others are its arguments. What is not there is told by the loading itself."""

_LOADED = 77
"""The trial's status when it came to its end: a library may end a process with any other."""


def try_library(path: str, descriptor: int, names: tuple[str, ...], what: str) -> None:
    """Load a library, call the function that tells its version and look for others, in another process.

    Args:
        path: of the library, by the descriptor.
        descriptor: of the open file, for the other process.
        names: of that function, and of the others.
        what: texts call the library so.

    Raises:
        KernelLoadError: that failed, or ended the process.
    """
    import subprocess
    import tempfile

    command = [sys.executable, "-I", "-S", "-c", _TRIAL, path, *names]
    try:
        # To a file: the end of a pipe would be waited for as long as a process that the library started has it.
        with tempfile.TemporaryFile() as output:
            status = subprocess.run(
                command, pass_fds=(descriptor,), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=output,
                timeout=_PATIENCE, check=False,
            ).returncode  # fmt: skip
            output.seek(0)
            text = output.read().decode(errors="replace").strip().rpartition("\n")[2]
    except (OSError, ValueError):
        return  # where no process can be started there is no trial
    except subprocess.TimeoutExpired:
        raise KernelLoadError(f"the ELF file {what} was not loaded within {_PATIENCE:.0f} seconds") from None
    if status < 0:
        raise KernelLoadError(f"the ELF file {what} is damaged: loading it ended a process with signal {-status}")
    if status == 1 and text:
        raise KernelLoadError(f"the ELF file {what} cannot be loaded: {text.removeprefix('OSError: ')}")
    if status != _LOADED:
        raise KernelLoadError(f"the ELF file {what} cannot be loaded: that ended a process with status {status}")


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
