"""The ``.om`` container: a 256-byte header, then partition tables and partitions.

Pure: bytes in, values out. The layout is that of the real converter's files
(all integers little-endian)::

    header     magic "IMOD", head size 256, version, lengths, flags, model count
    a model    a partition table, then its partitions one after another
    table      long form  {u32 count, u32 pad, count x {u32 type, u32 pad, u64 offset, u64 size}}
               short form {u32 count, count x {u32 type, u32 offset, u32 size}}

Offsets count from the end of the table. The long form is used where the header
states its 64-bit payload length; several models follow one another.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from aacl.errors import ModelDataError
from aacl.models._sniff import describe_foreign

__all__ = ("HEADER_SIZE", "MAGIC", "OmFile", "Partition", "PartitionType", "om_pieces", "read_om")

MAGIC = b"IMOD"
HEADER_SIZE = 256
CURRENT_VERSION = 0x20000000
"""Files of smaller versions hold one model, whatever their model count says."""

_HEADER = struct.Struct("<4sII64sIBBBB32sI32sII20sB3sQBB62s")
_LONG_HEAD, _LONG_ENTRY = struct.Struct("<II"), struct.Struct("<IIQQ")
_SHORT_HEAD, _SHORT_ENTRY = struct.Struct("<I"), struct.Struct("<III")
_MOST_PARTITIONS = 1024  # the real converter writes at most seven a model
_CHECKSUM_NONE = 1


class PartitionType(enum.IntEnum):
    """What a partition holds; a reader skips the types it does not know."""

    MODEL_DEF = 0
    WEIGHTS_DATA = 1
    TASK_INFO = 2
    TBE_KERNELS = 3
    CUST_AICPU_KERNELS = 4
    SO_BINS = 5
    FLOW_MODEL = 6
    FLOW_SUBMODEL = 7
    MODEL_INOUT_INFO = 8
    STATIC_TASK_DESC = 9
    DYNAMIC_TASK_DESC = 10
    TASK_PARAM = 11
    TILING_DATA = 12
    PRE_MODEL_DESC = 20
    PRE_MODEL_SQE = 21
    PRE_KERNEL_ARGS = 22
    PRE_MODEL_DESC_EXTEND = 23
    BUNDLE_MODEL_INFO = 24
    AACL = 0x4C434141
    """Ours: the bytes "AACL", far from the numbers of the real converter."""


@attrs.frozen
class Partition:
    """One partition: its type number and its bytes, in pieces so that large ones need no copy."""

    type: int
    pieces: tuple[bytes | memoryview, ...] = attrs.field(repr=lambda pieces: f"<{sum(map(len, pieces))} bytes>")

    @property
    def nbytes(self) -> int:
        """Bytes of the partition."""
        return sum(map(len, self.pieces))

    @property
    def data(self) -> memoryview:
        """The bytes in one piece: what was read from a file is a view of it."""
        return memoryview(self.pieces[0] if len(self.pieces) == 1 else b"".join(self.pieces))


@attrs.frozen
class OmFile:
    """A file taken apart; `models` holds the partitions of each model, the root model first."""

    name: str
    version: int
    is_dynamic: bool
    models: tuple[tuple[Partition, ...], ...]

    def partition(self, kind: int) -> Partition | None:
        """Return the first partition of a type, in any model, else None."""
        return next((part for model in self.models for part in model if part.type == kind), None)


@attrs.frozen
class _Header:
    """The header's fields that a reader needs."""

    version: int
    payload: int
    is_long: bool
    is_encrypted: bool
    is_dynamic: bool
    model_count: int
    name: str


def read_om(data: bytes | memoryview) -> OmFile:
    """Take an ``.om`` file apart; the partitions are views of the bytes given.

    Raises:
        ModelDataError: the bytes are empty, of another kind of file, cut short, encrypted, or
            a length in them points outside the file.
    """
    view = memoryview(data).cast("B")
    header = _read_header(view)
    models = tuple(_read_models(view[HEADER_SIZE:], header))
    return OmFile(name=header.name, version=header.version, is_dynamic=header.is_dynamic, models=models)


def om_pieces(
    models: Sequence[Sequence[Partition]], *, name: str = "", is_dynamic: bool = False
) -> list[bytes | memoryview]:
    """Return the file's bytes in pieces, for ``file.writelines``: large partitions are not copied.

    Args:
        models: the partitions of each model, the root model first.
        name: kept in the header, cut to 32 bytes.
        is_dynamic: whether shapes are free (the header's ``is_unknow_model``).
    """
    body: list[bytes | memoryview] = []
    for partitions in models:
        body.append(_table(partitions))
        body.extend(piece for partition in partitions for piece in partition.pieces)
    payload = sum(len(piece) for piece in body)
    return [_header(payload, len(models), name, is_dynamic), *body]


def _header(payload: int, model_count: int, name: str, is_dynamic: bool) -> bytes:
    """Pack the header; the fields that only the real runtime reads stay zero."""
    short_length = payload if payload < 2**32 else 0
    label = name.encode()[:32].decode(errors="ignore").encode()
    return _HEADER.pack(
        MAGIC, HEADER_SIZE, CURRENT_VERSION, b"", short_length, 0, _CHECKSUM_NONE, 0, 0, label, 0, b"", 0,
        model_count, b"", 0, b"", payload, 0, is_dynamic, b"",
    )  # fmt: skip


def _table(partitions: Sequence[Partition]) -> bytes:
    entries, offset = [_LONG_HEAD.pack(len(partitions), 0)], 0
    for partition in partitions:
        entries.append(_LONG_ENTRY.pack(partition.type, 0, offset, partition.nbytes))
        offset += partition.nbytes
    return b"".join(entries)


def _read_header(view: memoryview) -> _Header:
    if view[:4] != MAGIC:
        raise ModelDataError(describe_foreign(bytes(view[:4096]), len(view)))
    if len(view) < HEADER_SIZE:
        raise ModelDataError(
            f"the .om file is cut short: {len(view)} bytes, and its header alone has {HEADER_SIZE}; copy it again"
        )
    header = _header_of(_HEADER.unpack_from(view))
    _check_header(header, len(view))
    return header


def _header_of(fields: tuple[Any, ...]) -> _Header:
    _, _, version, _, short_length, encrypted, _, _, _, label, _, _, _, count, _, _, _, length, _, dynamic, _ = fields
    return _Header(
        version=version,
        payload=length or short_length,
        is_long=length != 0,
        is_encrypted=encrypted != 0,
        is_dynamic=dynamic != 0,
        model_count=max(1, count) if version >= CURRENT_VERSION else 1,
        name=label.split(b"\0", 1)[0].decode(errors="replace"),
    )


def _check_header(header: _Header, size: int) -> None:
    present = size - HEADER_SIZE
    if header.payload != present:
        fault = "cut short" if header.payload > present else "damaged, or has bytes added to it"
        raise ModelDataError(
            f"the .om file is {fault}: its header states {header.payload} bytes after the header, "
            f"and {present} are there; copy or convert it again"
        )
    if header.is_encrypted:
        raise ModelDataError("the .om file is encrypted; convert the original model again without encryption")


def _read_models(payload: memoryview, header: _Header) -> Iterator[tuple[Partition, ...]]:
    is_long = header.is_long or not _fits(payload, header.model_count, is_long=False)
    position = 0
    for _ in range(header.model_count):
        partitions, end = _read_model(payload[position:], is_long)
        position += end
        yield partitions
    if position != len(payload):
        raise ModelDataError(
            f"the .om file's partition tables cover {position} of its {len(payload)} payload bytes; it is damaged"
        )


def _fits(payload: memoryview, model_count: int, *, is_long: bool) -> bool:
    """Whether every table reads well in this form and the sums meet the payload's length."""
    position = 0
    try:
        for _ in range(model_count):
            position += _read_model(payload[position:], is_long)[1]
    except ModelDataError:
        return False
    return position == len(payload)


def _read_model(view: memoryview, is_long: bool) -> tuple[tuple[Partition, ...], int]:
    """Read one table and its partitions; return them and where they end."""
    head, entry = (_LONG_HEAD, _LONG_ENTRY) if is_long else (_SHORT_HEAD, _SHORT_ENTRY)
    if len(view) < head.size:
        raise ModelDataError(f"the .om file ends inside a partition table ({len(view)} bytes left); it is damaged")
    count = head.unpack_from(view)[0]
    start = head.size + count * entry.size
    if not 0 < count <= _MOST_PARTITIONS or start > len(view):
        raise ModelDataError(
            f"a partition table of the .om file states {count} partitions, which {len(view)} bytes cannot hold"
        )
    rows = [entry.unpack_from(view, head.size + index * entry.size) for index in range(count)]
    spans = [(row[0], row[-2], row[-1]) for row in rows]
    return _cut(view[start:], spans), start + max(offset + size for _, offset, size in spans)


def _cut(body: memoryview, spans: Sequence[tuple[int, int, int]]) -> tuple[Partition, ...]:
    for kind, offset, size in spans:
        if offset + size > len(body):
            raise ModelDataError(
                f"partition {kind} of the .om file states {size} bytes at offset {offset}, "
                f"and {len(body)} are there; it is damaged or cut short"
            )
    return tuple(Partition(kind, (body[offset : offset + size],)) for kind, offset, size in spans)
