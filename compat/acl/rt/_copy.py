"""Copies and fills. The addresses tell which memory is meant; a kind that does not fit is refused, or warned of.

An asynchronous copy takes its place in the stream. What it reads from pageable
host memory it reads before the call returns, so that the program may change or
free it; memory of ``malloc_host`` is read in the stream's own time.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import aacl
from aacl.errors import InvalidArgument, InvalidMemoryRange, UnalignedAddress
from acl import _blocks
from acl._blocks import check_host, host_blocks, host_range
from acl._devices import current, stream_at
from acl._status import RT_NOT_SUPPORTED, Refused, code_alone
from acl._threads import here
from acl.rt._direction import ANY, KINDS, WAYS, ahead, check_ahead, wrong_way
from acl.rt._exception import watch
from acl.rt._registration import is_registered
from acl.rt._wait import wait

if TYPE_CHECKING:
    from acl._streams import Stream

__all__ = ("memcpy", "memcpy_async", "memcpy_async_with_condition", "memset", "memset_async")

_KINDS = KINDS
_HOST_TO_HOST, _ON_DEVICES = 0, 3
_ALIGNMENT = 64

_copy = aacl.memory.copy
_host_block = host_blocks.get
_is_device = aacl.memory.is_device_address


@code_alone
def memcpy(dst: int, dest_max: int, src: int, count: int, kind: int, /) -> int:
    """Copy memory, and wait for the end.

    Args:
        dst: where to; may point into an allocation.
        dest_max: bytes that the target has; not fewer than ``count``.
        src: where from; may point into an allocation.
        count: bytes; 0 copies nothing, whatever the addresses are.
        kind: an ``aclrtMemcpyKind``: 0 from host to host, 1 to the device, 2 to the host, 3, 6 and 7 on devices, 4 as
            the addresses are, 5 as 1. One that does not fit the addresses gives one warning, or is refused in a
            strict environment (``AACL_STRICT=1``).

    Returns:
        0; 100000 for a null address or an unknown kind; 107000 for more bytes than ``dest_max``, bytes outside
        an allocation, host memory that is not mapped or not writable, or a kind that is refused; 107002 without a
        context.

    Source: aclrtMemcpy.
    """
    dst, src, count = index(dst), index(src), index(count)
    is_plain = 0 < count <= index(dest_max) and dst and src and index(kind) in _KINDS
    if not is_plain and not _is_copy(dst, dest_max, src, count, kind):
        return 0
    context = here.context
    if context is None or context.closed:
        current()
    to, of = _host_block(dst), _host_block(src)
    low, high = host_range
    if (count > to.nbytes if to is not None else low <= dst < high) or (
        count > of.nbytes if of is not None else low <= src < high
    ):
        check_host(src, count)
        check_host(dst, count)
    if ahead[0]:
        check_ahead(kind, dst, src)
    way = _copy(dst, src, count)
    if way != WAYS[kind] != ANY:
        wrong_way(kind, way, dst, src)
    return 0


def _is_copy(dst: int, dest_max: int, src: int, count: int, kind: int) -> bool:
    """Whether there is something to copy; raises for what cannot be asked."""
    if index(kind) not in _KINDS:
        raise InvalidArgument(f"copy kind {kind} is not known; they go from 0 to {_KINDS[-1]}")
    _check_count(count, dest_max)
    if count and not (dst and src):
        raise InvalidArgument(f"cannot copy {count} bytes from {src:#x} to {dst:#x}: an address is null")
    return count > 0


def _check_count(count: int, most: int) -> None:
    if not 0 <= count <= index(most):
        raise InvalidMemoryRange(
            f"{count} bytes do not go into a target of {most}; the number of bytes is from 0 to what the target has"
        )


@code_alone
def memcpy_async(dst: int, dest_max: int, src: int, count: int, kind: int, stream: int, /) -> int:
    """Submit a copy to a stream.

    Args:
        dst: where to. Memory of ``malloc_host``, and of the device, must stay until the stream is synchronised.
        dest_max: bytes that the target has.
        src: where from; other host memory than that of ``malloc_host`` is read before the call returns.
        count: bytes.
        kind: as `memcpy`; 0 is not possible here.
        stream: 0 stands for the default one.

    Returns:
        0, which means submitted; 207000 between host addresses for kind 0; 107008 for kind 3, 4, 6 or 7 when
        both are device addresses and one is no multiple of 64; other codes as `memcpy` and ``synchronize_stream``.

    Source: aclrtMemcpyAsync.
    """
    _copy_in(stream_at(stream), index(dst), dest_max, index(src), index(count), kind)
    return 0


@code_alone
def memcpy_async_with_condition(dst: int, dest_max: int, src: int, count: int, kind: int, stream: int, /) -> int:
    """Submit a copy, and wait for it if the host's memory is not locked.

    With memory of ``malloc_host`` or of the device, or that is registered, it is `memcpy_async`. With other memory of
    the host the stream is waited for before the call returns, so that results can be read at once.

    Args:
        dst: where to.
        dest_max: bytes there.
        src: where from.
        count: bytes to copy.
        kind: an ``aclrtMemcpyKind``.
        stream: the stream; 0 is the default one.

    Returns:
        As `memcpy_async`; when the stream is waited for, also what ``synchronize_stream`` returns.

    Source: aclrtMemcpyAsyncWithCondition.
    """
    target, to, of = stream_at(stream), index(dst), index(src)
    nbytes = index(count)
    _copy_in(target, to, dest_max, of, nbytes, kind)
    if nbytes and not (_is_locked(to, nbytes) and _is_locked(of, nbytes)):
        wait(target)
    return 0


def _is_locked(address: int, nbytes: int) -> bool:
    return _is_device(address) or _blocks.host_buffer(address, nbytes) is not None or is_registered(address)


def _copy_in(target: Stream, dst: int, dest_max: int, src: int, count: int, kind: int) -> None:
    if not _is_copy(dst, dest_max, src, count, kind):
        return
    way = _is_device(dst) + 2 * _is_device(src)
    if way == kind == _HOST_TO_HOST:
        raise Refused(RT_NOT_SUPPORTED, "a stream cannot copy from host to host memory; use acl.rt.memcpy")
    if way != WAYS[kind] != ANY:
        wrong_way(kind, way, dst, src)
    if way == _ON_DEVICES and WAYS[kind] in (_ON_DEVICES, ANY) and (dst | src) % _ALIGNMENT:
        raise UnalignedAddress(
            f"a stream copies device memory from and to multiples of {_ALIGNMENT}: {src:#x} to {dst:#x}"
        )
    check_host(src, count)
    check_host(dst, count)
    _submit(target, dst, src, count)


def _submit(stream: Stream, dst: int, src: int, count: int) -> None:
    native = stream.stream
    host = None if _is_device(src) else _blocks.host_buffer(src, count)
    pageable = host is None and not _is_device(src)
    if pageable and native.idle:
        _copy(dst, src, count)
        return
    if pageable:
        host = aacl.HostBuffer(count)
        _copy(host.address, src, count)
        src = host.address
    target = None if _is_device(dst) else _blocks.host_buffer(dst, count)
    completion: aacl.Completion[Any]
    if host is not None and not _is_device(dst) and target is None:
        completion = native.call(_copy, dst, src, count)  # between host addresses: checked while it copies
    else:
        completion = native.copy_memory(dst, src, count)
    watch(stream, completion)
    _hold(completion, host, target)


def _hold(completion: aacl.Completion[Any], *owners: object) -> None:
    """Keep host memory alive until a command is over, even if the program frees it."""
    if any(owner is not None for owner in owners) and not completion.done():
        completion.add_done_callback(lambda _, _owners=owners: None)  # type: ignore[misc]


@code_alone
def memset(ptr: int, max_count: int, value: int, count: int, /) -> int:
    """Set bytes, of device or host memory, and wait for the end.

    Args:
        ptr: the first byte.
        max_count: bytes that are there; not fewer than ``count``.
        value: its low byte is what they are set to.
        count: bytes; 0 sets nothing.

    Returns:
        0; 100000 for a null address; 107000 for more bytes than ``max_count``, bytes outside an allocation, or host
        memory that is not mapped or not writable; 107002 without a context.

    Source: aclrtMemset.
    """
    address, value, nbytes = index(ptr), index(value), index(count)
    _check_count(nbytes, max_count)
    current()
    if nbytes:
        _check_address(address, nbytes)
        aacl.memory.fill(address, value, nbytes)
    return 0


@code_alone
def memset_async(ptr: int, max_count: int, value: int, count: int, stream: int, /) -> int:
    """Submit setting bytes to a stream.

    Args:
        ptr: the address.
        max_count: bytes there.
        value: of every byte.
        count: bytes to set.
        stream: the stream; 0 is the default one.

    Returns:
        0, which means submitted; codes as `memset` and ``synchronize_stream``.

    Source: aclrtMemsetAsync.
    """
    address, value, nbytes = index(ptr), index(value), index(count)
    target = stream_at(stream)
    _check_count(nbytes, max_count)
    if not nbytes:
        return 0
    _check_address(address, nbytes)
    buffer = _blocks.device_buffer(address)
    if buffer is None:  # checked once more while it is set: the host's may be gone by then
        _blocks.other_memory(address, nbytes)
        completion: aacl.Completion[None] = target.stream.call(aacl.memory.fill, address, value, nbytes)
        _hold(completion, _blocks.host_buffer(address, nbytes))
    else:
        if nbytes > buffer.address + buffer.reserved_nbytes - address:
            raise InvalidMemoryRange(f"{nbytes} bytes at {address:#x} reach beyond {buffer!r}")
        desc = aacl.TensorDesc.of(aacl.DataType.UINT8, (nbytes,))
        completion = target.stream.fill(aacl.Tensor(desc, buffer, address - buffer.address), value)
    watch(target, completion)
    return 0


def _check_address(address: int, nbytes: int) -> None:
    if not address:
        raise InvalidArgument("cannot set memory at address 0")
    check_host(address, nbytes)
