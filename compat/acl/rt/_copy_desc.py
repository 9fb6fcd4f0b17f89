"""Copies that device memory describes: a stream reads the description when it comes to the copy.

So work that was submitted before may write or replace the description.
"""

from __future__ import annotations

import struct
from operator import index

import numpy as np

import aacl
from aacl.errors import InvalidArgument, InvalidMemoryRange
from acl import _blocks
from acl._devices import current, stream_at
from acl._status import RT_NOT_SUPPORTED, Refused, code_alone, with_code, with_first
from acl.rt._direction import KINDS
from acl.rt._exception import watch

__all__ = ("get_memcpy_desc_size", "memcpy_async_with_desc", "set_memcpy_desc")

_INNER_DEVICE = 6  # ACL_MEMCPY_INNER_DEVICE_TO_DEVICE
_FORM = struct.Struct("<8sQQQQ24x")  # mark, kind, source, target, bytes
_MARK = b"aaclcopy"


def _check_kind(kind: int) -> None:
    kind = index(kind)
    if kind not in KINDS:
        raise InvalidArgument(f"copy kind {kind} is not known; they go from 0 to {KINDS[-1]}")
    if kind != _INNER_DEVICE:
        raise Refused(
            RT_NOT_SUPPORTED, f"descriptions are of copies within a device, kind {_INNER_DEVICE}, not of kind {kind}"
        )


def _buffer_of(address: int) -> aacl.Buffer:
    """Return the device memory that a description is in."""
    if not address:
        raise InvalidArgument("the description's address is null; allocate device memory for it")
    return _blocks.device_span(address, _FORM.size)


@with_code(0)
def get_memcpy_desc_size(kind: int, /) -> tuple[int, int]:
    """Tell how much device memory a description takes.

    Args:
        kind: 6, within a device.

    Returns:
        (64 bytes, 0); (0, code): 100000 for a kind that is none, 207000 for another, 107002 without a context.

    Source: aclrtGetMemcpyDescSize.
    """
    current()
    _check_kind(kind)
    return _FORM.size, 0


@with_first
def set_memcpy_desc(desc: int, kind: int, src_addr: int, dst_addr: int, count: int, config: int | None, /) -> int:
    """Write a description, at once.

    Args:
        desc: device memory of `get_memcpy_desc_size` bytes.
        kind: 6, within a device.
        src_addr: where from, memory of the device.
        dst_addr: where to, memory of the device.
        count: bytes, at least 1.
        config: 0 or None.

    Returns:
        (desc, 0); (desc, code): 100000 for a null address, a kind that is none, a count below 1 or a config; 207000
        for another kind; 107000 for bytes outside an allocation of the device; 107002 without a context.

    Source: aclrtSetMemcpyDesc.
    """
    address, source, target, nbytes = index(desc), index(src_addr), index(dst_addr), index(count)
    current()
    _check_kind(kind)
    buffer = _buffer_of(address)
    if config is not None and index(config):
        raise InvalidArgument(f"the config of a description is 0 or None, not {config}")
    if not (source and target) or nbytes < 1:
        raise InvalidArgument(f"cannot describe a copy of {nbytes} bytes from {source:#x} to {target:#x}")
    for each in (source, target):
        _blocks.device_span(each, nbytes)
    data = _FORM.pack(_MARK, _INNER_DEVICE, source, target, nbytes)
    buffer.view((_FORM.size,), np.uint8, address - buffer.address)[:] = np.frombuffer(data, np.uint8)
    return 0


@code_alone
def memcpy_async_with_desc(desc: int, kind: int, stream: int, /) -> int:
    """Submit the copy that a description in device memory says when the stream comes to it.

    Args:
        desc: of `set_memcpy_desc`, or a copy of that in device memory.
        kind: 6, within a device.
        stream: 0 stands for the default one.

    Returns:
        0, which means submitted; 100000 for null or a kind that is none; 207000 for another kind; 107000 if it is not
        in device memory; others as ``synchronize_stream``. Memory that is no description then, or tells of bytes
        outside the device's allocations, is 107000 at the next synchronise.

    Source: aclrtMemcpyAsyncWithDesc.
    """
    address, target = index(desc), stream_at(stream)
    _check_kind(kind)
    _buffer_of(address)
    watch(target, target.stream.call(_copy_described, address))
    return 0


def _copy_described(desc: int) -> None:
    data = _blocks.read(desc, _FORM.size)
    mark, kind, source, target, nbytes = _FORM.unpack(data)
    if mark != _MARK or kind != _INNER_DEVICE:
        raise InvalidMemoryRange(f"the memory at {desc:#x} is no description of acl.rt.set_memcpy_desc")
    for address in (source, target):
        _blocks.device_span(address, nbytes)
    aacl.memory.copy(target, source, nbytes)
