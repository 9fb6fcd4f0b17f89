"""Kernel binaries, and the functions in them.

A binary is a shared object of this machine, made with ``aacl_kernel.h``; one that was compiled for a device is
refused. Its functions are what ``AACL_GLOBAL`` defines.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from operator import index
from typing import Any

import aacl
from aacl.errors import InvalidArgument, KernelLoadError
from acl import _blocks
from acl._arguments import check_text
from acl._handles import Handles
from acl._state import require_init
from acl._status import INVALID_HANDLE, PARAM_INVALID, RT_NOT_SUPPORTED, Refused, code_alone, plain, with_code
from acl.rt._fields import fields

__all__ = (
    "Function",
    "at_unload",
    "binary_get_function",
    "binary_load",
    "binary_load_from_data",
    "binary_load_from_file",
    "binary_unload",
    "create_binary",
    "destroy_binary",
    "functions",
    "get_function_addr",
    "get_function_name",
    "register_cpu_func",
)

KERNEL_LOOKUP, KERNEL_DUPLICATE = 507027, 507028

_LAZY, _MAGIC, _CPU_MODE = 1, 2, 3  # aclrtBinaryLoadOptionType
_OPTIONS = {_LAZY: (0, 1), _MAGIC: (0x43554245, 0x41415246, 0x41494343), _CPU_MODE: (0, 1, 2)}


class Function:
    """A function of a loaded binary.

    Attributes:
        name: what `get_function_name` tells.
        native: what runs.
        arguments: the handles of those that were begun for it.
        handle: its handle.
        launched: those of them that a launch has used, in the order of their first launches.
    """

    __slots__ = ("arguments", "handle", "launched", "name", "native")

    def __init__(self, name: str, native: aacl.ops.KernelFunction) -> None:
        self.name, self.native = name, native
        self.arguments: dict[int, None] = {}
        self.launched: dict[int, None] = {}
        self.handle = functions.add(self)


class _Binary:
    """A loaded binary, and those of its functions that were asked for, by name."""

    __slots__ = ("_functions", "_is_unloaded", "_lock", "_native")

    def __init__(self, native: aacl.ops.KernelBinary) -> None:
        self._native, self._is_unloaded = native, False
        self._lock = threading.Lock()  # a name has one handle, whoever asks at the same time
        self._functions: dict[str, Function] = {}

    def function(self, name: str, symbol: str) -> Function:
        """Return the function that has a name, which is ``symbol`` if none has it yet.

        Raises:
            Refused: there is no such symbol (507027), or another thread has unloaded the binary (107017).
        """
        with self._lock:
            if self._is_unloaded:
                raise Refused(INVALID_HANDLE, "the kernel binary was unloaded meanwhile")
            found = self._functions.get(name)
            if found is None:
                try:
                    native = self._native.function(symbol)
                except KernelLoadError as error:
                    raise Refused(KERNEL_LOOKUP, str(error)) from None
                found = self._functions[name] = Function(name, native)
            return found

    def unload(self) -> Iterable[Function]:
        """Have no functions any more; return those that were asked for."""
        with self._lock:
            self._is_unloaded = True
            return self._functions.values()


functions: Handles[Function] = Handles("kernel function")
_binaries: Handles[_Binary] = Handles("kernel binary")
_descs: Handles[bytes] = Handles("kernel binary desc", PARAM_INVALID, null=PARAM_INVALID)
_at_unload: list[Callable[[Function], object]] = []


def at_unload(release: Callable[[Function], object]) -> None:
    """Call ``release(function)`` for each function of a binary that is unloaded."""
    _at_unload.append(release)


@with_code(0)
def binary_load_from_file(bin_path: str, options_list: Sequence[Any], /) -> tuple[int, int]:
    """Load a kernel binary from a file.

    Args:
        bin_path: the path of a shared object of this machine, made with ``aacl_kernel.h``.
        options_list: ``{'type': ..., 'value': ...}`` or pairs; an ``aclrtBinaryLoadOptionType`` each: 1, whether to
            load with the first use, 2, a magic number of the device's cores, 3, a mode of AI CPU kernels, 0 to 2. A
            shared object of the host is loaded at once whatever they say. [] for none.

    Returns:
        (handle, 0); (0, code): 100003 if the file cannot be read; 207000 for a binary of another machine, as those of
        a device are; 100025 for other bytes that are no such shared object (the text says why); 107000 for an unknown
        option or value; 100001 before ``acl.init``.

    Source: aclrtBinaryLoadFromFile.
    """
    require_init()
    check_text(bin_path, 1)
    _check_options(options_list, 2)
    return _loaded(bin_path), 0


@with_code(0)
def binary_load_from_data(mem_addr: int, length: int, options_list: Sequence[Any], /) -> tuple[int, int]:
    """Load a kernel binary from memory.

    Args:
        mem_addr: where its bytes lie on the host; they are copied.
        length: their number.
        options_list: as `binary_load_from_file`.

    Returns:
        (handle, 0); (0, code) as there, and 100000 for a null address or a length below 1, 107000 for memory that is
        not mapped.

    Source: aclrtBinaryLoadFromData.
    """
    require_init()
    _check_options(options_list, 3)
    return _loaded(_read(mem_addr, length)), 0


@plain(0)
def create_binary(data: int, data_len: int, /) -> int:
    """Describe a kernel binary for `binary_load`.

    Args:
        data: where its bytes lie on the host; they are copied.
        data_len: their number.

    Returns:
        The handle; 0 for a null address, a length below 1, or memory that is not mapped.

    Source: aclrtCreateBinary.
    """
    return _descs.add(_read(data, data_len))


@code_alone
def destroy_binary(binary: int, /) -> int:
    """Destroy what `create_binary` made; what was loaded from it stays.

    Args:
        binary: of `create_binary`.

    Returns:
        0; 107000 if it is none (any more).

    Source: aclrtDestroyBinary.
    """
    _descs.take(binary)
    return 0


@with_code(0)
def binary_load(binary: int, /) -> tuple[int, int]:
    """Load a kernel binary that `create_binary` described.

    Args:
        binary: of `create_binary`.

    Returns:
        (handle, 0); (0, code): 107000 if it is no description; others as `binary_load_from_file`.

    Source: aclrtBinaryLoad.
    """
    require_init()
    return _loaded(_descs.get(binary)), 0


@code_alone
def binary_unload(bin_handle: int, /) -> int:
    """Unload a binary; its functions and their arguments are dead then, and launches that are queued still run.

    Args:
        bin_handle: of `binary_load` or a sibling of it.

    Returns:
        0; 107017 if it is no loaded binary (any more), 100000 for a null handle.

    Source: aclrtBinaryUnLoad.
    """
    binary = _binaries.take(bin_handle)
    for function in binary.unload():
        functions.objects.pop(function.handle, None)
        for release in _at_unload:
            release(function)
    return 0


@with_code(0)
def binary_get_function(bin_handle: int, kernel_name: str, /) -> tuple[int, int]:
    """Find a function of a binary.

    Args:
        bin_handle: the binary.
        kernel_name: as ``AACL_GLOBAL`` names it, or as `register_cpu_func` does.

    Returns:
        (handle, 0), the same one for the same name; good until the binary is unloaded. (0, code): 507027 if there is no
        such function (the text says what there is); 107017 for no binary, 100000 for a null handle.

    Source: aclrtBinaryGetFunction.
    """
    binary, name = _binaries.get(bin_handle), _name(kernel_name, 2)
    return binary.function(name, name).handle, 0


@with_code(0)
def register_cpu_func(bin_handle: int, func_name: str, kernel_name: str, /) -> tuple[int, int]:
    """Name a function of a binary anew, as AI CPU kernels are registered.

    Args:
        bin_handle: the binary.
        func_name: the function, as ``AACL_GLOBAL`` names it.
        kernel_name: what `get_function_name` tells, and `binary_get_function` finds, from now on.

    Returns:
        (handle, 0); (0, code): 507028 if the name stands for another function; others as `binary_get_function`.

    Source: aclrtRegisterCpuFunc.
    """
    binary, symbol, name = _binaries.get(bin_handle), _name(func_name, 2), _name(kernel_name, 3)
    found = binary.function(name, symbol)
    if found.native.name != symbol:
        raise Refused(KERNEL_DUPLICATE, f"{name!r} stands for function {found.native.name!r}; take another name")
    return found.handle, 0


@with_code(0, 0)
def get_function_addr(func_handle: int, /) -> tuple[int, int, int]:
    """Return where the code of a function is, in this process.

    The host has one kind of core, so the second address, that of the vector cores' code, is 0.

    Args:
        func_handle: of `binary_get_function`.

    Returns:
        (address, 0, 0); (0, 0, code): 107017 for no function, 100000 for a null handle.

    Source: aclrtGetFunctionAddr.
    """
    return functions.get(func_handle).native.address, 0, 0


@with_code("")
def get_function_name(func_handle: int, max_len: int, /) -> tuple[str, int]:
    """Return the name of a function.

    Args:
        func_handle: the function.
        max_len: bytes that a C program would have for it, the terminating zero included.

    Returns:
        (name, 0); ("", code): 107000 if the name is longer; 107017 for no function, 100000 for a null handle.

    Source: aclrtGetFunctionName.
    """
    name, most = functions.get(func_handle).name, index(max_len)
    if len(name.encode()) >= most:
        raise Refused(PARAM_INVALID, f"the name {name!r} takes {len(name.encode()) + 1} bytes; there are {most}")
    return name, 0


def _loaded(source: str | bytes) -> int:
    try:
        native = aacl.ops.KernelBinary(source)
    except KernelLoadError as error:
        if error.is_foreign:
            raise Refused(RT_NOT_SUPPORTED, f"this device runs code of this machine alone: {error}") from None
        raise
    return _binaries.add(_Binary(native))


def _check_options(options: Any, position: int) -> None:
    for kind, value in fields(options, "type", "value", f"argument {position}"):
        if value not in _OPTIONS.get(kind, ()):
            raise Refused(PARAM_INVALID, f"a binary is not loaded with option {kind} of value {value}")


def _read(address: int, nbytes: int) -> bytes:
    address, nbytes = index(address), index(nbytes)
    if not address or nbytes < 1:
        raise InvalidArgument(f"there is no kernel binary of {nbytes} bytes at {address:#x}")
    return _blocks.read(address, nbytes)


def _name(text: str, position: int) -> str:
    check_text(text, position)
    return text
