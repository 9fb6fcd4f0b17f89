"""Running operators.

What a request comes to (the operator model that serves it, the plan, the memory
it is bound to) is found out once and kept by the request's structure: type,
descriptions, addresses and attributes, never handles. So a program that makes
and destroys its handles for every run finds it again as well. An entry is of no
use any more once memory that it is bound to was freed; it is then made anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import aacl
from aacl.errors import ClosedResource, InvalidArgument
from acl._contexts import at_close
from acl._data_buffers import data_buffers
from acl._devices import stream_at
from acl._state import at_finalize, state
from acl._status import code_alone
from acl._tensor_descs import tensor_descs
from acl.op._attributes import attributes_at
from acl.op._library import find
from acl.op._operands import check_dims, operands, results
from acl.rt._exception import watch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from acl._streams import Stream
    from acl.op._operands import Descs, Spans

__all__ = ("Request", "descs_at", "execute", "execute_v2", "run", "spans_at")

_KEPT_MOST = 4096  # prepared requests, whatever larger number the program allows


Request: TypeAlias = "tuple[str, Descs, Spans, Descs, Spans, tuple[Any, ...]]"
"""What is to be run on which memory, all of it by value: the type, descriptions and memory of the inputs, the same of
the outputs, and the key of the attributes. A plain tuple: one is made for every run."""

# Two generations stand for the order of use: what is found in the older one moves to the newer,
# and when that is full it becomes the older. A hit in the newer costs one look-up.
_newer: dict[Request, aacl.Operation] = {}
_older: dict[Request, aacl.Operation] = {}


@code_alone
def execute_v2(
    op_type: str,
    input_descs: Sequence[int],
    inputs: Sequence[int],
    output_descs: Sequence[int],
    outputs: Sequence[int],
    attr: int,
    stream: int,
) -> int:
    """Submit an operator to a stream.

    Args:
        op_type: such as ``"Add"``.
        input_descs: a description for each input; data type -1 for an absent optional one.
        inputs: a data buffer for each, on memory of the device or the host; (0, 0) for an absent input or a constant.
        output_descs: a description for each output, every dim given.
        outputs: a data buffer for each.
        attr: the attributes; 0 for none.
        stream: 0 stands for the default one.

    Returns:
        0, which means submitted; failures of the run come from the next synchronise. 100024 if no operator model
        (`set_model_dir`, `load`) serves the request; 100000 for lists of different length, a buffer that is too small
        (the text says which), or attributes the operator has not; 145000 for an output whose dims are not given;
        107000 for memory that is not mapped; 107002, 107003 and 107017 as ``synchronize_stream``.
    """
    return _submit(op_type, input_descs, inputs, output_descs, outputs, attr, stream)


@code_alone
def execute(
    op_type: str,
    input_descs: Sequence[int],
    inputs: Sequence[int],
    output_descs: Sequence[int],
    outputs: Sequence[int],
    attr: int,
    stream: int,
) -> int:
    """Submit an operator to a stream: the older form of `execute_v2`, with the same arguments and codes."""
    return _submit(op_type, input_descs, inputs, output_descs, outputs, attr, stream)


def _submit(
    op_type: str,
    input_descs: Sequence[int],
    inputs: Sequence[int],
    output_descs: Sequence[int],
    outputs: Sequence[int],
    attr: int,
    stream: int,
) -> int:
    target = stream_at(stream)
    attributes = attributes_at(attr)
    request = (
        op_type,
        descs_at(input_descs),
        spans_at(inputs),
        descs_at(output_descs),
        spans_at(outputs),
        attributes.key,
    )
    run(request, attributes.values, target)
    return 0


def descs_at(handles: Sequence[int]) -> Descs:
    """Return the descriptions of handles; raises `Refused` for what is none."""
    table = tensor_descs.objects
    try:
        return tuple([table[handle] for handle in handles])
    except KeyError:
        return tuple([tensor_descs.get(handle) for handle in handles])


def spans_at(handles: Sequence[int]) -> Spans:
    """Return the memory of data buffers; raises `Refused` for what is none."""
    table = data_buffers.objects
    try:
        return tuple([table[handle] for handle in handles])
    except KeyError:
        return tuple([data_buffers.get(handle) for handle in handles])


def run(request: Request, attributes: Mapping[str, Any], stream: Stream) -> None:
    """Submit a request, prepared before or now."""
    operation = _newer.get(request)
    if operation is None:
        operation = _prepared(request, attributes)
    try:
        completion = stream.stream.execute(operation)
    except ClosedResource:  # memory that it was bound to, as a rule: bind to what is there now
        _newer.pop(request, None)
        completion = stream.stream.execute(_prepared(request, attributes))
    watch(stream, completion)


def _prepared(request: Request, attributes: Mapping[str, Any]) -> aacl.Operation:
    operation = _older.pop(request, None)
    if operation is None:
        operation, is_lasting = _prepare(request, attributes)
        if not is_lasting:
            return operation
    if len(_newer) >= min(_KEPT_MOST, state.config.operator_models):
        _older.clear()
        _older.update(_newer)
        _newer.clear()
    _newer[request] = operation
    return operation


def _prepare(request: Request, attributes: Mapping[str, Any]) -> tuple[aacl.Operation, bool]:
    """Return the operation of a request, and whether it may be kept: not if it is bound to host memory."""
    op_type, inputs, input_spans, outputs, output_spans, _ = request
    if not isinstance(op_type, str):
        raise TypeError(f"argument 1 must be str, not {type(op_type).__name__}")
    for what, descs, spans in (
        ("input", inputs, input_spans),
        ("output", outputs, output_spans),
    ):
        if len(descs) != len(spans):
            raise InvalidArgument(
                f"operator {op_type}: {len(descs)} {what} descriptions and {len(spans)} {what} buffers were given"
            )
    for position, desc in enumerate(outputs):
        check_dims(f"operator {op_type}: output {position}", desc)
    complete = find(op_type, inputs, outputs, attributes)
    given, given_last = operands(op_type, inputs, input_spans)
    wanted, wanted_last = results(op_type, outputs, output_spans)
    return aacl.Operation(op_type, given, complete, out=wanted), given_last and wanted_last


def _clear() -> None:
    _newer.clear()
    _older.clear()


at_finalize(_clear)
at_close(_clear)
