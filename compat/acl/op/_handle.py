"""Operators matched once and run many times, and the cast, which is such an operator too."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

from acl._arguments import check_text
from acl._data_buffers import data_buffers
from acl._devices import stream_at
from acl._handles import Handles
from acl._state import require_init
from acl._status import INVALID_PARAM, code_alone, plain, with_code
from acl._tensor_descs import tensor_descs
from acl.op._attributes import attributes_at
from acl.op._execute import descs_at, spans_at
from acl.op._library import find
from acl.op._prepared import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acl.op._operands import Descs, Spans
    from acl.op._prepared import Request

__all__ = (
    "Matched",
    "cast",
    "create_handle",
    "create_handle_for_cast",
    "destroy_handle",
    "execute_with_handle",
    "keep",
)


class Matched(NamedTuple):
    """A request without its memory.

    Attributes:
        op_type: the operator's type.
        inputs: descriptions.
        outputs: descriptions.
        key: of the attributes.
        values: the attributes by name.
    """

    op_type: str
    inputs: Descs
    outputs: Descs
    key: tuple[Any, ...]
    values: dict[str, Any]

    def on(self, inputs: Spans, outputs: Spans) -> Request:
        """Return the request on this memory."""
        return self.op_type, self.inputs, inputs, self.outputs, outputs, self.key


_handles: Handles[Matched] = Handles("operator handle", INVALID_PARAM)


def keep(matched: Matched) -> int:
    """Return a new handle of what an operator model serves."""
    return _handles.add(matched)


@with_code(0)
def create_handle(
    op_type: str, input_descs: Sequence[int], output_descs: Sequence[int], attr: int, /
) -> tuple[int, int]:
    """Look for the operator model that serves a request, once for many runs.

    Args:
        op_type: such as ``"Add"``.
        input_descs: as for ``execute_v2``; what becomes of them later does not matter.
        output_descs: as for ``execute_v2``.
        attr: the attributes; 0 for none.

    Returns:
        (handle, 0); (0, code): 100024 if no operator model serves it, 100000 for no description or no attributes.

    Source: aclopCreateHandle.
    """
    require_init()
    check_text(op_type, 1)
    attributes = attributes_at(attr)
    matched = Matched(op_type, descs_at(input_descs), descs_at(output_descs), attributes.key, dict(attributes.values))
    find(matched.op_type, matched.inputs, matched.outputs, matched.values)
    return keep(matched), 0


@plain(None)
def destroy_handle(handle: int, /) -> None:
    """Destroy a handle; what is none is left alone, with a text for ``get_recent_err_msg``.

    Args:
        handle: of `create_handle` or a sibling of it.

    Source: aclopDestroyHandle.
    """
    _handles.take(handle)


@code_alone
def execute_with_handle(handle: int, inputs: Sequence[int], outputs: Sequence[int], stream: int, /) -> int:
    """Submit the operator of a handle to a stream.

    Args:
        handle: of `create_handle` or a sibling of it.
        inputs: a data buffer for each input, as for ``execute_v2``.
        outputs: a data buffer for each output.
        stream: 0 stands for the default one.

    Returns:
        0, which means submitted; 100000 if it is no handle; other codes as ``execute_v2``.

    Source: aclopExecWithHandle.
    """
    target, matched = stream_at(stream), _handles.get(handle)
    run(matched.on(spans_at(inputs), spans_at(outputs)), matched.values, target)
    return 0


@code_alone
def cast(src_desc: int, src_buffer: int, dst_desc: int, dst_buffer: int, truncate: int, stream: int, /) -> int:
    """Submit the operator Cast, for which an operator model must be loaded.

    Args:
        src_desc: the input.
        src_buffer: its data buffer.
        dst_desc: the output; its data type says what to convert to.
        dst_buffer: its data buffer.
        truncate: kept for compatibility; fractions are always cut off.
        stream: 0 stands for the default one.

    Returns:
        As ``execute_v2``.

    Source: aclopCast.
    """
    target = stream_at(stream)
    index(truncate)
    matched = _cast(src_desc, dst_desc)
    spans = data_buffers.get(src_buffer), data_buffers.get(dst_buffer)
    run(matched.on(spans[:1], spans[1:]), matched.values, target)
    return 0


@with_code(0)
def create_handle_for_cast(src_desc: int, dst_desc: int, truncate: int, /) -> tuple[int, int]:
    """Look for the operator model of a `cast`, once for many runs.

    Args:
        src_desc: the input.
        dst_desc: the output; its data type says what to convert to.
        truncate: kept for compatibility; fractions are always cut off.

    Returns:
        (handle, 0); (0, code): 100024 if no operator model serves it; other codes as `create_handle`.

    Source: aclopCreateHandleForCast.
    """
    require_init()
    index(truncate)
    matched = _cast(src_desc, dst_desc)
    find(matched.op_type, matched.inputs, matched.outputs, matched.values)
    return keep(matched), 0


def _cast(src_desc: int, dst_desc: int) -> Matched:
    source, target = tensor_descs.get(src_desc), tensor_descs.get(dst_desc)
    number = int(target.dtype)
    return Matched("Cast", (source,), (target,), (("dst_type", ("Int", number)),), {"dst_type": number})
