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
    """Return how many bytes one record has; a subscription sends whole records.

    Returns:
        (bytes, 0).

    Source: aclprofGetOpDescSize.
    """
    return RECORD_NBYTES, 0


@with_code(0)
def get_op_num(op_info: int, op_info_len: int, /) -> tuple[int, int]:
    """Return how many records lie at an address.

    Args:
        op_info: the address of what was read from the pipe.
        op_info_len: bytes there.

    Returns:
        (records, 0); (0, 100000) for a null address or less than one record.

    Source: aclprofGetOpNum.
    """
    op_info, count = index(op_info), index(op_info_len) // RECORD_NBYTES
    if not op_info or count < 1:
        raise InvalidArgument(f"{op_info_len} bytes at {op_info:#x} hold no record; one has {RECORD_NBYTES} bytes")
    return count, 0


@with_code(0)
def get_op_type_len(op_info: int, op_info_len: int, index: int, /) -> tuple[int, int]:
    """Return how many bytes the type of an operator takes, with a null byte.

    Args:
        op_info: the address of what was read from the pipe.
        op_info_len: bytes there.
        index: which record, from 0.

    Returns:
        (bytes, 0); (0, code) as `get_op_type`.

    Source: aclprofGetOpTypeLen.
    """
    return len(_string(_record(op_info, op_info_len, index).op_type).encode()) + 1, 0


@with_code("")
def get_op_type(op_info: int, op_info_len: int, index: int, op_type_len: int, /) -> tuple[str, int]:
    """Return the type of an operator.

    Args:
        op_info: the address of what was read from the pipe.
        op_info_len: bytes there.
        index: which record.
        op_type_len: bytes that the caller has room for; more than needed is good.

    Returns:
        (type, 0); ("", 100000) for a record that is not there, or too little room; ("", 107000) if memory is not
        mapped.

    Source: aclprofGetOpType.
    """
    return _string(_record(op_info, op_info_len, index).op_type, op_type_len), 0


@with_code("")
def get_op_type_v2(op_info: int, op_info_len: int, index: int, /) -> tuple[str, int]:
    """Return the type of an operator, whose length does not matter.

    Args:
        op_info: the address of what was read from the pipe.
        op_info_len: bytes there.
        index: which record, from 0.

    Returns:
        (type, 0); ("", code) as `get_op_type`.

    Source: aclprofGetOpType.
    """
    return _string(_record(op_info, op_info_len, index).op_type), 0


@with_code(0)
def get_op_name_len(op_info: int, op_info_len: int, index: int, /) -> tuple[int, int]:
    """Return how many bytes the name of an operator takes, with a null byte.

    Args:
        op_info: the address of what was read from the pipe.
        op_info_len: bytes there.
        index: which record, from 0.

    Returns:
        (bytes, 0); (0, code) as `get_op_type`.

    Source: aclprofGetOpNameLen.
    """
    return len(_string(_record(op_info, op_info_len, index).name).encode()) + 1, 0


@with_code("")
def get_op_name(op_info: int, op_info_len: int, index: int, op_name_len: int, /) -> tuple[str, int]:
    """Return the name of an operator.

    Args:
        op_info: the address of what was read from the pipe.
        op_info_len: bytes there.
        index: which record, from 0.
        op_name_len: bytes that the caller has room for; more than needed is good.

    Returns:
        (name, 0); ("", code) as `get_op_type`.

    Source: aclprofGetOpName.
    """
    return _string(_record(op_info, op_info_len, index).name, op_name_len), 0


@with_code("")
def get_op_name_v2(op_info: int, op_info_len: int, index: int, /) -> tuple[str, int]:
    """Return the name of an operator, whose length does not matter.

    Args:
        op_info: the address of what was read from the pipe.
        op_info_len: bytes there.
        index: which record, from 0.

    Returns:
        (name, 0); ("", code) as `get_op_type`.

    Source: aclprofGetOpName.
    """
    return _string(_record(op_info, op_info_len, index).name), 0


@plain(0)
def get_op_start(op_info: int, op_info_len: int, index: int, /) -> int:
    """Return when an operator began.

    Args:
        op_info: the address of what was read from the pipe.
        op_info_len: bytes there.
        index: which record, from 0.

    Returns:
        Nanoseconds since 1970, exact to a microsecond; 0 if there is no such record.

    Source: aclprofGetOpStart.
    """
    return _record(op_info, op_info_len, index).start


@plain(0)
def get_op_end(op_info: int, op_info_len: int, index: int, /) -> int:
    """Return when an operator ended.

    Args:
        op_info: the address of what was read from the pipe.
        op_info_len: bytes there.
        index: which record, from 0.

    Returns:
        Nanoseconds since 1970, exact to a microsecond; 0 if there is no such record.

    Source: aclprofGetOpEnd.
    """
    return _record(op_info, op_info_len, index).end


@plain(0)
def get_op_duration(op_info: int, op_info_len: int, index: int, /) -> int:
    """Return how long an operator took.

    Args:
        op_info: the address of what was read from the pipe.
        op_info_len: bytes there.
        index: which record, from 0.

    Returns:
        Nanoseconds; 0 if there is no such record.

    Source: aclprofGetOpDuration.
    """
    return _record(op_info, op_info_len, index).duration


@plain(0)
def get_model_id(op_info: int, op_info_len: int, index: int, /) -> int:
    """Return the model whose operator it is.

    Args:
        op_info: the address of what was read from the pipe.
        op_info_len: bytes there.
        index: which record, from 0.

    Returns:
        The model id; 0 if there is no such record.

    Source: aclprofGetModelId.
    """
    return _record(op_info, op_info_len, index).model_id
