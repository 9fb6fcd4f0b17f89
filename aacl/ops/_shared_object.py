"""Host shared objects made with ``aacl_kernel.h``, and the operators' kernels in them.

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
from typing import IO, Any, NamedTuple, final
from weakref import WeakValueDictionary, finalize

from aacl.errors import InvalidFile, KernelLoadError
from aacl.ops._elf import ElfHeader, check_shared_object, exported_names, read_header
from aacl.ops._trial import load_library, try_library

__all__ = ("Library", "SharedKernel", "Takes", "checked_symbol", "image_of", "kernel_include_dir", "library_of")

_ABI = 1
_PREFIX, _TAKES = "aacl_kernel_", "aacl_takes_"
_VERSION = "aacl_kernels_abi"
_Version, _Numbers = ctypes.CFUNCTYPE(ctypes.c_int), ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_int)

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


class Takes(NamedTuple):
    """What a kernel uses at least, as ``AACL_KERNEL_TAKES`` says it."""

    inputs: int
    outputs: int
    workspaces: int
    tiling: int
    """Bytes."""


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
        takes: what it uses at least; None where its source does not say it.
    """

    __slots__ = ("_function", "_library", "_what", "symbol", "takes")

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
        image, self._what = image_of(source)
        self.symbol = checked_symbol(symbol)
        self._library = library_of(image, self._what, (_PREFIX + symbol, _TAKES + symbol))
        self._function, self.takes = self._kernel()

    def _kernel(self) -> tuple[Callable[..., int], Takes | None]:
        """Return the function, and what it takes."""
        library, symbol = self._library, self.symbol
        address, numbers = library.addresses((_PREFIX + symbol, _TAKES + symbol), self._what)
        if not address:
            raise KernelLoadError(
                f"the ELF file {self._what} has no kernel {symbol!r}; {library.contents(_PREFIX, 'AACL_KERNEL(name)')}"
            )
        takes = Takes(*map(_Numbers(numbers), range(len(Takes._fields)))) if numbers else None
        return _Function(address), takes

    @property
    def function(self) -> Callable[..., int]:
        """The loaded function, which runs several blocks; ``aacl_kernel.h`` says how."""
        return self._function

    def __repr__(self) -> str:
        return f"<SharedKernel {self.symbol} of {self._what}>"


class Library:
    """A loaded shared object; unloaded with its last reference."""

    def __init__(self, image: bytes, names: tuple[str, ...], what: str) -> None:
        self._header = check_shared_object(image, _host(), what)
        self._names = exported_names(image, self._header)
        # The loader knows libraries by their paths, and this one names the open file: it stays open as long.
        self._file = file = _private_copy(image)
        self._tried: set[tuple[str, ...]] = set()
        try:
            self._try(names, what)
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

    def addresses(self, names: tuple[str, ...], what: str) -> list[int]:
        """Return where functions are; 0 for one that there is not.

        Raises:
            KernelLoadError: the library was not made with ``aacl_kernel.h``, or with that of another version; or
                looking for the functions ended another process.
        """
        self._try(names, what)
        self._check_version(what)
        return [self._find(name) for name in names]

    def names(self, prefix: str) -> tuple[str, ...]:
        """Return what it exports under a prefix, without that."""
        return tuple([name.removeprefix(prefix) for name in self._names if name.startswith(prefix)])

    def contents(self, prefix: str, macro: str) -> str:
        """Return what texts say of the functions that a macro defines."""
        names = self.names(prefix)
        return f"it has {', '.join(names)}" if names else f"it has none: define one with {macro} {{ ... }}"

    def _check_version(self, what: str) -> None:
        address = self._find(_VERSION)
        if not address:
            raise KernelLoadError(
                f"the ELF file {what} was not made with aacl_kernel.h, which lies in {kernel_include_dir()}"
            )
        abi = _Version(address)()
        if abi != _ABI:
            raise KernelLoadError(
                f"the ELF file {what} was made for version {abi} of the kernels' interface, this runtime has {_ABI}; "
                f"compile it again with {kernel_include_dir()}/aacl_kernel.h"
            )

    def _find(self, name: str) -> int:
        try:
            return _ctypes.dlsym(self._handle, name)
        except (OSError, ValueError):
            return 0

    def _try(self, names: tuple[str, ...], what: str) -> None:
        if names not in self._tried:
            try_library(self._path, self._file.fileno(), (_VERSION, *names), what)
            self._tried.add(names)


_libraries: WeakValueDictionary[bytes, Library] = WeakValueDictionary()
_lock = threading.Lock()


def library_of(image: bytes, what: str, names: tuple[str, ...]) -> Library:
    """Return the library of some bytes, loaded once.

    Args:
        image: its bytes.
        what: texts call it so.
        names: of functions to look for when it is tried.

    Raises:
        KernelLoadError: it cannot be loaded.
    """
    import hashlib

    key = hashlib.sha256(image).digest()
    with _lock:
        library = _libraries.get(key)
        if library is None:
            library = _libraries[key] = Library(image, names, what)
        return library


def checked_symbol(symbol: Any) -> str:
    """Return a function's name; raises `KernelLoadError` for what is none."""
    if not isinstance(symbol, str) or not symbol.isidentifier():
        raise KernelLoadError(f"a kernel's symbol is a name such as 'vector_add', not {symbol!r}")
    return symbol


def _unload(handle: int, file: IO[Any]) -> None:
    _ctypes.dlclose(handle)
    file.close()


def image_of(source: Any) -> tuple[bytes, str]:
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
