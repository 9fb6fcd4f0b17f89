"""Records of executed operators, as a subscription sends them, and what reads them back."""

from __future__ import annotations

import struct
from operator import index
from typing import TYPE_CHECKING, NamedTuple

from aacl.errors import InvalidArgument
from acl import _blocks
from acl._status import plain, with_code

if TYPE_CHECKING:
    import aacl

__all__ = (
    "RECORD_NBYTES",
    "get_model_id",
    "get_op_desc_size",
    "get_op_duration",
    "get_op_end",
    "get_op_name",
    "get_op_name_len",
    "get_op_name_v2",
    "get_op_num",
    "get_op_start",
    "get_op_type",
    "get_op_type_len",
    "get_op_type_v2",
    "packed",
)

# Start, end and duration in nanoseconds, the model's id, then type and name, each with a null byte behind it
# (ACL_PROF_MAX_OP_TYPE_LEN and ACL_PROF_MAX_OP_NAME_LEN count that).
_TYPE_MOST, _NAME_MOST = 65, 257
_FORM = struct.Struct(f"<QQQI{_TYPE_MOST}s{_NAME_MOST}s10x")
RECORD_NBYTES = _FORM.size


class _Record(NamedTuple):
    start: int
    end: int
    duration: int
    model_id: int
    op_type: bytes
    name: bytes


def packed(model_id: int, node: aacl.abc.NodeTime) -> bytes:
    """Return the record of a node's execution; type and name are cut where they are too long."""
    return _FORM.pack(
        node.start_ns,
        node.end_ns,
        node.end_ns - node.start_ns,
        model_id,
        _text(node.op_type, _TYPE_MOST),
        _text(node.name, _NAME_MOST),
    )


def _text(text: str, most: int) -> bytes:
    return text.encode()[: most - 1].decode(errors="ignore").encode()


def _record(op_info: int, op_info_len: int, position: int) -> _Record:
    op_info, nbytes, position = index(op_info), index(op_info_len), index(position)
    count = nbytes // RECORD_NBYTES
    if not 0 <= position < count:
        raise InvalidArgument(
            f"there is no operator {position} in {nbytes} bytes: they hold {max(count, 0)}, of {RECORD_NBYTES} bytes each"
        )
    return _Record(*_FORM.unpack(_blocks.read(op_info + position * RECORD_NBYTES, RECORD_NBYTES)))


def _string(field: bytes, room: int | None = None) -> str:
    """Return a field's text; raises `InvalidArgument` if it takes more bytes than there is room for."""
    text = field.split(b"\0", 1)[0]
    if room is not None and index(room) < len(text):
        raise InvalidArgument(f"the text has {len(text)} bytes, and there is room for {room}; bring more")
    return text.decode(errors="replace")


@with_code(0)
def get_op_desc_size() -> tuple[int, int]:
    """Return (bytes of one record, 0); a subscription sends whole records."""
    return RECORD_NBYTES, 0


@with_code(0)
def get_op_num(op_info: int, op_info_len: int) -> tuple[int, int]:
    """Return (how many records lie at an address, 0).

    Args:
        op_info: the address of what was read from the pipe.
        op_info_len: bytes there.

    Returns:
        (0, 100000) for a null address or less than one record.
    """
    op_info, count = index(op_info), index(op_info_len) // RECORD_NBYTES
    if not op_info or count < 1:
        raise InvalidArgument(f"{op_info_len} bytes at {op_info:#x} hold no record; one has {RECORD_NBYTES} bytes")
    return count, 0


@with_code(0)
def get_op_type_len(op_info: int, op_info_len: int, index: int) -> tuple[int, int]:
    """Return (bytes of an operator's type and a null byte, 0). (0, code) as `get_op_type`."""
    return len(_string(_record(op_info, op_info_len, index).op_type).encode()) + 1, 0


@with_code("")
def get_op_type(op_info: int, op_info_len: int, index: int, op_type_len: int) -> tuple[str, int]:
    """Return (an operator's type, 0).

    Args:
        op_info: the address of what was read from the pipe.
        op_info_len: bytes there.
        index: which record.
        op_type_len: bytes that the caller has room for; more than needed is good.

    Returns:
        ("", 100000) for a record that is not there, or too little room; ("", 107000) if memory is not mapped.
    """
    return _string(_record(op_info, op_info_len, index).op_type, op_type_len), 0


@with_code("")
def get_op_type_v2(op_info: int, op_info_len: int, index: int) -> tuple[str, int]:
    """Return (an operator's type, 0). ("", code) as `get_op_type`."""
    return _string(_record(op_info, op_info_len, index).op_type), 0


@with_code(0)
def get_op_name_len(op_info: int, op_info_len: int, index: int) -> tuple[int, int]:
    """Return (bytes of an operator's name and a null byte, 0). (0, code) as `get_op_type`."""
    return len(_string(_record(op_info, op_info_len, index).name).encode()) + 1, 0


@with_code("")
def get_op_name(op_info: int, op_info_len: int, index: int, op_name_len: int) -> tuple[str, int]:
    """Return (an operator's name, 0). Arguments and ("", code) as `get_op_type`."""
    return _string(_record(op_info, op_info_len, index).name, op_name_len), 0


@with_code("")
def get_op_name_v2(op_info: int, op_info_len: int, index: int) -> tuple[str, int]:
    """Return (an operator's name, 0). ("", code) as `get_op_type`."""
    return _string(_record(op_info, op_info_len, index).name), 0


@plain(0)
def get_op_start(op_info: int, op_info_len: int, index: int) -> int:
    """Return when an operator began, in nanoseconds since 1970, exact to a microsecond; 0 if there is no such record."""
    return _record(op_info, op_info_len, index).start


@plain(0)
def get_op_end(op_info: int, op_info_len: int, index: int) -> int:
    """Return when an operator ended, as `get_op_start`; 0 if there is no such record."""
    return _record(op_info, op_info_len, index).end


@plain(0)
def get_op_duration(op_info: int, op_info_len: int, index: int) -> int:
    """Return how long an operator took, in nanoseconds; 0 if there is no such record."""
    return _record(op_info, op_info_len, index).duration


@plain(0)
def get_model_id(op_info: int, op_info_len: int, index: int) -> int:
    """Return the id of the model whose operator it is; 0 if there is no such record."""
    return _record(op_info, op_info_len, index).model_id
