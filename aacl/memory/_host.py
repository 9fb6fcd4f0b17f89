"""Host memory that a program names by address: used when known, checked when not.

An address may be wrong, and a wrong one must become an error instead of a
crash. The kernel copies such memory for us: ``process_vm_readv`` and
``process_vm_writev`` on this very process fail with EFAULT where a page is not
mapped or not writable. Memory known to be alive (pinned buffers, and the
objects whose addresses a program asked for last) skips the check.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import mmap
import os
import threading
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING

from aacl.errors import InvalidMemoryRange

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = (
    "check_mapped",
    "check_readable",
    "check_writable",
    "distrust",
    "distrusting",
    "keep",
    "move",
    "read",
    "trust",
    "write",
)

_MS_ASYNC = 1  # msync() then does nothing but look
_POPULATE_READ, _POPULATE_WRITE = 22, 23  # advice to madvise(); the mmap module has no names for them
_ADDRESS_END = 1 << 63  # ctypes would wrap what is beyond

_PAGES = 1024  # that one call of the kernel takes (IOV_MAX)

_KEPT_OBJECTS = 256
_KEPT_BYTES = 256 << 20

_libc = ctypes.CDLL(None, use_errno=True)
_memmove = ctypes.memmove


class _Span(ctypes.Structure):
    """``struct iovec``."""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Spans(threading.local):
    """A thread's two spans, made once: filling them is cheaper than making them."""

    def __init__(self) -> None:
        self.local, self.remote = _Span(), _Span()
        self.local_address, self.remote_address = ctypes.addressof(self.local), ctypes.addressof(self.remote)


_spans = _Spans()
_trusted: dict[int, int] = {}
_kept: OrderedDict[int, tuple[int, int, object]] = OrderedDict()
"""(bytes, bytes that are relied on, owner) by address."""
_kept_bytes = 0
_kept_lock = threading.RLock()  # a signal's handler, or a finalizer, may ask for an address in between


def _prototype(name: str) -> ctypes._NamedFuncPointer | None:
    function = getattr(_libc, name, None)
    if function is not None:
        function.restype = ctypes.c_ssize_t
        function.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong,
                             ctypes.c_ulong)  # fmt: skip
    return function


_readv, _writev = _prototype("process_vm_readv"), _prototype("process_vm_writev")
_msync = _libc.msync
_msync.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_madvise = _libc.madvise
_madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def trust(address: int, nbytes: int) -> None:
    """Rely on a span until `distrust`: its owner says when it ends."""
    _trusted[address] = nbytes


def distrust(address: int) -> None:
    """Check the span that starts there again."""
    _trusted.pop(address, None)


def distrusting(address: int) -> Callable[[], object]:
    """Return what does as `distrust`, for a finalizer: no Python code, in which an interrupt would be lost."""
    return partial(_trusted.pop, address, None)


def keep(address: int, nbytes: int, owner: object, *, is_lasting: bool = True) -> None:
    """Keep the owner of a span alive for a while, and rely on the span meanwhile.

    The newest spans are kept, bounded by count and by bytes; programs name
    memory of temporaries that would be gone when the address is used.

    Args:
        address: the span's first byte.
        nbytes: its length.
        owner: what is kept.
        is_lasting: whether the span can be read and written as long as the owner lives. Another one is checked whenever
            it is used: a mapped file, for one, may be read-only, or end.
    """
    global _kept_bytes
    dropped = []  # their finalizers run outside the lock
    with _kept_lock:
        old = _kept.pop(address, None)
        _kept[address] = (nbytes, nbytes if is_lasting else 0, owner)
        _kept_bytes += nbytes - (old[0] if old else 0)
        while _kept and (len(_kept) > _KEPT_OBJECTS or _kept_bytes > _KEPT_BYTES):
            _, last = _kept.popitem(last=False)
            _kept_bytes -= last[0]
            dropped.append(last)


def is_known(address: int, nbytes: int) -> bool:
    """Whether the span lies at the start of memory that is known to be alive."""
    length = _trusted.get(address)
    if length is None:
        kept = _kept.get(address)
        length = kept[1] if kept is not None else 0
    return nbytes <= length


def move(target: int, source: int, nbytes: int) -> None:
    """Copy between spans that are known to be good; long copies free the GIL."""
    _memmove(target, source, nbytes)


def read(target: int, source: int, nbytes: int) -> None:
    """Copy from host memory to a span that is known to be good.

    Raises:
        InvalidMemoryRange: a page of the source is not mapped; part of the target may have been written.
    """
    if is_known(source, nbytes):
        _memmove(target, source, nbytes)
    else:
        _checked_copy(_readv, "read", target, source, nbytes)


def write(target: int, source: int, nbytes: int) -> None:
    """Copy from a span that is known to be good to host memory.

    Raises:
        InvalidMemoryRange: a page of the target is not mapped or not writable; part of it may have been written.
    """
    if is_known(target, nbytes):
        _memmove(target, source, nbytes)
    else:
        _checked_copy(_writev, "write", source, target, nbytes)


def _checked_copy(function: ctypes._NamedFuncPointer | None, act: str, known: int, unknown: int, nbytes: int) -> None:
    """Copy ``nbytes`` between a good span and an unknown one, the kernel watching."""
    if not 0 <= unknown <= unknown + nbytes < _ADDRESS_END:
        raise _unmapped(act, unknown, nbytes, 0)
    _check_trusted(unknown, nbytes, act)
    spans, done = _spans, 0
    while done < nbytes and function is not None:
        spans.local.base, spans.remote.base = known + done, unknown + done
        spans.local.length = spans.remote.length = nbytes - done
        moved = function(os.getpid(), spans.local_address, 1, spans.remote_address, 1, 0)
        if moved <= 0:
            if ctypes.get_errno() in (errno.EPERM, errno.ENOSYS):
                break  # a sandbox refuses the call
            raise _unmapped(act, unknown, nbytes, done)
        done += moved
    else:
        if done == nbytes:
            return
    _copy_if_mapped(act, known, unknown, nbytes)


def check_mapped(address: int, nbytes: int, act: str = "use") -> None:
    """Raise `InvalidMemoryRange` unless every page of a span is mapped; whether it can be read or written is not seen."""
    if is_known(address, nbytes):
        return
    _check_trusted(address, nbytes, act)
    first = _page_of(address)
    if not mmap.PAGESIZE <= address <= address + nbytes < _ADDRESS_END or _msync(
        first, address + nbytes - first, _MS_ASYNC
    ):
        raise _unmapped(act, address, nbytes, 0)


def check_readable(address: int, nbytes: int) -> None:
    """Raise `InvalidMemoryRange` unless every page of a span can be read, for memory that is used where it lies."""
    check_mapped(address, nbytes)
    if not is_known(address, nbytes) and _populates() and not _populate(address, nbytes, _POPULATE_READ):
        raise _unmapped("read", address, nbytes, 0)


def check_writable(address: int, nbytes: int) -> None:
    """Raise `InvalidMemoryRange` unless every page of a span can be written, for memory that is about to be written."""
    if is_known(address, nbytes) or not nbytes:
        return
    check_mapped(address, nbytes, "write")
    if _populates():
        if not _populate(address, nbytes, _POPULATE_WRITE):
            raise _unmapped("write", address, nbytes, 0)
    elif _readv is not None and _writev is not None:
        first = _page_of(address)
        for start in range(first, address + nbytes, mmap.PAGESIZE * _PAGES):
            end = min(start + mmap.PAGESIZE * _PAGES, address + nbytes)
            _rewrite([max(page, address) for page in range(start, end, mmap.PAGESIZE)], address, nbytes)


def _page_of(address: int) -> int:
    return address // mmap.PAGESIZE * mmap.PAGESIZE


def _populate(address: int, nbytes: int, advice: int) -> bool:
    """Bring the pages of a span in, to be read or to be written; return whether that is allowed."""
    first = _page_of(address)
    refused: int = _madvise(first, address + nbytes - first, advice)
    return not refused


@functools.cache
def _populates() -> bool:
    """Whether the kernel knows the advice: it does not say whether it refuses that or the memory."""
    good = ctypes.create_string_buffer(1)
    return _populate(ctypes.addressof(good), 1, _POPULATE_WRITE)


def _rewrite(places: list[int], address: int, nbytes: int) -> None:
    """Write back what some bytes hold, one a page: another writer's byte might be undone."""
    assert _readv is not None
    assert _writev is not None
    held = ctypes.create_string_buffer(len(places))
    local = _Span(ctypes.addressof(held), len(places))
    remote = (_Span * len(places))(*[_Span(place, 1) for place in places])
    for function in (_readv, _writev):
        moved = function(os.getpid(), ctypes.addressof(local), 1, ctypes.addressof(remote), len(places), 0)
        if moved == len(places):
            continue
        if ctypes.get_errno() in (errno.EPERM, errno.ENOSYS):
            return  # a sandbox refuses the call
        raise _unmapped("write", address, nbytes, 0)


def _check_trusted(address: int, nbytes: int, act: str) -> None:
    """Refuse what begins in a pinned buffer and reaches beyond it: the pages there may be anybody's."""
    length = _trusted.get(address)
    if length is not None and nbytes > length:
        raise InvalidMemoryRange(
            f"cannot {act} {nbytes} bytes at {address:#x}: the host buffer there has {length} bytes"
        )


def _copy_if_mapped(act: str, known: int, unknown: int, nbytes: int) -> None:
    """Copy where the kernel will not watch."""
    check_mapped(unknown, nbytes, act)
    source, target = (unknown, known) if act == "read" else (known, unknown)
    _memmove(target, source, nbytes)


def _unmapped(act: str, address: int, nbytes: int, done: int) -> InvalidMemoryRange:
    wrong = {"read": "mapped and readable", "write": "mapped and writable"}.get(act, "mapped")
    return InvalidMemoryRange(
        f"cannot {act} {nbytes} bytes of host memory at {address:#x}: it is not {wrong}"
        + (f" from {address + done:#x} on" if done else "")
        + "; is the pointer right, and its owner alive?"
    )


def _after_fork() -> None:
    """Another thread of the parent may have held the lock."""
    global _kept_lock
    _kept_lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)
