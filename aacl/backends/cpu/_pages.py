"""Memory in two halves: addresses that are only reserved, and bytes that have no address until they are mapped.

The bytes are an unnamed file in memory (``memfd_create``). It lives as long as
some process has it open or mapped, so nothing has to be cleaned up, whichever
way a process ends. A last stretch behind the bytes says who may import it; the
file's length is sealed, so that no other process can cut the pages away under
this one.

A shareable handle is a number: the process that exported, its descriptor, and
22 bits that the file's name repeats, so that a descriptor that meanwhile stands
for something else is told. Another process of the same user opens the file
through ``/proc``, which asks for no more rights than reading that process's
memory does.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import secrets
import struct
import threading
from functools import partial
from typing import TYPE_CHECKING

from aacl.abc import Pages
from aacl.errors import InvalidArgument, NotPermitted, OutOfMemory

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("MemoryFile", "hide", "release", "reserve")

_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)  # the module names it from Python 3.13 on
_FIXED, _FIXED_NOREPLACE = 0x10, 0x100000  # nor does it name these
_NOTHING = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
_PROT_NONE = 0
_FAILED = ctypes.c_void_p(-1).value

_TAIL = 1 << 16
"""Bytes behind the memory: the head, then the processes that may import."""
_HEAD = struct.Struct("<8sQII")  # mark, token, whether anybody may import, how many processes follow
_MARK = b"aaclmem1"
_MOST_PROCESSES = (_TAIL - _HEAD.size) // 4
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL

_TOKEN_BITS, _FILE_BITS = 22, 20

_libc = ctypes.CDLL(None, use_errno=True)
_mmap, _munmap = _libc.mmap, _libc.munmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64)
_munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


def reserve(nbytes: int, alignment: int, wanted: int) -> int:
    """Return the first of ``nbytes`` addresses that nothing else in this process gets; using them is a fault.

    Args:
        nbytes: how many.
        alignment: a power of two that the first one is a multiple of.
        wanted: the first one if it can be had, 0 for any.

    Raises:
        OutOfMemory: so many addresses are not free.
    """
    if wanted and not wanted % alignment and _map(wanted, nbytes, _PROT_NONE, _NOTHING | _FIXED_NOREPLACE):
        return wanted
    found = _map(0, nbytes + alignment, _PROT_NONE, _NOTHING)
    if not found:
        raise OutOfMemory(
            f"cannot reserve {nbytes} bytes of addresses: {os.strerror(ctypes.get_errno())}; reserve fewer"
        )
    address = -(-found // alignment) * alignment
    if address > found:
        release(found, address - found)
    if found + alignment > address:
        release(address + nbytes, found + alignment - address)
    return address


def _map(address: int, nbytes: int, protection: int, flags: int, file: int = -1, offset: int = 0) -> int:
    """Call mmap; return 0 where it fails."""
    try:
        found = _mmap(address or None, nbytes, protection, flags, file, offset)
    except (ctypes.ArgumentError, OverflowError):
        ctypes.set_errno(errno.ENOMEM)
        return 0
    if found in (_FAILED, None):
        return 0
    if address and flags & _FIXED_NOREPLACE and found != address:  # an old kernel takes it for a wish
        _munmap(found, nbytes)
        return 0
    return int(found)


def release(address: int, nbytes: int) -> None:
    """Give addresses back that `reserve` gave."""
    _munmap(address, nbytes)


def hide(address: int, nbytes: int) -> None:
    """Take what is mapped at reserved addresses away; they stay reserved."""
    _map(address, nbytes, _PROT_NONE, _NOTHING | _FIXED)


class MemoryFile(Pages):
    """Bytes of a device, in a file of their own."""

    __slots__ = ("__del__", "_file", "_lock", "_token", "nbytes")

    __del__: Callable[[], None]

    def __init__(self, nbytes: int, token: int, file: int) -> None:
        # No Python code: an interrupt that came in there would be lost. Closing a large file takes long.
        self.__del__ = partial(os.close, file)
        self.nbytes, self._token, self._file = nbytes, token, file
        self._lock = threading.Lock()  # held while the head is read and written anew

    @classmethod
    def of(cls, nbytes: int) -> MemoryFile:
        """Return new bytes, all 0.

        Raises:
            OutOfMemory: the host has no such file.
        """
        token = secrets.randbits(_TOKEN_BITS)
        file = -1
        try:
            file = os.memfd_create(_name(token), os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            pages = cls(nbytes, token, file)  # closes the file from now on
            os.ftruncate(file, nbytes + _TAIL)
            pages._write_head(anybody=False, processes=[])
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEALS)
        except (OSError, OverflowError) as error:
            raise OutOfMemory(f"the host cannot give {nbytes} bytes of memory: {error}; ask for less") from None
        return pages

    @classmethod
    def imported(cls, handle: int) -> MemoryFile:
        """Return the bytes of a shareable handle.

        Raises:
            InvalidArgument: no process exports under that number, any more.
            NotPermitted: it does not allow this process.
        """
        process = handle >> _TOKEN_BITS + _FILE_BITS
        descriptor = handle >> _TOKEN_BITS & (1 << _FILE_BITS) - 1
        token = handle & (1 << _TOKEN_BITS) - 1
        path = f"/proc/{process}/fd/{descriptor}"
        try:
            # Looked at before it is opened: opening a device or a pipe of another process would do something.
            if os.readlink(path) != f"/memfd:{_name(token)} (deleted)":
                raise _no_export(handle)
            file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except PermissionError as error:
            if _has_ended(process):
                raise _no_export(handle) from None
            raise NotPermitted(f"process {process} does not let this one import its memory: {error}") from None
        except (OSError, OverflowError, ValueError):
            raise _no_export(handle) from None
        pages = cls(max(os.fstat(file).st_size - _TAIL, 0), token, file)
        pages._check_import(handle, process)
        return pages

    def _check_import(self, handle: int, exporter: int) -> None:
        try:
            sealed = fcntl.fcntl(self._file, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK
            mark, token, anybody, processes = self._read_head()
        except (OSError, struct.error):
            raise _no_export(handle) from None
        if not sealed or mark != _MARK or token != self._token:
            raise _no_export(handle)
        me = os.getpid()
        if not (anybody or me == exporter or me in processes):
            raise NotPermitted(
                f"the memory of handle {handle:#x} may be imported by the processes {processes or 'that its owner names'},"
                f" not by this one, {me}; its owner has to allow it first"
            )

    def map(self, address: int, offset: int, nbytes: int) -> None:
        """Map bytes at reserved addresses, instead of what is there."""
        protection = mmap.PROT_READ | mmap.PROT_WRITE
        if not _map(address, nbytes, protection, mmap.MAP_SHARED | _FIXED, self._file, offset):
            raise OutOfMemory(
                f"cannot map {nbytes} bytes at {address:#x}: {os.strerror(ctypes.get_errno())}; unmap something"
            )

    def share(self, *, anybody: bool) -> int:
        """Return the shareable handle."""
        if self._file >> _FILE_BITS:
            raise NotPermitted(f"descriptor {self._file} is beyond what a shareable handle can say; close some files")
        if anybody:
            with self._lock:
                self._write_head(anybody=True, processes=self._read_head()[3])
        return (os.getpid() << _FILE_BITS | self._file) << _TOKEN_BITS | self._token

    def allow(self, processes: list[int]) -> None:
        """Let processes import, besides those allowed before."""
        with self._lock:
            _, _, anybody, allowed = self._read_head()
            every = [*dict.fromkeys([*allowed, *processes])]
            if len(every) > _MOST_PROCESSES:
                raise InvalidArgument(f"{len(every)} processes are more than the {_MOST_PROCESSES} that may import")
            self._write_head(anybody=bool(anybody), processes=every)

    def _read_head(self) -> tuple[bytes, int, int, list[int]]:
        tail = os.pread(self._file, _TAIL, self.nbytes)
        mark, token, anybody, count = _HEAD.unpack_from(tail)
        return mark, token, anybody, [*struct.unpack_from(f"<{min(count, _MOST_PROCESSES)}I", tail, _HEAD.size)]

    def _write_head(self, *, anybody: bool, processes: list[int]) -> None:
        # The numbers first, then how many count: whoever reads in between sees those of before.
        os.pwrite(self._file, struct.pack(f"<{len(processes)}I", *processes), self.nbytes + _HEAD.size)
        os.pwrite(self._file, _HEAD.pack(_MARK, self._token, anybody, len(processes)), self.nbytes)


def _name(token: int) -> str:
    return f"aacl-memory-{token:06x}"


def _has_ended(process: int) -> bool:
    """Whether a process is over, its number not given back yet: then its descriptors belong to nobody."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except OSError:
        return True


def _no_export(handle: int) -> InvalidArgument:
    return InvalidArgument(
        f"no process exports memory as {handle:#x}: the handle is wrong, its owner freed the memory, or it has ended"
    )
