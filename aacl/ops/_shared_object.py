"""Kernels in host shared objects, made with ``aacl_kernel.h``.

A shared object is checked, tried in a process of its own, and then loaded from a private copy: what
becomes of the file meanwhile matters to nobody, and where its tables are damaged it is refused, or ends
that other process at worst. What its code does is beyond any check.
"""

from __future__ import annotations

import _ctypes
import ctypes
import os
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import IO, Any, final
from weakref import WeakValueDictionary, finalize

from aacl.errors import InvalidFile, KernelLoadError
from aacl.ops._elf import ElfHeader, check_shared_object, exported_names, read_header
from aacl.ops._trial import load_library, try_library

__all__ = ("SharedKernel", "kernel_include_dir")

_ABI = 1
_PREFIX = "aacl_kernel_"
_VERSION = "aacl_kernels_abi"

_Function = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_long,
    ctypes.c_long,
    ctypes.c_long,
    ctypes.c_void_p,
)
"""What ``AACL_KERNEL`` defines: inputs, outputs, workspaces, tiling, first block, end, blocks, which failed; the status."""


def kernel_include_dir() -> str:
    """Return the folder of ``aacl_kernel.h``, for a compiler's ``-I``."""
    return str(Path(__file__).parents[1] / "include")


@final
class SharedKernel:
    """A kernel in a shared object of this machine.

    Its blocks run without the interpreter's lock. The library is loaded once for equal bytes, and let go of
    when no kernel of it is left; libraries that it needs are found as for any other, except beside the file.

    Attributes:
        symbol: the name that ``AACL_KERNEL`` gave it.
    """

    __slots__ = ("_function", "_library", "_what", "symbol")

    def __init__(self, source: str | os.PathLike[str] | bytes | bytearray | memoryview, symbol: str) -> None:
        """Load a kernel.

        Args:
            source: the shared object: its path, or its bytes.
            symbol: the kernel's name in it.

        Raises:
            InvalidFile: the path cannot be read.
            KernelLoadError: these are no bytes of a shared object, it is for another machine, a relocatable object,
                damaged, made for another version of this runtime, or has no such kernel. The text says which.
        """
        image, self._what = _read(source)
        if not isinstance(symbol, str) or not symbol.isidentifier():
            raise KernelLoadError(f"a kernel's symbol is a name such as 'vector_add', not {symbol!r}")
        self.symbol = symbol
        self._library = _load(image, symbol, self._what)
        self._function = self._library.kernel(symbol, self._what)

    @property
    def function(self) -> Callable[..., int]:
        """The loaded function, which runs several blocks; ``aacl_kernel.h`` says how."""
        return self._function

    def __repr__(self) -> str:
        return f"<SharedKernel {self.symbol} of {self._what}>"


class _Library:
    """A loaded shared object; unloaded with its last reference."""

    def __init__(self, image: bytes, symbol: str, what: str) -> None:
        self._header = check_shared_object(image, _host(), what)
        self._names = exported_names(image, self._header)
        # The loader knows libraries by their paths, and this one names the open file: it stays open as long.
        self._file = file = _private_copy(image)
        self._tried: set[str] = set()
        try:
            self._try(symbol, what)
            self._handle = load_library(self._path)
        except OSError as error:
            file.close()
            raise KernelLoadError(f"the ELF file {what} cannot be loaded: {error}") from None
        except BaseException:
            file.close()
            raise
        finalize(self, _unload, self._handle, file).atexit = False  # a worker may be in it when the process ends

    @property
    def _path(self) -> str:
        return f"/proc/self/fd/{self._file.fileno()}"

    def kernel(self, symbol: str, what: str) -> Callable[..., int]:
        """Return a kernel's function."""
        self._try(symbol, what)
        try:
            abi = ctypes.CFUNCTYPE(ctypes.c_int)(_ctypes.dlsym(self._handle, _VERSION))()
        except OSError:
            raise KernelLoadError(
                f"the ELF file {what} was not made with aacl_kernel.h, which lies in {kernel_include_dir()}"
            ) from None
        if abi != _ABI:
            raise KernelLoadError(
                f"the ELF file {what} was made for version {abi} of the kernels' interface, this runtime has {_ABI}; "
                f"compile it again with {kernel_include_dir()}/aacl_kernel.h"
            )
        try:
            return _Function(_ctypes.dlsym(self._handle, _PREFIX + symbol))
        except (OSError, ValueError):
            raise KernelLoadError(f"the ELF file {what} has no kernel {symbol!r}; {self._contents()}") from None

    def _try(self, symbol: str, what: str) -> None:
        if symbol not in self._tried:
            try_library(self._path, self._file.fileno(), (_VERSION, _PREFIX + symbol), what)
            self._tried.add(symbol)

    def _contents(self) -> str:
        kernels = [name.removeprefix(_PREFIX) for name in self._names if name.startswith(_PREFIX)]
        if kernels:
            return f"it has {', '.join(kernels)}"
        return "it has none: define one with AACL_KERNEL(name) { ... }"


_libraries: WeakValueDictionary[bytes, _Library] = WeakValueDictionary()
_lock = threading.Lock()


def _load(image: bytes, symbol: str, what: str) -> _Library:
    import hashlib

    key = hashlib.sha256(image).digest()
    with _lock:
        library = _libraries.get(key)
        if library is None:
            library = _libraries[key] = _Library(image, symbol, what)
        return library


def _unload(handle: int, file: IO[Any]) -> None:
    _ctypes.dlclose(handle)
    file.close()


def _read(source: Any) -> tuple[bytes, str]:
    """Return the bytes, and what texts call them."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        image = bytes(source)
        return image, f"<{len(image)} bytes>"
    try:
        path = Path(source)
        return path.read_bytes(), repr(str(path))
    except TypeError:
        raise KernelLoadError(f"a shared object is given as its path or its bytes, not {source!r}") from None
    except (OSError, ValueError) as error:
        raise InvalidFile(f"cannot read the shared object {source!r}: {error}") from None


def _private_copy(image: bytes) -> IO[bytes]:
    """Return a file that nobody else can change, with these bytes."""
    try:
        file: IO[bytes] = os.fdopen(os.memfd_create("aacl_kernel"), "wb", buffering=0)
    except (AttributeError, OSError):
        import tempfile

        file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - the caller closes it
    view = memoryview(image)
    while view:
        view = view[file.write(view) :]
    return file


@cache
def _host() -> ElfHeader:
    """Return the header of the program that runs: what its machine is."""
    with open("/proc/self/exe", "rb") as file:
        return read_header(file.read(64), "this program")


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
