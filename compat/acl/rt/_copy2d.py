"""Copies of rows that lie apart: a window of an image, say."""

from __future__ import annotations

from operator import index
from typing import NamedTuple

import numpy as np

import aacl
from aacl.errors import InvalidArgument, InvalidMemoryRange
from acl import _blocks
from acl._devices import current, stream_at
from acl._status import code_alone
from acl.rt._direction import way_of, wrong_way
from acl.rt._exception import watch

__all__ = ("memcpy2d", "memcpy2d_async", "memcpy_2d", "memcpy_2d_async")

_HOST_TO_DEVICE, _DEVICE_TO_HOST = 1, 2
_STAGED = 1 << 20  # bytes that go through memory of ours at once
_SPARSE = 16  # what lies between rows is read too, up to so many times the rows


class _Rows(NamedTuple):
    """The rows to copy: both places, bytes from row to row there, bytes of a row, and how many rows."""

    dst: int
    dpitch: int
    src: int
    spitch: int
    width: int
    height: int

    @property
    def is_empty(self) -> bool:
        return not (self.width and self.height)

    def reach(self, pitch: int) -> int:
        """Return the bytes from the first row's start to the last row's end."""
        return pitch * (self.height - 1) + self.width

    def part(self, first: int, height: int) -> _Rows:
        """Return some of the rows."""
        return self._replace(dst=self.dst + first * self.dpitch, src=self.src + first * self.spitch, height=height)


def _rows(dst: int, dpitch: int, src: int, spitch: int, width: int, height: int, kind: int) -> _Rows:
    rows = _Rows(index(dst), index(dpitch), index(src), index(spitch), index(width), index(height))
    if index(kind) not in (_HOST_TO_DEVICE, _DEVICE_TO_HOST):
        raise InvalidArgument(f"rows are copied from host to device (1) or from device to host (2), not by kind {kind}")
    if not 0 <= rows.width <= min(rows.dpitch, rows.spitch) or rows.height < 0:
        raise InvalidArgument(
            f"cannot copy {rows.height} rows of {rows.width} bytes that are {rows.spitch} apart to {rows.dpitch} apart"
        )
    if not rows.is_empty:
        _check(rows, kind)
    return rows


def _check(rows: _Rows, kind: int) -> None:
    """Look at both places before anything is written: all rows of the device, and whether the host's are mapped."""
    if not (rows.dst and rows.src):
        raise InvalidArgument(f"cannot copy rows from {rows.src:#x} to {rows.dst:#x}: an address is null")
    device, pitch = (rows.dst, rows.dpitch) if kind == _HOST_TO_DEVICE else (rows.src, rows.spitch)
    host, host_pitch = (rows.src, rows.spitch) if kind == _HOST_TO_DEVICE else (rows.dst, rows.dpitch)
    buffer = _blocks.device_buffer(device)
    if buffer is None or rows.reach(pitch) > buffer.address + buffer.reserved_nbytes - device:
        raise InvalidMemoryRange(f"{rows.height} rows at {device:#x}, {pitch} apart, are not within an allocation")
    wrong_way(kind, way_of(rows.dst, rows.src), rows.dst, rows.src)
    aacl.memory.host_memory(host, rows.reach(host_pitch))
    _blocks.check_host(host, rows.reach(host_pitch))


def _copy_rows(rows: _Rows, *_owners: object) -> None:
    copy = aacl.memory.copy
    if rows.height == 1 or rows.width == rows.dpitch == rows.spitch:
        copy(rows.dst, rows.src, rows.width * rows.height)
        return
    # A row a call costs a microsecond or two. Many rows go through memory of ours, where that saves calls and what
    # lies between the rows is not too much to read; where something lies between them in the host's, each is written
    # by itself, so that it stays as it is.
    to_device = aacl.memory.is_device_address(rows.dst)
    is_dense = rows.spitch <= _SPARSE * rows.width if to_device else rows.dpitch == rows.width
    batch = max(1, _STAGED // max(rows.spitch, rows.dpitch))
    for first in range(0, rows.height, batch):
        part = rows.part(first, min(batch, rows.height - first))
        buffer = _blocks.device_buffer(part.dst if to_device else part.src)
        if buffer is not None and is_dense and part.height > 1:
            (_scatter if to_device else _gather)(part, buffer)
        else:
            for row in range(part.height):
                copy(part.dst + row * part.dpitch, part.src + row * part.spitch, part.width)


def _scatter(rows: _Rows, buffer: aacl.Buffer) -> None:
    """Copy rows to the device: all with what lies between them to memory of ours, and each from there to its place."""
    staged = aacl.HostBuffer(rows.reach(rows.spitch))
    aacl.memory.copy(staged.address, rows.src, staged.nbytes)
    place = buffer.view((rows.reach(rows.dpitch),), np.uint8, rows.dst - buffer.address)
    _apart(place, rows, rows.dpitch)[:] = _apart(staged.array, rows, rows.spitch)


def _gather(rows: _Rows, buffer: aacl.Buffer) -> None:
    """Copy rows from the device to where nothing lies between them."""
    packed = aacl.HostBuffer(rows.width * rows.height)
    place = buffer.view((rows.reach(rows.spitch),), np.uint8, rows.src - buffer.address)
    _apart(packed.array, rows, rows.width)[:] = _apart(place, rows, rows.spitch)
    aacl.memory.copy(rows.dst, packed.address, packed.nbytes)


def _apart(flat: aacl.abc.Array, rows: _Rows, pitch: int) -> aacl.abc.Array:
    """Return the rows in flat memory that begins with the first one."""
    return np.lib.stride_tricks.as_strided(flat, (rows.height, rows.width), (pitch, 1))


@code_alone
def memcpy2d(dst: int, dpitch: int, src: int, spitch: int, width: int, height: int, kind: int, /) -> int:
    """Copy rows between host and device, and wait for the end.

    Args:
        dst: the first row's target.
        dpitch: bytes from row to row there.
        src: the first row.
        spitch: bytes from row to row there.
        width: bytes of a row; not more than either pitch.
        height: rows; 0 copies nothing.
        kind: 1 from host to device, 2 from device to host.

    Returns:
        0; 100000 for another kind, a null address, or a width beyond a pitch; 107000 for bytes outside an
        allocation, or host memory that is not mapped or not writable; 107002 without a context.

    Source: aclrtMemcpy2d.
    """
    current()
    rows = _rows(dst, dpitch, src, spitch, width, height, kind)
    if not rows.is_empty:
        _copy_rows(rows)
    return 0


@code_alone
def memcpy2d_async(
    dst: int, dpitch: int, src: int, spitch: int, width: int, height: int, kind: int, stream: int, /
) -> int:
    """Submit what `memcpy2d` does to a stream; host memory is used as by ``memcpy_async``.

    Args:
        dst: as for `memcpy2d`, and so the others.
        dpitch: bytes from line to line there.
        src: where from.
        spitch: bytes from line to line there.
        width: bytes of a line.
        height: lines.
        kind: an ``aclrtMemcpyKind``.
        stream: the stream; 0 is the default one.

    Returns:
        0, which means submitted; codes as `memcpy2d` and ``memcpy_async``.

    Source: aclrtMemcpy2dAsync.
    """
    target = stream_at(stream)
    rows = _rows(dst, dpitch, src, spitch, width, height, kind)
    if rows.is_empty:
        return 0
    owner = _blocks.host_buffer(rows.src if kind == _HOST_TO_DEVICE else rows.dst, 0)
    if kind == _HOST_TO_DEVICE and owner is None:
        owner = aacl.HostBuffer(rows.width * rows.height)
        staged = rows._replace(dst=owner.address, dpitch=rows.width)
        _copy_rows(staged)
        rows = rows._replace(src=owner.address, spitch=rows.width)
    watch(target, target.stream.call(_copy_rows, rows, owner))
    return 0


memcpy_2d, memcpy_2d_async = memcpy2d, memcpy2d_async
"""The same by the names that some programs use."""
